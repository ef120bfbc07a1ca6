"""onnxruntime sessions: with and without its optimizations, and for bfloat16, which it does not pass to NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper

from .builder import tensor
from .kernels import onnx_type

__all__ = ["PROTOBUF_LIMIT", "Session", "check"]

LARGE = 1 << 10  # bytes from which on an array is not copied into a model that is only run or checked

PROTOBUF_LIMIT = 2**31 - 2**20  # bytes that one protobuf message may have, less a margin


class Session:
    """A model in onnxruntime, on the CPU.

    bfloat16 inputs and outputs go in and out as float32, which holds each of their values.

    Args:
        model: the model, with or without its arrays.
        arrays: those that it lacks; large ones are handed over as they are, not copied into the model.
    """

    def __init__(
        self, model: onnx.ModelProto, arrays: Mapping[str, np.ndarray] | None = None, *, optimized: bool = True
    ) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        level = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = level.ORT_ENABLE_ALL if optimized else level.ORT_DISABLE_ALL
        self._half = {v.name for v in (*model.graph.input, *model.graph.output) if _is_bfloat16(v)}
        changed = onnx.ModelProto()
        changed.CopyFrom(model)
        if self._half:
            _use_float32_ends(changed, self._half)
        handed = {}
        for name, data in (arrays or {}).items():
            if data.nbytes >= LARGE and data.dtype.kind in "biuf":
                handed[name] = onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(data))
                changed.graph.initializer.append(_elsewhere(name, data))
            else:
                changed.graph.initializer.append(tensor(data, name))
        if handed:
            options.add_external_initializers(list(handed), list(handed.values()))
        self._handed = handed  # the session reads them as long as it lives
        self._session = onnxruntime.InferenceSession(
            changed.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def run(self, feeds: Mapping[str, np.ndarray], names: Sequence[str]) -> list[np.ndarray]:
        """The outputs of these names."""
        given = {name: data.astype(np.float32) if name in self._half else data for name, data in feeds.items()}
        got = self._session.run(list(names), given)
        bfloat16 = helper.tensor_dtype_to_np_dtype(TensorProto.BFLOAT16)
        return [data.astype(bfloat16) if name in self._half else data for name, data in zip(names, got)]


def _is_bfloat16(value: onnx.ValueInfoProto) -> bool:
    return value.type.tensor_type.elem_type == TensorProto.BFLOAT16


def _elsewhere(name: str, data: np.ndarray) -> onnx.TensorProto:
    """An array whose values are not in the model."""
    made = TensorProto(name=name, data_type=onnx_type(data.dtype), dims=data.shape, data_location=TensorProto.EXTERNAL)
    made.external_data.add(key="location", value="in memory")
    return made


def _use_float32_ends(model: onnx.ModelProto, half: set[str]) -> None:
    """Put casts behind the bfloat16 inputs and before the bfloat16 outputs."""
    graph = model.graph
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
    nodes = [onnx.NodeProto.FromString(n.SerializeToString()) for n in (*before, *graph.node, *after)]
    del graph.node[:]
    graph.node.extend(nodes)


def check(model: onnx.ModelProto, arrays: Mapping[str, np.ndarray]) -> None:
    """Run ONNX's checker with strict shape inference on a model and the arrays that it lacks.

    Large arrays stand there as inputs: their types are what inference needs.

    Raises:
        onnx.checker.ValidationError, onnx.shape_inference.InferenceError: the model is not valid.
    """
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    for name, data in arrays.items():
        if data.nbytes >= LARGE:
            whole.graph.input.append(helper.make_tensor_value_info(name, onnx_type(data.dtype), data.shape))
        else:
            whole.graph.initializer.append(tensor(data, name))
    onnx.checker.check_model(whole, full_check=True)
