"""Special functions: those that ONNX's own functions express to full precision, and the reasons for the rest."""

from __future__ import annotations

import math

from ..builder import Array, Builder
from ..registry import lowering, unsupported
from .pointwise import isnan, log1p


@lowering("erfc")
def erfc(b: Builder, x: Array) -> Array:
    return b.Sub(1, b.Erf(x))


@lowering("ndtr")
def ndtr(b: Builder, x: Array) -> Array:
    return b.Mul(b.Add(b.Erf(b.Mul(x, math.sqrt(0.5))), 1), 0.5)


@lowering("entr")
def entr(b: Builder, x: Array) -> Array:
    inside = b.Where(b.Equal(x, 0), b.constant(0, x.dtype), b.Neg(b.Mul(x, b.Log(x))))
    return b.Where(b.Less(x, 0), b.constant(-math.inf, x.dtype), inside)


@lowering("xlog1py")
def xlog1py(b: Builder, x: Array, y: Array) -> Array:
    nothing = b.And(b.Equal(x, 0), b.Not(isnan(b, y)))
    return b.Where(nothing, b.constant(0, x.dtype), b.Mul(x, log1p(b, y)))


@lowering("angle")
def angle(b: Builder, x: Array) -> Array:
    """Of real numbers: 0, or pi where they are negative."""
    return b.Where(b.Less(x, 0), b.constant(math.pi, x.dtype), b.Where(isnan(b, x), x, b.constant(0, x.dtype)))


unsupported("its search for the first of equal maxima has no ONNX form", "bag_argmax")
unsupported("its windows are drawn anew for each channel", "fractional_max_pool_indices")
