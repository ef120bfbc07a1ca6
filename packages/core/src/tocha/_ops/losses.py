"""Pointwise losses of an input and a target of one shape, with their reduction: one operator each.

The reduction is part of the operator, so that a training step records one node for its loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.families import half_as_float, operator
from .activation import NUMPY, hardtanh_op, not_implemented
from .dims import product
from .unary import log, log1p, sigmoid

ndarray = np.ndarray


def pointwise_loss(
    name: str, torch_name: str, value: Callable, slope: Callable, target_slope: Callable | None = None
) -> Callable:
    """A loss ``call(input, target, reduction, *numbers)``.

    Args:
        torch_name: PyTorch's name of the kernel, for its error about dtypes.
        value: ``value(xp, x, t, *numbers)``, the loss of each element.
        slope: ``slope(x, t, *numbers)``, its derivative by ``x``, in operators.
        target_slope: the same by ``t``; None: minus the slope.
    """

    def kernel(xp: Any, x: Any, t: Any, reduction: str, *numbers: Any) -> Any:
        if x.dtype.kind not in "fV":
            raise not_implemented(torch_name, x.dtype)
        values = value(xp, x, t, *numbers)
        if reduction == "none":
            return values
        total = xp.add.reduce(values, None)
        return total / values.size if reduction == "mean" else total

    def rule(n: Any, g: Any) -> tuple:
        x, t = n.saved
        reduction, *numbers = n.attrs
        if reduction == "mean":
            g = g / product(x.shape)
        ex, et = n.edges
        gx: Any = None
        gt: Any = None
        if ex is not None or (et is not None and target_slope is None):
            gx = slope(x, t, *numbers) * g
        if et is not None:
            gt = -gx if target_slope is None else target_slope(x, t, *numbers) * g
        return gx if ex is not None else None, gt

    def infer(x: Any, t: Any, reduction: str, *numbers: Any) -> tuple:
        return x.shape if reduction == "none" else (), x.dtype

    return operator(name, half_as_float(kernel), rule, infer, arity=2, save=(0, 1))


# ---------------------------------------------------------------- of the difference


def _square(xp: Any, x: Any, t: Any) -> Any:
    d = x - t
    return d * d if not d.shape else xp.multiply(d, d, out=d)


mse_op = pointwise_loss("mse_loss", "mse_cpu", _square, lambda x, t: (x - t) * 2)


def _mse_backward(n: Any, g: Any) -> tuple:
    """The same with two passes over the array."""
    x, t = n.saved
    if type(g) not in NUMPY or x.dtype.itemsize == 2 or not x.shape:
        return mse_op.op.vjp(n, g)  # type: ignore[attr-defined]
    d = x - t
    d *= g * (2 / x.size if n.attrs[0] == "mean" else 2)
    ex, et = n.edges
    return None if ex is None else d, None if et is None else -d


mse_op.op.backward = _mse_backward  # type: ignore[attr-defined]


def _smooth_l1(xp: Any, x: Any, t: Any, beta: float) -> Any:
    d = xp.abs(x - t)
    near = xp.minimum(d, d.dtype.type(beta))  # 0.5 near² / beta + (d - near) is the loss on both sides
    return near * near * (0.5 / beta) + (d - near)


smooth_l1_op = pointwise_loss(
    "smooth_l1_loss", "smooth_l1_cpu", _smooth_l1, lambda x, t, beta: hardtanh_op((x - t) / beta, -1.0, 1.0)
)


def _huber(xp: Any, x: Any, t: Any, delta: float) -> Any:
    d = xp.abs(x - t)
    near = xp.minimum(d, d.dtype.type(delta))
    return near * near * 0.5 + (d - near) * delta


huber_op = pointwise_loss("huber_loss", "huber_cpu", _huber, lambda x, t, delta: hardtanh_op(x - t, -delta, delta))

# ---------------------------------------------------------------- binary cross entropy


def _bce(xp: Any, x: Any, t: Any) -> Any:
    """Logarithms are limited to -100, as PyTorch's are."""
    if xp is np and x.size and not (x.min() >= 0 and x.max() <= 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    lowest = x.dtype.type(-100)
    return (t - 1) * xp.maximum(xp.log1p(-x), lowest) - t * xp.maximum(xp.log(x), lowest)


bce_op = pointwise_loss(
    "binary_cross_entropy",
    "binary_cross_entropy",
    _bce,
    lambda x, t: (x - t) / hardtanh_op(x * (1 - x), 1e-12, 1.0),
    lambda x, t: hardtanh_op(log1p(-x), -100.0, 0.0) - hardtanh_op(log(x), -100.0, 0.0),
)


def _bce_with_logits(xp: Any, x: Any, t: Any) -> Any:
    y = xp.log1p(xp.exp(-xp.abs(x)))
    y += xp.maximum(x, x.dtype.type(0))
    y -= x * t
    return y


bce_with_logits_op = pointwise_loss(
    "binary_cross_entropy_with_logits",
    "log_sigmoid_cpu",
    _bce_with_logits,
    lambda x, t: sigmoid(x) - t,
    lambda x, t: -x,
)
