"""Logical and bitwise operators, and predicates of floating values."""

from __future__ import annotations

from typing import Any

from .._core.broadcast import operators
from .._core.dtypes import NP_BOOL
from .._core.families import binary, inplace_method, method, unary
from .._core.inplace import store
from .._core.tensor import Tensor

__all__ = ["bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
           "isfinite", "isinf", "isnan",
           "isneginf", "isposinf", "logical_and", "logical_not", "logical_or", "logical_xor", "signbit"]  # fmt: skip


bitwise_and = binary("bitwise_and", "bitwise_and", unsupported="fcV", operators=("__and__", "__rand__", "__iand__"))
bitwise_or = binary("bitwise_or", "bitwise_or", unsupported="fcV", operators=("__or__", "__ror__", "__ior__"))
bitwise_xor = binary("bitwise_xor", "bitwise_xor", unsupported="fcV", operators=("__xor__", "__rxor__", "__ixor__"))


def _shift_kernel(left: bool) -> Any:
    def kernel(xp: Any, x: Any, y: Any) -> Any:
        bits = x.dtype.itemsize * 8
        if left:
            return xp.where(
                (y < 0) | (y >= bits),
                xp.zeros_like(x),
                xp.left_shift(x, xp.where((y < 0) | (y >= bits), xp.zeros_like(y), y)),
            )
        most = bits - 1 if x.dtype.kind == "i" else bits
        outside = (y < 0) | (y >= most)
        return xp.where(
            outside,
            xp.where(x < 0, x - x - 1, x - x) if x.dtype.kind == "i" else xp.zeros_like(x),
            xp.right_shift(x, xp.where(outside, xp.zeros_like(y), y)),
        )

    return kernel


bitwise_left_shift = binary(
    "bitwise_left_shift",
    _shift_kernel(True),
    unsupported="bfcV",
    operators=("__lshift__", "__rlshift__", "__ilshift__"),
)
bitwise_right_shift = binary(
    "bitwise_right_shift",
    _shift_kernel(False),
    unsupported="bfcV",
    operators=("__rshift__", "__rrshift__", "__irshift__"),
)


def _not_kernel(xp: Any, x: Any) -> Any:
    return xp.logical_not(x) if x.dtype.kind == "b" else xp.invert(x)


bitwise_not = unary("bitwise_not", _not_kernel, floating=False)
method(bitwise_not, "__invert__")

logical_and = binary("logical_and", "logical_and", result="bool")
logical_or = binary("logical_or", "logical_or", result="bool")
logical_xor = binary("logical_xor", "logical_xor", result="bool")
logical_not = unary("logical_not", "logical_not", floating=False, result=NP_BOOL)
operators["logical_and"], operators["logical_or"] = logical_and, logical_or
for _fn in (logical_and, logical_or, logical_xor, logical_not):
    inplace_method(_fn)


def _of_floats(name: str) -> Any:
    """A predicate that is the same for all integers."""
    for_integers = name == "isfinite"

    def kernel(xp: Any, x: Any) -> Any:
        if x.dtype.kind in "biu":
            return xp.full(x.shape, for_integers)
        return getattr(xp, name)(x)

    return kernel


isnan = unary("isnan", _of_floats("isnan"), floating=False, result=NP_BOOL)
isinf = unary("isinf", _of_floats("isinf"), floating=False, result=NP_BOOL)
isfinite = unary("isfinite", _of_floats("isfinite"), floating=False, result=NP_BOOL)
signbit = unary(
    "signbit",
    lambda xp, x: x < 0 if x.dtype.kind in "iu" else xp.zeros(x.shape, bool) if x.dtype.kind == "b" else xp.signbit(x),
    floating=False,
    result=NP_BOOL,
)


def _real_only(input: Tensor, name: str) -> None:
    if input._data.dtype.kind == "c":
        raise RuntimeError(f"{name} does not support complex inputs.")


def isposinf(input: Tensor, *, out: Any = None) -> Tensor:
    """Which elements are positive infinity."""
    _real_only(input, "isposinf")
    result = bitwise_and(isinf(input), input > 0)
    return result if out is None else store(out, result)


def isneginf(input: Tensor, *, out: Any = None) -> Tensor:
    """Which elements are negative infinity."""
    _real_only(input, "isneginf")
    result = bitwise_and(isinf(input), input < 0)
    return result if out is None else store(out, result)


method(isposinf)
method(isneginf)
