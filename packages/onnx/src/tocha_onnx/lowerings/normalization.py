"""Normalisation: batch, layer, group and RMS norm."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..builder import Array, Builder
from ..registry import lowering

NP_FLOAT32 = np.dtype("float32")


def _widened(b: Builder, *arrays: Array | None) -> list[Array | None]:
    """Half types as float32: parameters may be float32 beside a half input, and statistics need the digits."""
    half = arrays[0] is not None and arrays[0].dtype.itemsize == 2
    return [v if v is None or not half else b.cast(v, NP_FLOAT32) for v in arrays]


def _channels(b: Builder, v: Array, rank: int) -> Array:
    """A vector over the channels, to be broadcast over ``(N, C, *)``."""
    return b.unsqueeze(v, (0, *range(2, rank)))


def _normal(b: Builder, x: Array, axes: Sequence[int], eps: float) -> tuple[Array, Array, Array]:
    """``x`` less its mean over its standard deviation, the mean, and the biased variance."""
    mean = b.reduce("ReduceMean", x, axes, True)
    centred = b.Sub(x, mean)
    variance = b.reduce("ReduceMean", b.Mul(centred, centred), axes, True)
    return b.Div(centred, b.Sqrt(b.Add(variance, eps))), mean, variance


@lowering("batch_norm_inference")
def batch_norm(
    b: Builder, x: Array, weight: Array | None, bias: Array | None, mean: Array, variance: Array, eps: float
) -> Array:
    dtype, shape = x.dtype, x.shape
    x, weight, bias, mean, variance = _widened(b, x, weight, bias, mean, variance)  # type: ignore[assignment]
    if x.dtype == NP_FLOAT32:
        weight = b.full((shape[1],), 1, x.dtype) if weight is None else weight
        bias = b.full((shape[1],), 0, x.dtype) if bias is None else bias
        return b.cast(b.BatchNormalization(x, weight, bias, mean, variance, epsilon=eps), dtype)
    scale = b.Reciprocal(b.Sqrt(b.Add(variance, eps)))
    y = b.Mul(b.Sub(x, _channels(b, mean, len(shape))), _channels(b, scale, len(shape)))
    return b.cast(_affine(b, y, weight, bias, len(shape)), dtype)


def _affine(b: Builder, y: Array, weight: Array | None, bias: Array | None, rank: int) -> Array:
    if weight is not None:
        y = b.Mul(y, _channels(b, weight, rank))
    return y if bias is None else b.Add(y, _channels(b, bias, rank))


@lowering("batch_norm")
def batch_norm_train(b: Builder, x: Array, weight: Array | None, bias: Array | None, eps: float) -> tuple[Array, ...]:
    dtype, rank = x.dtype, x.rank
    axes = (0, *range(2, rank))
    x, weight, bias = _widened(b, x, weight, bias)  # type: ignore[assignment]
    y, mean, variance = _normal(b, x, axes, eps)
    return b.cast(_affine(b, y, weight, bias, rank), dtype), b.squeeze(mean, axes), b.squeeze(variance, axes)


@lowering("layer_norm")
def layer_norm(b: Builder, x: Array, weight: Array | None, bias: Array | None, ndim: int, eps: float) -> Array:
    dtype, shape = x.dtype, x.shape
    x, weight, bias = _widened(b, x, weight, bias)  # type: ignore[assignment]
    if weight is None:
        weight = b.full(shape[len(shape) - ndim :], 1, x.dtype)
    inputs = (x, weight) if bias is None else (x, weight, bias)
    return b.cast(b.add("LayerNormalization", *inputs, axis=-ndim, epsilon=eps), dtype)


@lowering("rms_norm")
def rms_norm(b: Builder, x: Array, weight: Array | None, ndim: int, eps: float) -> Array:
    dtype, shape = x.dtype, x.shape
    x, weight = _widened(b, x, weight)  # type: ignore[assignment]
    if b.opset >= 23 and x.dtype == NP_FLOAT32:
        scale = b.full(shape[len(shape) - ndim :], 1, x.dtype) if weight is None else weight
        return b.cast(b.RMSNormalization(x, scale, axis=-ndim, epsilon=eps), dtype)
    mean = b.reduce("ReduceMean", b.Mul(x, x), tuple(range(len(shape) - ndim, len(shape))), True)
    y = b.Div(x, b.Sqrt(b.Add(mean, eps)))
    return b.cast(y if weight is None else b.Mul(y, weight), dtype)


@lowering("group_norm")
def group_norm(b: Builder, x: Array, weight: Array | None, bias: Array | None, groups: int, eps: float) -> Array:
    dtype, shape = x.dtype, x.shape
    x, weight, bias = _widened(b, x, weight, bias)  # type: ignore[assignment]
    if shape[1] == groups and len(shape) > 2 and x.dtype == NP_FLOAT32:
        ones = b.full((groups,), 1, x.dtype) if weight is None else weight
        zeros = b.full((groups,), 0, x.dtype) if bias is None else bias
        return b.cast(b.InstanceNormalization(x, ones, zeros, epsilon=eps), dtype)
    members = shape[1] // groups * (math.prod(shape[2:]) if len(shape) > 2 else 1)
    x = Array(x.name, x.dtype, shape)
    rows = b.reshape(x, (shape[0], groups, members))
    y = b.reshape(_normal(b, rows, (2,), eps)[0], shape)
    return b.cast(_affine(b, y, weight, bias, len(shape)), dtype)
