"""Pointwise operators of one tensor: powers, exponentials, trigonometry, signs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._core.abstract import Abstract
from .._core.families import half_as_float, inplace_method, method, unary
from .._core.tensor import Tensor
from .constants import ones_as, zeros_as

__all__ = [
    "abs", "abs_", "absolute", "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "asin",
    "asinh", "atan", "atanh", "cos", "cosh", "deg2rad", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "neg",
    "negative", "positive", "rad2deg", "reciprocal", "rsqrt", "sgn", "sigmoid", "sign", "sin", "sinc", "sinh", "sqrt",
    "square", "tan", "tanh",
]  # fmt: skip

# ---------------------------------------------------------------- powers, exponentials, logarithms



def _negative(xp: Any, x: Any) -> Any:
    if x.dtype.kind == "b":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` or `logical_not()` operator instead."
        )
    return xp.negative(x)


neg = unary("neg", _negative, lambda g: -g, floating=False, linear=True)
exp = unary("exp", "exp", lambda g, y: g * y, "y")
exp2 = unary(
    "exp2",
    lambda xp, x: xp.exp2(x) if x.dtype.kind != "c" else xp.exp(x * math.log(2)),
    lambda g, y: g * y * math.log(2),
    "y",
)
expm1 = unary("expm1", "expm1", lambda g, y: g * (y + 1), "y")
log = unary("log", "log", lambda g, x: g / x, "x")
log2 = unary("log2", "log2", lambda g, x: g / (x * math.log(2)), "x")
log10 = unary("log10", "log10", lambda g, x: g / (x * math.log(10)), "x")
log1p = unary("log1p", "log1p", lambda g, x: g / (x + 1), "x")
sqrt = unary("sqrt", "sqrt", lambda g, y: g / (y * 2), "y")
rsqrt = unary("rsqrt", half_as_float(lambda xp, x: 1 / xp.sqrt(x)), lambda g, y: g * (y * y * y) * -0.5, "y")
reciprocal = unary("reciprocal", half_as_float(lambda xp, x: 1 / x), lambda g, y: -g * (y * y), "y")


def _square_kernel(xp: Any, x: Any) -> Any:
    return xp.square(x.astype("int64") if x.dtype.kind == "b" else x)


square = unary("square", _square_kernel, lambda g, x: g * (x * 2), "x", floating=False)

# ---------------------------------------------------------------- trigonometry

sin = unary("sin", "sin", lambda g, x: g * cos(x), "x")
cos: Callable = unary("cos", "cos", lambda g, x: -g * sin(x), "x")
tan = unary("tan", "tan", lambda g, y: g * (y * y + 1), "y")
asin = unary("asin", "arcsin", lambda g, x: g * rsqrt(1 - x * x), "x")
acos = unary("acos", "arccos", lambda g, x: -g * rsqrt(1 - x * x), "x")
atan = unary("atan", "arctan", lambda g, x: g / (x * x + 1), "x")
sinh = unary("sinh", "sinh", lambda g, x: g * cosh(x), "x")
cosh: Callable = unary("cosh", "cosh", lambda g, x: g * sinh(x), "x")
tanh = unary("tanh", "tanh", lambda g, y: g * (1 - y * y), "y")
asinh = unary("asinh", "arcsinh", lambda g, x: g * rsqrt(x * x + 1), "x")
acosh = unary("acosh", "arccosh", lambda g, x: g * (rsqrt(x - 1) * rsqrt(x + 1)), "x")
atanh = unary("atanh", "arctanh", lambda g, x: g / (1 - x * x), "x")
deg2rad = unary("deg2rad", lambda xp, x: x * (math.pi / 180), lambda g: g * (math.pi / 180), linear=True)
rad2deg = unary("rad2deg", lambda xp, x: x * (180 / math.pi), lambda g: g * (180 / math.pi), linear=True)


def _sinc_kernel(xp: Any, x: Any) -> Any:
    px = x * math.pi
    return xp.where(x == 0, xp.ones_like(x), xp.sin(px) / px)


def _sinc_rule(g: Any, x: Any) -> Any:
    from .ternary import where

    px = x * math.pi
    zero = x == 0
    safe = where(zero, ones_as(x), px)
    return g * where(zero, px * (-math.pi / 3), (px * cos(px) - sin(px)) / (safe * where(zero, ones_as(x), x)))


sinc = unary("sinc", half_as_float(_sinc_kernel), _sinc_rule, "x")


def _sigmoid_kernel(xp: Any, x: Any) -> Any:
    if x.dtype.kind == "c":
        return 1 / (1 + xp.exp(-x))
    half = x.dtype.type(0.5)  # one scaled tanh never overflows
    y = xp.tanh(x * half)
    y *= half
    y += half
    return y


sigmoid = unary("sigmoid", half_as_float(_sigmoid_kernel), lambda g, y: g * (y * (1 - y)), "y")

# ---------------------------------------------------------------- signs


def _sgn_kernel(xp: Any, x: Any) -> Any:
    if x.dtype.kind != "c":
        return xp.sign(x) if x.dtype.kind != "b" else x.copy()
    size = xp.abs(x)
    return xp.where(size == 0, xp.zeros_like(x), x / size)


def _sgn_rule(g: Any, x: Any, y: Any) -> Any:
    from .complex import conj_physical as conj
    from .complex import is_complex_value, real_part
    from .ternary import where

    if not is_complex_value(x):
        return zeros_as(g)
    size = abs(x)
    zero = size == 0
    safe = where(zero, ones_as(size), size)
    r = real_part(y * conj(g))
    return where(zero, zeros_as(g), (g - y * r) / safe)


sgn = unary("sgn", _sgn_kernel, _sgn_rule, "xy", floating=False, linear=True)
sign = unary(
    "sign", lambda xp, x: xp.sign(x) if x.dtype.kind != "b" else x.copy(), lambda g: zeros_as(g), floating=False
)


def _abs_rule(g: Any, x: Any) -> Any:
    from .complex import is_complex_value

    return g * sgn(x) if is_complex_value(x) else g * sign(x)


def _abs_infer_dtype(x: Any) -> Any:
    from .._core import dtypes

    return dtypes.of(x.dtype).to_real().np


abs = unary(
    "abs", lambda xp, x: xp.abs(x) if x.dtype.kind != "b" else x.copy(), _abs_rule, "x", floating=False, linear=True
)
abs.op.infer = lambda x: (x.shape, _abs_infer_dtype(x))  # type: ignore[attr-defined]


def abs_(input: Tensor) -> Tensor:
    """In-place ``abs``."""
    return input.abs_()


def positive(input: Tensor) -> Tensor:
    """``input`` itself.

    Raises:
        RuntimeError: ``input`` is boolean.
    """
    if input._data.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


absolute, negative = abs, neg
arccos, arcsin, arctan, arccosh, arcsinh, arctanh = acos, asin, atan, acosh, asinh, atanh
_ALIASES = {
    "absolute": abs,
    "negative": neg,
    "arccos": acos,
    "arcsin": asin,
    "arctan": atan,
    "arccosh": acosh,
    "arcsinh": asinh,
    "arctanh": atanh,
}
for _name, _fn in _ALIASES.items():
    method(_fn, _name)
    inplace_method(_fn, _name + "_")
method(abs, "__abs__")
method(neg, "__neg__")
method(positive, "positive", "__pos__")
Abstract.__neg__ = neg.op.call  # type: ignore[attr-defined, operator]
Abstract.__abs__ = abs.op.call  # type: ignore[attr-defined]
