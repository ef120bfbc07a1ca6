"""Losses of scores against classes, and pointwise losses with their reduction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..builder import Array, Builder
from ..registry import lowering
from .pointwise import log1p

NP_FLOAT32 = np.dtype("float32")


def _reduced(b: Builder, losses: Array, reduction: str) -> Array:
    if reduction == "none":
        return losses
    return b.reduce("ReduceMean" if reduction == "mean" else "ReduceSum", losses, None)


# ---------------------------------------------------------------- classes


def _class_weights(b: Builder, x: Array, target: Array, weight: Array | None, ignored: int) -> tuple[Array, Array]:
    """The classes with ignored ones set to 0, and the weight of each row."""
    skip = b.Equal(target, ignored)
    safe = b.cast(b.Where(skip, b.constant(0, target.dtype), target), np.int64)
    one = b.constant(1, x.dtype)
    weights = one if weight is None else b.Gather(weight, safe, axis=0)
    return safe, b.Where(skip, b.constant(0, x.dtype), weights)


def _picked(b: Builder, x: Array, safe: Array) -> Array:
    return b.squeeze(b.GatherElements(x, b.unsqueeze(safe, (1,)), axis=1), (1,))


def _class_loss(b: Builder, x: Array, target: Array, weight: Array | None, ignored: int, reduction: str) -> Array:
    safe, weights = _class_weights(b, x, target, weight, ignored)
    losses = b.Neg(b.Mul(_picked(b, x, safe), weights))
    losses = b.Where(b.Equal(target, ignored), b.constant(0, x.dtype), losses)
    if reduction == "none":
        return losses
    total = b.reduce("ReduceSum", losses, None)
    return total if reduction == "sum" else b.Div(total, b.reduce("ReduceSum", weights, None))


@lowering("nll_loss")
def nll_loss(b: Builder, x: Array, target: Array, weight: Array | None, ignored: int, reduction: str) -> Array:
    return _class_loss(b, x, target, weight, ignored, reduction)


@lowering("cross_entropy")
def cross_entropy(b: Builder, x: Array, target: Array, weight: Array | None, ignored: int, reduction: str) -> Array:
    return _class_loss(b, b.LogSoftmax(x, axis=1), target, weight, ignored, reduction)


@lowering("nll_loss_total")
def nll_total(b: Builder, x: Array, target: Array, weight: Array | None, ignored: int) -> Array:
    return b.reduce("ReduceSum", _class_weights(b, x, target, weight, ignored)[1], None)


@lowering("class_weights")
def class_weights(b: Builder, x: Array, target: Array, weight: Array | None, ignored: int) -> Array:
    return _class_weights(b, x, target, weight, ignored)[1]


@lowering("nll_loss_gather")
def nll_gather(b: Builder, x: Array, target: Array, weight: Array | None, ignored: int, total: bool) -> Array:
    safe, weights = _class_weights(b, x, target, weight, ignored)
    picked = b.Neg(b.Mul(_picked(b, x, safe), weights))
    return b.reduce("ReduceSum", picked, None) if total else picked


@lowering("nll_loss_backward")
def nll_backward(b: Builder, g: Array, x: Array, target: Array, weight: Array | None, ignored: int) -> Array:
    safe, weights = _class_weights(b, x, target, weight, ignored)
    rows = b.unsqueeze(b.Neg(b.Mul(weights, g)), (1,))
    classes = b.Equal(b.unsqueeze(safe, (1,)), b.unsqueeze(b.range(x.shape[1]), (0,)))
    return b.Where(classes, rows, b.constant(0, g.dtype))


# ---------------------------------------------------------------- pointwise


def _pointwise(name: str) -> Callable:
    def register(value: Callable) -> Callable:
        @lowering(name)
        def lower(b: Builder, x: Array, t: Array, reduction: str, *numbers: Any) -> Array:
            half = x.dtype.itemsize == 2
            wide = [b.cast(v, NP_FLOAT32) if half else v for v in (x, t)]
            return b.cast(_reduced(b, value(b, *wide, *numbers), reduction), x.dtype)

        return value

    return register


@_pointwise("mse_loss")
def mse(b: Builder, x: Array, t: Array) -> Array:
    d = b.Sub(x, t)
    return b.Mul(d, d)


@_pointwise("smooth_l1_loss")
def smooth_l1(b: Builder, x: Array, t: Array, beta: float) -> Array:
    d = b.Abs(b.Sub(x, t))
    near = b.Min(d, beta)
    return b.Add(b.Mul(b.Mul(near, near), 0.5 / beta), b.Sub(d, near))


@_pointwise("huber_loss")
def huber(b: Builder, x: Array, t: Array, delta: float) -> Array:
    d = b.Abs(b.Sub(x, t))
    near = b.Min(d, delta)
    return b.Add(b.Mul(b.Mul(near, near), 0.5), b.Mul(b.Sub(d, near), delta))


@_pointwise("binary_cross_entropy")
def bce(b: Builder, x: Array, t: Array) -> Array:
    of_zero = b.Mul(b.Sub(t, 1), b.Max(log1p(b, b.Neg(x)), -100))
    return b.Sub(of_zero, b.Mul(t, b.Max(b.Log(x), -100)))


@_pointwise("binary_cross_entropy_with_logits")
def bce_with_logits(b: Builder, x: Array, t: Array) -> Array:
    y = log1p(b, b.Exp(b.Neg(b.Abs(x))))
    return b.Sub(b.Add(y, b.Max(x, 0)), b.Mul(x, t))
