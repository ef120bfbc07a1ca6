"""onnxruntime sessions: with and without its optimizations, from memory or from a file."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

__all__ = ["run", "session"]

PROTOBUF_LIMIT = 2**31 - 2**20


def session(model: onnx.ModelProto | Path | str, *, optimized: bool = True, external: bool = False) -> Any:
    """A session on the CPU."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimized else level.ORT_DISABLE_ALL
    providers = ["CPUExecutionProvider"]
    if not isinstance(model, onnx.ModelProto):
        return onnxruntime.InferenceSession(str(model), options, providers=providers)
    if not external and model.ByteSize() < PROTOBUF_LIMIT:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=providers)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save_model(model, path, save_as_external_data=True, location="model.onnx.data")
        return onnxruntime.InferenceSession(str(path), options, providers=providers)


def run(running: Any, feeds: Mapping[str, np.ndarray], names: Sequence[str] | None = None) -> list[np.ndarray]:
    """The outputs for these inputs; bfloat16 goes in and comes out by value."""
    half = {name for name, data in feeds.items() if data.dtype.name == "bfloat16"}
    wanted = list(names) if names is not None else [output.name for output in running.get_outputs()]
    kinds = {output.name: output.type for output in running.get_outputs()}
    if not half and not any("bfloat16" in kinds.get(name, "") for name in wanted):
        return running.run(wanted, dict(feeds))
    return _run_bfloat16(running, feeds, wanted)


def _run_bfloat16(running: Any, feeds: Mapping[str, np.ndarray], wanted: list[str]) -> list[np.ndarray]:
    import onnxruntime

    bfloat16 = onnx.TensorProto.BFLOAT16
    values = {}
    for name, data in feeds.items():
        if data.dtype.name == "bfloat16":
            raw = np.ascontiguousarray(data).view(np.uint16)
            values[name] = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, bfloat16)
        else:
            values[name] = onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(data))
    results = []
    for value in running.run_with_ort_values(wanted, values):
        data = value.numpy()
        if value.element_type() == bfloat16:
            data = data.view(onnx.helper.tensor_dtype_to_np_dtype(bfloat16))
        results.append(data)
    return results
