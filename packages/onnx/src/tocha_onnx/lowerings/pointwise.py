"""Pointwise operators of one tensor: powers, exponentials, trigonometry, signs, rounding, predicates."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..builder import Array, Builder
from ..registry import lowering

NATIVE = {
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin",
    "acos": "Acos",
    "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh",
    "atanh": "Atanh",
    "reciprocal": "Reciprocal", "sigmoid": "Sigmoid", "neg": "Neg", "erf": "Erf",
}  # fmt: skip


def _native(name: str) -> Callable:
    return lambda b, x: b.add(name, x)


for _name, _onnx in NATIVE.items():
    lowering(_name)(_native(_onnx))


@lowering("exp2")
def exp2(b: Builder, x: Array) -> Array:
    return b.Pow(b.constant(2, x.dtype), x)


@lowering("expm1")
def expm1(b: Builder, x: Array) -> Array:
    # tanh(x/2) (exp(x) + 1) is the same number and keeps its digits near 0.
    return b.Mul(b.Tanh(b.Mul(x, 0.5)), b.Add(b.Exp(x), 1))


@lowering("log1p")
def log1p(b: Builder, x: Array) -> Array:
    # x log(u) / (u - 1) with u = 1 + x cancels the rounding of u (Kahan; see Goldberg 1991, theorem 4).
    u = b.Add(x, 1)
    corrected = b.Div(b.Mul(x, b.Log(u)), b.Sub(u, 1))
    plain = b.Or(b.Equal(u, 1), b.Equal(u, x))
    return b.Where(plain, b.Where(b.Equal(u, 1), x, b.Log(u)), corrected)


@lowering("log2")
def log2(b: Builder, x: Array) -> Array:
    return b.Mul(b.Log(x), 1 / math.log(2))


@lowering("log10")
def log10(b: Builder, x: Array) -> Array:
    return b.Mul(b.Log(x), 1 / math.log(10))


@lowering("rsqrt")
def rsqrt(b: Builder, x: Array) -> Array:
    return b.Reciprocal(b.Sqrt(x))


@lowering("square")
def square(b: Builder, x: Array) -> Array:
    return b.Mul(x, x)


@lowering("sinc")
def sinc(b: Builder, x: Array) -> Array:
    px = b.Mul(x, math.pi)
    return b.Where(b.Equal(x, 0), b.constant(1, x.dtype), b.Div(b.Sin(px), px))


@lowering("deg2rad")
def deg2rad(b: Builder, x: Array) -> Array:
    return b.Mul(x, math.pi / 180)


@lowering("rad2deg")
def rad2deg(b: Builder, x: Array) -> Array:
    return b.Mul(x, 180 / math.pi)


@lowering("sign", "sgn")
def sign(b: Builder, x: Array) -> Array:
    return x if x.dtype.kind == "b" else b.Sign(x)


@lowering("abs")
def absolute(b: Builder, x: Array) -> Array:
    return x if x.dtype.kind in "bu" else b.Abs(x)


@lowering("frexp")
def frexp(b: Builder, x: Array) -> tuple[Array, Array]:
    dtype = x.dtype
    x = b.cast(x, np.float32) if dtype.itemsize == 2 else x
    size = b.Abs(x)
    plain = b.And(b.Greater(size, 0), b.Less(size, math.inf))
    two = b.constant(2, x.dtype)
    exponent = b.Add(b.Floor(b.Mul(b.Log(b.Where(plain, size, two)), 1 / math.log(2))), 1)
    mantissa = b.Div(x, b.Pow(two, exponent))
    over, under = b.GreaterOrEqual(b.Abs(mantissa), 1), b.Less(b.Abs(mantissa), 0.5)  # the logarithm was rounded
    exponent = b.Where(over, b.Add(exponent, 1), b.Where(under, b.Sub(exponent, 1), exponent))
    mantissa = b.Where(over, b.Mul(mantissa, 0.5), b.Where(under, b.Mul(mantissa, 2), mantissa))
    zero = b.constant(0, np.int32)
    return b.cast(b.Where(plain, mantissa, x), dtype), b.Where(plain, b.cast(exponent, np.int32), zero)


# ---------------------------------------------------------------- rounding


def _rounding(name: str) -> Callable:
    return lambda b, x: b.add(name, x) if x.is_float else x


for _name, _onnx in {"floor": "Floor", "ceil": "Ceil", "round": "Round"}.items():
    lowering(_name)(_rounding(_onnx))


@lowering("trunc")
def trunc(b: Builder, x: Array) -> Array:
    return b.Mul(b.Sign(x), b.Floor(b.Abs(x))) if x.is_float else x


@lowering("frac")
def frac(b: Builder, x: Array) -> Array:
    return b.Sub(x, trunc(b, x))


# ---------------------------------------------------------------- predicates


def never(b: Builder, x: Array) -> Array:
    """False for each element of ``x``."""
    return b.same_shape(b.constant(False, np.bool_), x)


@lowering("isnan")
def isnan(b: Builder, x: Array) -> Array:
    return b.IsNaN(x) if x.is_float else never(b, x)


@lowering("isinf")
def isinf(b: Builder, x: Array) -> Array:
    return b.Equal(b.Abs(x), math.inf) if x.is_float else never(b, x)


@lowering("isfinite")
def isfinite(b: Builder, x: Array) -> Array:
    if not x.is_float:
        return b.Not(never(b, x))
    return b.Less(b.Abs(x), math.inf)


@lowering("signbit")
def signbit(b: Builder, x: Array) -> Array:
    if x.dtype.kind in "bu":
        return never(b, x)
    if x.dtype.kind == "i":
        return b.Less(x, 0)
    # 1 / -0.0 is -inf, and 1 / -inf is -0.0, which is why x itself is asked first.
    return b.Or(b.Less(x, 0), b.And(b.Equal(x, 0), b.Less(b.Reciprocal(x), 0)))


@lowering("logical_not")
def logical_not(b: Builder, x: Array) -> Array:
    return b.Not(b.cast(x, np.bool_))


@lowering("bitwise_not")
def bitwise_not(b: Builder, x: Array) -> Array:
    if x.dtype.kind == "b":
        return b.Not(x)
    if x.dtype.kind == "u":
        return b.Sub(int(np.iinfo(x.dtype).max), x)
    return b.Sub(-1, x)
