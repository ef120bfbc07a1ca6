"""Which element types the installed onnxruntime computes an operator in, and the type to compute in where it has none.

ONNX allows more types than onnxruntime has CPU kernels for. The runtime itself is asked, so a newer one with more
kernels needs fewer casts.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
import onnx
from onnx import helper

__all__ = ["carrier", "newest_opset", "onnx_type", "type_string"]

# For each type the types to compute in instead, the nearest first. float64 in float32 is the one that loses digits.
_CARRIERS: dict[str, tuple[str, ...]] = {
    "bool": ("uint8", "int32", "int64", "float32"),
    "uint8": ("int32", "int64", "float32"),
    "int8": ("int32", "int64", "float32"),
    "int16": ("int32", "int64", "float32"),
    "uint16": ("int32", "int64", "float32"),
    "uint32": ("int64", "float64"),
    "uint64": ("int64", "float64", "float32"),
    "int32": ("int64", "float64", "float32"),
    "int64": ("float64", "int32", "float32"),
    "float16": ("float32",),
    "bfloat16": ("float32",),
    "float64": ("float32",),
    "float32": ("float64",),
}


@functools.cache
def newest_opset() -> int:
    """The newest opset that the installed onnx and the installed onnxruntime both know."""
    from onnxruntime.capi import onnxruntime_pybind11_state as runtime

    known = max(schema.since_version for schema in runtime.get_all_operator_schema() if schema.domain == "")
    return min(known, onnx.defs.onnx_opset_version())


def onnx_type(dtype: np.dtype) -> int:
    """ONNX's number of a NumPy dtype.

    Raises:
        TypeError: ONNX, or onnxruntime, computes nothing in this type.
    """
    if dtype.kind == "c":
        raise TypeError(f"onnxruntime has no operators for {dtype.name}")
    return helper.np_dtype_to_tensor_dtype(dtype)


def type_string(dtype: np.dtype) -> str:
    """ONNX's spelling, such as ``tensor(float)``."""
    return _type_string(onnx_type(dtype))


@functools.cache
def _type_string(number: int) -> str:
    return f"tensor({onnx.TensorProto.DataType.Name(number).lower()})"


@functools.cache
def _kernels() -> dict[str, list[tuple[int, int, dict[str, frozenset[str]]]]]:
    """For each operator its CPU kernels: first and last opset, and the types of each type parameter."""
    from onnxruntime.capi import onnxruntime_pybind11_state as runtime

    found: dict[str, list[tuple[int, int, dict[str, frozenset[str]]]]] = {}
    for kernel in runtime.get_all_opkernel_def():
        if kernel.domain == "" and kernel.provider == "CPUExecutionProvider":
            types = {parameter: frozenset(names) for parameter, names in kernel.type_constraints.items()}
            found.setdefault(kernel.op_name, []).append((*kernel.version_range, types))
    return found


def _supported(op: str, since: int, bound: Mapping[str, np.dtype]) -> bool:
    kernels = _kernels().get(op)
    if kernels is None:  # onnxruntime expands the function that defines it
        return True
    spelled = {parameter: type_string(dtype) for parameter, dtype in bound.items()}
    for first, last, types in kernels:
        if first <= since <= last and all(
            spelled[parameter] in names for parameter, names in types.items() if parameter in spelled
        ):
            return True
    return False


@functools.cache
def _allowed(op: str, opset: int, parameter: str) -> frozenset[str]:
    schema = onnx.defs.get_schema(op, opset)
    for constraint in schema.type_constraints:
        if constraint.type_param_str == parameter:
            return frozenset(constraint.allowed_type_strs)
    return frozenset()


def carrier(op: str, opset: int, bound: Mapping[str, np.dtype], parameter: str) -> np.dtype:
    """The type to compute in where the inputs of type ``parameter`` come as ``bound`` says.

    Raises:
        TypeError: there is none.
    """
    dtype = bound[parameter]
    since = onnx.defs.get_schema(op, opset).since_version
    allowed = _allowed(op, opset, parameter)
    if dtype.name == "float16" and type_string(dtype) in allowed:
        return dtype  # onnxruntime puts the casts around it itself
    for name in (dtype.name, *_CARRIERS.get(dtype.name, ())):
        candidate = dtype if name == dtype.name else np.dtype(name)
        if type_string(candidate) in allowed and _supported(op, since, {**bound, parameter: candidate}):
            return candidate
    raise TypeError(f"onnxruntime has no kernel of {op} (opset {opset}) for {dtype.name}, nor for a wider type")
