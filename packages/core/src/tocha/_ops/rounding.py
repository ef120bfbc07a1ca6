"""Rounding, and the divisions that round: floor, remainder, fmod."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.families import binary, half_as_float, inplace_method, method, unary
from .._core.inplace import store
from .._core.tensor import Tensor
from .constants import zeros_as

__all__ = ["ceil", "fix", "floor", "floor_divide", "fmod", "frac", "remainder", "round", "trunc"]


def _same_for_integers(name: str) -> Any:
    def kernel(xp: Any, x: Any) -> Any:
        if x.dtype.kind == "c":
            raise TypeError("ufunc not supported for complex numbers")
        return x.copy() if x.dtype.kind in "biu" else getattr(xp, name)(x)

    return kernel


def _nothing(g: Any) -> Any:
    return zeros_as(g)


floor = unary("floor", _same_for_integers("floor"), _nothing, floating=False)
ceil = unary("ceil", _same_for_integers("ceil"), _nothing, floating=False)
trunc = unary("trunc", _same_for_integers("trunc"), _nothing, floating=False)
_rint = unary("round", _same_for_integers("rint"), _nothing, floating=False, attach=False)
frac = unary("frac", lambda xp, x: x - xp.trunc(x), lambda g: g, floating=False)
fix = trunc
method(trunc, "fix")
inplace_method(trunc, "fix_")


def round(input: Tensor, *, decimals: int = 0, out: Any = None) -> Tensor:
    """Elements rounded to the nearest integer (halves to even), or to ``decimals`` digits."""
    if decimals == 0:
        result = _rint(input)
    else:
        if input._data.dtype.kind in "biu":
            from .._core.templates import scalar_type_name

            raise NotImplementedError(f'"round_cpu" not implemented for \'{scalar_type_name(input._data.dtype)}\'')
        scale = 10.0 ** (decimals if decimals > 0 else -decimals)
        result = _rint(input * scale) / scale if decimals > 0 else _rint(input / scale) * scale
    return result if out is None else store(out, result)


method(round)
inplace_method(round)


def _integer_divide(xp: Any, x: Any, y: Any) -> None:
    if xp is np and not np.all(y):
        raise RuntimeError("ZeroDivisionError")


def _floor_divide_kernel(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu":
        _integer_divide(xp, x, y)
        return xp.floor_divide(x, y)
    q = xp.floor_divide(x, y)
    return xp.where(y == 0, x / y, q)  # infinities as C++ division gives them


def _trunc_divide_kernel(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu":
        _integer_divide(xp, x, y)
        q = xp.floor_divide(x, y)
        return q + ((q < 0) & (q * y != x)).astype(q.dtype)
    return xp.trunc(x / y)


floor_divide = binary("floor_divide", half_as_float(_floor_divide_kernel), lambda g, x, y: zeros_as(g), lambda g, x,
                      y: zeros_as(g),
                      unsupported="b", operators=("__floordiv__", "__rfloordiv__", "__ifloordiv__"))  # fmt: skip
trunc_divide = binary(
    "trunc_divide",
    half_as_float(_trunc_divide_kernel),
    lambda g, x, y: zeros_as(g),
    lambda g, x, y: zeros_as(g),
    attach=False,
)


def rounded_division(input: Any, other: Any, rounding_mode: str) -> Any:
    """``div(rounding_mode=…)``."""
    if rounding_mode == "floor":
        return floor_divide(input, other)
    if rounding_mode == "trunc":
        return trunc_divide(input, other)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


def _remainder_kernel(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu":
        _integer_divide(xp, x, y)
    return xp.remainder(x, y)


def _fmod_kernel(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu":
        _integer_divide(xp, x, y)
    return xp.fmod(x, y)


remainder = binary("remainder", half_as_float(_remainder_kernel), lambda g, x, y: g, lambda g, x,
                   y: -g * floor_divide(x, y), ("", "xy"), unsupported="bc",
                   operators=("__mod__", "__rmod__", "__imod__"))  # fmt: skip
fmod = binary(
    "fmod",
    half_as_float(_fmod_kernel),
    lambda g, x, y: g,
    lambda g, x, y: -g * trunc_divide(x, y),
    ("", "xy"),
    unsupported="bc",
)
