"""Activation functions."""

from __future__ import annotations

import math

import numpy as np

from ..builder import Array, Builder
from ..registry import lowering
from .pointwise import expm1, log1p


@lowering("relu")
def relu(b: Builder, x: Array) -> Array:
    return b.Relu(x) if x.is_float else b.Max(x, 0)


@lowering("leaky_relu")
def leaky_relu(b: Builder, x: Array, slope: float) -> Array:
    if x.dtype == np.float64:
        return b.Where(b.Greater(x, 0), x, b.Mul(x, slope))
    return b.LeakyRelu(x, alpha=float(slope))


@lowering("threshold")
def threshold(b: Builder, x: Array, limit: float, value: float) -> Array:
    return b.Where(b.LessOrEqual(x, limit), b.constant(value, x.dtype), x)


@lowering("hardtanh")
def hardtanh(b: Builder, x: Array, low: float, high: float) -> Array:
    return b.Clip(x, low, high) if low <= high else b.Min(b.Max(x, low), high)


@lowering("elu")
def elu(b: Builder, x: Array, alpha: float, scale: float, input_scale: float) -> Array:
    if x.dtype != np.float64 and input_scale == 1:
        if scale == 1:
            return b.Elu(x, alpha=float(alpha))
        return b.Selu(x, alpha=float(alpha), gamma=float(scale))
    below = b.Mul(expm1(b, b.Mul(b.Min(x, 0), input_scale)), alpha * scale)
    return b.Add(below, b.Mul(b.Max(x, 0), scale))


@lowering("hardshrink")
def hardshrink(b: Builder, x: Array, limit: float) -> Array:
    inside = b.And(b.GreaterOrEqual(x, -limit), b.LessOrEqual(x, limit))
    return b.Where(inside, b.constant(0, x.dtype), x)


@lowering("softshrink")
def softshrink(b: Builder, x: Array, limit: float) -> Array:
    return b.Sub(x, b.Clip(x, -limit, limit))


@lowering("hardsigmoid")
def hardsigmoid(b: Builder, x: Array) -> Array:
    if x.dtype == np.float64:
        return b.Mul(b.Clip(b.Add(x, 3), 0, 6), 1 / 6)
    return b.HardSigmoid(x, alpha=1 / 6, beta=0.5)


@lowering("hardswish")
def hardswish(b: Builder, x: Array) -> Array:
    return b.Mul(x, hardsigmoid(b, x))


def _softplus(b: Builder, x: Array) -> Array:
    if x.dtype == np.float64:
        return b.Add(log1p(b, b.Exp(b.Neg(b.Abs(x)))), b.Max(x, 0))
    return b.Softplus(x)


@lowering("softplus")
def softplus(b: Builder, x: Array, beta: float, threshold: float) -> Array:
    scaled = x if beta == 1 else b.Mul(x, beta)
    smooth = _softplus(b, scaled)
    return b.Where(b.Greater(scaled, threshold), x, smooth if beta == 1 else b.Div(smooth, beta))


@lowering("log_sigmoid")
def log_sigmoid(b: Builder, x: Array) -> Array:
    return b.Neg(_softplus(b, b.Neg(x)))


@lowering("mish")
def mish(b: Builder, x: Array) -> Array:
    return b.Mul(x, b.Tanh(_softplus(b, x)))


@lowering("silu")
def silu(b: Builder, x: Array) -> Array:
    return b.Mul(x, b.Sigmoid(x))


@lowering("gelu")
def gelu(b: Builder, x: Array, approximate: str) -> Array:
    if b.opset >= 20 and x.dtype != np.float64:
        return b.Gelu(x, approximate=approximate)
    if approximate == "tanh":
        inner = b.Mul(b.Add(x, b.Mul(b.Mul(b.Mul(x, x), x), 0.044715)), math.sqrt(2 / math.pi))
        return b.Mul(b.Mul(x, b.Add(b.Tanh(inner), 1)), 0.5)
    return b.Mul(b.Mul(x, b.Add(b.Erf(b.Div(x, math.sqrt(2))), 1)), 0.5)


@lowering("softmax")
def softmax(b: Builder, x: Array, dim: int) -> Array:
    return b.Softmax(x, axis=dim)


@lowering("log_softmax")
def log_softmax(b: Builder, x: Array, dim: int) -> Array:
    return b.LogSoftmax(x, axis=dim)


@lowering("gate")
def gate(b: Builder, g: Array, mask: Array, source: Array | None = None) -> Array:
    return b.Where(mask, g, b.constant(0, g.dtype))


@lowering("prelu")
def prelu(b: Builder, x: Array, weight: Array) -> Array:
    return b.PRelu(x, weight) if x.rank >= weight.rank else b.Where(b.Greater(x, 0), x, b.Mul(x, weight))


@lowering("prelu_slope")
def prelu_slope(b: Builder, x: Array, weight: Array) -> Array:
    return b.Where(b.Greater(x, 0), b.constant(1, x.dtype), weight)


@lowering("leaky_relu_slope")
def leaky_relu_slope(b: Builder, x: Array, slope: float) -> Array:
    return b.Where(b.Greater(x, 0), b.constant(1, x.dtype), b.constant(slope, x.dtype))
