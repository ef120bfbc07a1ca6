"""Losses of class scores (N, C) against class indices (N,): negative log-likelihood and cross entropy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.families import half_as_float, operator
from .activation import NUMPY, gate
from .softmax import exponentials, softmax_op

ndarray = np.ndarray


def _weights(xp: Any, target: Any, weight: Any, ignore_index: int, dtype: Any) -> tuple[Any, Any]:
    """The class indices with ignored ones set to 0, and each row's weight."""
    safe, w = _plain_weights(xp, target, weight, ignore_index, dtype)
    return safe, xp.ones(target.shape, dtype) if w is None else w


def _plain_weights(xp: Any, target: Any, weight: Any, ignore_index: int, dtype: Any) -> tuple[Any, Any]:
    """The same, with None for weights that are all 1 (found out on the CPU only)."""
    ignored = target == ignore_index
    if xp is np and not ignored.any():
        return target, None if weight is None else weight[target]
    safe = xp.where(ignored, xp.zeros_like(target), target)
    w = xp.ones(target.shape, dtype) if weight is None else weight[safe]
    return safe, xp.where(ignored, xp.zeros_like(w), w)


def _reduced(losses: Any, total: Any, reduction: str) -> Any:
    if reduction == "none":
        return losses
    loss = losses.sum()
    return loss / total if reduction == "mean" else loss


def _loss_shape(target: Any, reduction: str) -> tuple:
    return target.shape if reduction == "none" else ()


# ---------------------------------------------------------------- negative log-likelihood


def _nll_kernel(xp: Any, x: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> tuple:
    safe, w = _weights(xp, target, weight, ignore_index, x.dtype)
    losses = -x[xp.arange(x.shape[0]), safe] * w
    losses = xp.where(target == ignore_index, xp.zeros((), x.dtype), losses)
    total = w.sum()
    return _reduced(losses, total, reduction), total


def _nll_rule(n: Any, g: Any) -> tuple:
    x, target, weight = n.saved
    ignore_index, reduction = n.attrs
    if reduction == "mean":
        g = g / (nll_total(x, target, weight, ignore_index) if n.aux is None or n.aux[0] is None else n.aux[0])
    return nll_backward(g, x, target, weight, ignore_index), None, None


nll_op = operator(
    "nll_loss",
    half_as_float(_nll_kernel),
    _nll_rule,
    lambda x, target, weight, ignore_index, reduction: [(_loss_shape(target, reduction), x.dtype), ((), x.dtype)],
    arity=3,
    save=(0, 1, 2),
    aux=1,
)


def _nll_total_kernel(xp: Any, x: Any, target: Any, weight: Any, ignore_index: int) -> Any:
    return _weights(xp, target, weight, ignore_index, x.dtype)[1].sum()


nll_total = operator(
    "nll_loss_total", half_as_float(_nll_total_kernel), None, lambda x, t, w, i: ((), x.dtype), arity=3
)


def _nll_backward_kernel(xp: Any, g: Any, x: Any, target: Any, weight: Any, ignore_index: int) -> Any:
    out = xp.zeros(x.shape, x.dtype)
    safe, w = _weights(xp, target, weight, ignore_index, x.dtype)
    out[xp.arange(x.shape[0]), safe] = -_scaled(xp, w, g)
    return out


def _scaled(xp: Any, w: Any, g: Any) -> Any:
    """``w * g``, 0 where ``w`` is: the gradient of a mean over nothing is infinite, but does not reach ignored rows."""
    return xp.where(w == 0, xp.zeros((), w.dtype), w * g)


def _nll_backward_rule(n: Any, gg: Any) -> tuple:
    target, weight = n.saved
    return nll_gather(gg, target, weight, n.attrs[0], len(n.shape) == 0), None, None, None


nll_backward = operator(
    "nll_loss_backward",
    half_as_float(_nll_backward_kernel),
    _nll_backward_rule,
    lambda g, x, t, w, i: (x.shape, x.dtype),
    arity=4,
    save=(2, 3),
    linear=True,
)


def _nll_gather_kernel(xp: Any, x: Any, target: Any, weight: Any, ignore_index: int, total: bool) -> Any:
    safe, w = _weights(xp, target, weight, ignore_index, x.dtype)
    picked = -(x[xp.arange(x.shape[0]), safe] * w)
    return picked.sum() if total else picked


def _nll_gather_rule(n: Any, g: Any) -> tuple:
    x, target, weight = n.saved
    return nll_backward(g, x, target, weight, n.attrs[0]), None, None


nll_gather = operator(
    "nll_loss_gather",
    half_as_float(_nll_gather_kernel),
    _nll_gather_rule,
    lambda x, t, w, i, total: (() if total else t.shape, x.dtype),
    arity=3,
    save=(0, 1, 2),
)

# ---------------------------------------------------------------- cross entropy


def _cross_entropy_kernel(xp: Any, x: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> tuple:
    """The loss, then for the rule: exp(x - m), its sums (N, 1), the sum of the weights."""
    safe, w = _plain_weights(xp, target, weight, ignore_index, x.dtype)
    if xp is np and x.size:
        e, s, m = exponentials(x, 1, True)
    else:
        m = x.max(1, keepdims=True) if x.size else xp.zeros((x.shape[0], 1), x.dtype)
        e = xp.exp(x - m)
        s = e.sum(1, keepdims=True)
    losses = xp.log(s[:, 0])
    if m is not None:
        losses += m[:, 0]
    losses -= x[xp.arange(x.shape[0]), safe]
    if w is None:
        total = x.dtype.type(x.shape[0])
    else:
        losses *= w
        total = w.sum()
        if safe is not target:
            losses = xp.where(target == ignore_index, xp.zeros((), x.dtype), losses)
    return _reduced(losses, total, reduction), e, s, total


def _cross_entropy_rule(n: Any, g: Any) -> tuple:
    x, target, weight = n.saved
    ignore_index, reduction = n.attrs
    if reduction == "mean":
        g = g / nll_total(x, target, weight, ignore_index)
    w = class_weights(x, target, weight, ignore_index)
    rows = gate(w * g, w != 0, None)
    p = softmax_op(x, 1) * operators["view"](rows, (rows.shape[0], 1))
    return p + nll_backward(g, x, target, weight, ignore_index), None, None


def _cross_entropy_backward(n: Any, g: Any) -> tuple:
    x, target, weight = n.saved
    ignore_index, reduction = n.attrs
    if type(g) not in NUMPY or n.aux is None or x.dtype.itemsize == 2:
        return _cross_entropy_rule(n, g)
    e, s, total = n.aux
    safe, w = _plain_weights(np, target, weight, ignore_index, x.dtype)
    if reduction == "mean":
        g = g / total
    if w is not None:
        w = _scaled(np, w, g)
    else:
        w = g if g.shape else np.full(x.shape[0], g, x.dtype)
    gx = e * (w[:, None] / s)
    gx[np.arange(x.shape[0]), safe] -= w
    return gx, None, None


def _cross_entropy_infer(x: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> list:
    return [(_loss_shape(target, reduction), x.dtype), (x.shape, x.dtype), ((x.shape[0], 1), x.dtype), ((), x.dtype)]


cross_entropy_op = operator(
    "cross_entropy",
    half_as_float(_cross_entropy_kernel),
    _cross_entropy_rule,
    _cross_entropy_infer,
    arity=3,
    save=(0, 1, 2),
    aux=3,
)
cross_entropy_op.op.backward = _cross_entropy_backward  # type: ignore[attr-defined]


def _class_weights_kernel(xp: Any, x: Any, target: Any, weight: Any, ignore_index: int) -> Any:
    return _weights(xp, target, weight, ignore_index, x.dtype)[1]


class_weights = operator(
    "class_weights", half_as_float(_class_weights_kernel), None, lambda x, t, w, i: (t.shape, x.dtype), arity=3
)
