"""Loss operators whose rule is better than that of their decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.families import half_as_float, operator

ndarray = np.ndarray


def _weights(xp: Any, target: Any, weight: Any, ignore_index: int, dtype: Any) -> tuple[Any, Any]:
    """The class indices with ignored ones set to 0, and each row's weight."""
    ignored = target == ignore_index
    safe = xp.where(ignored, xp.zeros_like(target), target)
    w = xp.ones(target.shape, dtype) if weight is None else weight[safe]
    return safe, xp.where(ignored, xp.zeros_like(w), w)


def _nll_kernel(xp: Any, x: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> tuple:
    """``x`` (N, C) of log-probabilities, ``target`` (N,) of classes."""
    rows = xp.arange(x.shape[0])
    safe, w = _weights(xp, target, weight, ignore_index, x.dtype)
    losses = -(x[rows, safe] * w)
    total = w.sum()
    if reduction == "none":
        return xp.where(w == 0, xp.zeros_like(losses), losses) if weight is None else losses, total
    loss = losses.sum()
    return (loss / total if reduction == "mean" else loss), total


def _nll_rule(n: Any, g: Any) -> tuple:
    x, target, weight = n.saved
    ignore_index, reduction = n.attrs
    if n.aux is not None:
        total = n.aux[0]
    else:
        total = nll_total(x, target, weight, ignore_index)
    if reduction == "mean":
        g = g / total
    return nll_backward(g, x, target, weight, ignore_index), None, None


def _nll_infer(x: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> list:
    return [(target.shape if reduction == "none" else (), x.dtype), ((), x.dtype)]


nll_op = operator("nll_loss", half_as_float(_nll_kernel), _nll_rule, _nll_infer, arity=3, save=(0, 1, 2), aux=1)


def _nll_total_kernel(xp: Any, x: Any, target: Any, weight: Any, ignore_index: int) -> Any:
    return _weights(xp, target, weight, ignore_index, x.dtype)[1].sum()


nll_total = operator("nll_loss_total", half_as_float(_nll_total_kernel), None, lambda x, t, w, i: ((), x.dtype), arity=3)


def _nll_backward_kernel(xp: Any, g: Any, x: Any, target: Any, weight: Any, ignore_index: int) -> Any:
    out = xp.zeros(x.shape, x.dtype)
    safe, w = _weights(xp, target, weight, ignore_index, x.dtype)
    out[xp.arange(x.shape[0]), safe] = -(w * g)
    return out


def _nll_backward_rule(n: Any, gg: Any) -> tuple:
    target, weight = n.saved
    ignore_index = n.attrs[0]
    return nll_gather(gg, target, weight, ignore_index, len(n.shape) == 0), None, None, None


nll_backward = operator(
    "nll_loss_backward", half_as_float(_nll_backward_kernel), _nll_backward_rule, lambda g, x, t, w, i: (x.shape, x.dtype), arity=4, save=(2, 3), linear=True
)


def _nll_gather_kernel(xp: Any, x: Any, target: Any, weight: Any, ignore_index: int, total: bool) -> Any:
    safe, w = _weights(xp, target, weight, ignore_index, x.dtype)
    picked = -(x[xp.arange(x.shape[0]), safe] * w)
    return picked.sum() if total else picked


def _nll_gather_rule(n: Any, g: Any) -> tuple:
    x, target, weight = n.saved
    return nll_backward(g, x, target, weight, n.attrs[0]), None, None


nll_gather = operator(
    "nll_loss_gather", half_as_float(_nll_gather_kernel), _nll_gather_rule,
    lambda x, t, w, i, total: (() if total else t.shape, x.dtype), arity=3, save=(0, 1, 2),
)  # fmt: skip
