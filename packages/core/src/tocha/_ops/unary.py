"""Pointwise operators of one tensor."""

from __future__ import annotations

from .._core.families import method, unary
from .._core.tensor import Tensor

__all__ = ["abs", "absolute", "cos", "exp", "log", "neg", "negative", "positive", "reciprocal", "rsqrt", "sigmoid", "sin", "sqrt", "square", "tanh"]

neg = unary("neg", "negative", lambda g: -g, floating=False, linear=True)
exp = unary("exp", "exp", lambda g, y: g * y, "y")
log = unary("log", "log", lambda g, x: g / x, "x")
sqrt = unary("sqrt", "sqrt", lambda g, y: g / (y * 2), "y")
rsqrt = unary("rsqrt", lambda xp, x: 1 / xp.sqrt(x), lambda g, y: g * y * y * y * -0.5, "y")
reciprocal = unary("reciprocal", lambda xp, x: 1 / x, lambda g, y: -g * y * y, "y")
square = unary("square", "square", lambda g, x: g * x * 2, "x", floating=False)
sin = unary("sin", "sin", lambda g, x: g * cos(x), "x")
cos = unary("cos", "cos", lambda g, x: -g * sin(x), "x")
tanh = unary("tanh", "tanh", lambda g, y: g * (1 - y * y), "y")


def _sigmoid_kernel(xp, x):  # one scaled tanh never overflows
    half = x.dtype.type(0.5)
    y = xp.tanh(x * half)
    y *= half
    y += half
    return y


sigmoid = unary("sigmoid", _sigmoid_kernel, lambda g, y: g * (y * (1 - y)), "y")
abs = unary("abs", "absolute", lambda g, x: g * sign(x), "x", floating=False)
sign = unary("sign", "sign", lambda g: g * 0, floating=False)
absolute, negative = abs, neg
method(abs, "absolute", "__abs__")
method(neg, "negative", "__neg__")


def positive(input: Tensor) -> Tensor:
    """``input`` itself.

    Raises:
        RuntimeError: ``input`` is boolean.
    """
    if input._data.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


method(positive, "positive", "__pos__")
