"""onnxruntime sessions: with and without its optimizations, and for bfloat16, which it does not pass to NumPy."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

__all__ = ["PROTOBUF_LIMIT", "Session"]

PROTOBUF_LIMIT = 2**31 - 2**20  # bytes that one protobuf message may have, less a margin


class Session:
    """A model in onnxruntime, on the CPU.

    bfloat16 inputs and outputs go in and out as float32, which holds each of their values.
    """

    def __init__(self, model: onnx.ModelProto, *, optimized: bool = True) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        level = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = level.ORT_ENABLE_ALL if optimized else level.ORT_DISABLE_ALL
        self._half = {v.name for v in (*model.graph.input, *model.graph.output) if _is_bfloat16(v)}
        if self._half:
            model = _with_float32_ends(model, self._half)
        providers = ["CPUExecutionProvider"]
        if model.ByteSize() < PROTOBUF_LIMIT:
            self._session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=providers)
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            copy = onnx.ModelProto()
            copy.CopyFrom(model)
            onnx.save_model(copy, path, save_as_external_data=True, location="model.onnx.data")
            self._session = onnxruntime.InferenceSession(str(path), options, providers=providers)

    def run(self, feeds: Mapping[str, np.ndarray], names: Sequence[str]) -> list[np.ndarray]:
        """The outputs of these names."""
        given = {name: data.astype(np.float32) if name in self._half else data for name, data in feeds.items()}
        got = self._session.run(list(names), given)
        bfloat16 = helper.tensor_dtype_to_np_dtype(TensorProto.BFLOAT16)
        return [data.astype(bfloat16) if name in self._half else data for name, data in zip(names, got)]


def _is_bfloat16(value: onnx.ValueInfoProto) -> bool:
    return value.type.tensor_type.elem_type == TensorProto.BFLOAT16


def _with_float32_ends(model: onnx.ModelProto, half: set[str]) -> onnx.ModelProto:
    """The model with casts behind its bfloat16 inputs and before its bfloat16 outputs."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    renamed = {name: f"{name}/bfloat16" for name in half}
    for node in graph.node:
        for names in (node.input, node.output):
            for i, name in enumerate(names):
                names[i] = renamed.get(name, name)
    before, after = [], []
    for value in graph.input:
        if value.name in half:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
            before.append(helper.make_node("Cast", [value.name], [renamed[value.name]], to=TensorProto.BFLOAT16))
    for value in graph.output:
        if value.name in half:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
            after.append(helper.make_node("Cast", [renamed[value.name]], [value.name], to=TensorProto.FLOAT))
    nodes = [*before, *graph.node, *after]
    kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(kept)
    return changed
