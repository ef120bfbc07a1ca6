"""Connectionist temporal classification (Graves et al., https://www.cs.toronto.edu/~graves/icml_2006.pdf).

All sequences of a batch go through the recursions together. A target becomes labels with blanks between and around
them; log alpha and log beta are the logarithms of the chances to have reached, and to finish from, each label.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.families import operator
from .activation import not_implemented


def _labels(xp: Any, targets: Any, blank: int) -> tuple[Any, Any]:
    """Targets (N, S) with blanks (N, 2S + 1), and where a label may follow the last but one (0, or minus infinity)."""
    count, length = targets.shape
    labels = xp.full((count, 2 * length + 1), blank, np.int64)
    labels[:, 1::2] = targets
    skip = xp.full(labels.shape, -np.inf)
    skip[:, 2:] = xp.where((labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2]), 0.0, -np.inf)
    return labels, skip


def _log_sum(xp: Any, a: Any, b: Any, c: Any) -> Any:
    """``log(exp(a) + exp(b) + exp(c))``; minus infinity where all are."""
    m = xp.maximum(xp.maximum(a, b), c)
    m = xp.where(m == -np.inf, xp.zeros_like(m), m)
    return xp.log(xp.exp(a - m) + xp.exp(b - m) + xp.exp(c - m)) + m


def _shifted(xp: Any, a: Any, by: int) -> Any:
    """``a`` moved along its last dimension, with minus infinity where nothing comes from."""
    out = xp.full(a.shape, -np.inf, a.dtype)
    if by > 0:
        out[:, by:] = a[:, : a.shape[1] - by]
    else:
        out[:, :by] = a[:, -by:]
    return out


def _emissions(xp: Any, logp: Any, labels: Any) -> Any:
    """The log-probability of each label at each time, (T, N, 2S + 1)."""
    return logp[:, xp.arange(labels.shape[0])[:, None], labels]


def _kernel(
    xp: Any, logp: Any, targets: Any, input_lengths: tuple, target_lengths: tuple, blank: int, zero_infinity: bool
) -> tuple:
    """The negative log-likelihoods (N), then for the rule log alpha (T, N, 2S + 1)."""
    if not (logp.dtype.kind == "f" and logp.dtype.itemsize > 2):
        raise not_implemented("ctc_loss_cpu", logp.dtype)
    steps, count, _ = logp.shape
    labels, skip = _labels(xp, targets, blank)
    skip = skip.astype(logp.dtype)
    emissions = _emissions(xp, logp, labels)
    alpha = xp.full(emissions.shape, -np.inf, logp.dtype)
    if steps:
        alpha[0, :, :2] = emissions[0, :, :2]
    for t in range(1, steps):
        a = alpha[t - 1]
        alpha[t] = _log_sum(xp, a, _shifted(xp, a, 1), _shifted(xp, a, 2) + skip) + emissions[t]
    rows, last = xp.arange(count), xp.asarray(input_lengths) - 1
    end = 2 * xp.asarray(target_lengths)
    if steps:
        whole = alpha[last, rows, end]
        before = xp.where(end > 0, alpha[last, rows, xp.maximum(end - 1, 0)], -np.inf).astype(logp.dtype)
        loss = -xp.logaddexp(whole, before)
    else:
        loss = xp.full(count, np.inf, logp.dtype)
    # without input only an empty target is likely
    loss = xp.where(last >= 0, loss, xp.where(end == 0, 0.0, np.inf)).astype(logp.dtype)
    if zero_infinity:
        return xp.where(loss == np.inf, xp.zeros_like(loss), loss), alpha, loss
    return loss, alpha, loss


def _backward_kernel(
    xp: Any, g: Any, logp: Any, targets: Any, alpha: Any, loss: Any, input_lengths: tuple, target_lengths: tuple,
    blank: int, zero_infinity: bool,
) -> Any:  # fmt: skip
    """``exp(logp) - posterior``: the gradient by the scores that ``logp`` is the log_softmax of, as PyTorch gives
    it."""
    steps, count, classes = logp.shape
    labels, skip = _labels(xp, targets, blank)
    skip = skip.astype(logp.dtype)
    emissions = _emissions(xp, logp, labels)
    rows, end = xp.arange(count), 2 * xp.asarray(target_lengths)
    lengths = xp.asarray(input_lengths)
    # what may follow: the last but one label forward skips to where that one allows it
    ahead = xp.full(skip.shape, -np.inf, logp.dtype)
    ahead[:, :-2] = skip[:, 2:]
    beta = xp.full(labels.shape, -np.inf, logp.dtype)
    start = xp.full(labels.shape, -np.inf, logp.dtype)
    start[rows, end] = 0
    start[rows, xp.maximum(end - 1, 0)] = 0
    posterior = xp.zeros((steps, count, classes), logp.dtype)
    for t in range(steps - 1, -1, -1):
        follow = _log_sum(xp, beta, _shifted(xp, beta, -1), _shifted(xp, beta, -2) + ahead)
        follow = xp.where((lengths - 1 == t)[:, None], start, follow)
        chance = xp.exp(alpha[t] + follow + loss[:, None])
        xp.add.at(posterior[t], (rows[:, None], labels), chance)
        beta = follow + emissions[t]
    out = xp.exp(logp) - posterior
    out = xp.where((loss == np.inf)[:, None], out.dtype.type(0 if zero_infinity else np.nan), out)
    out = xp.where((xp.arange(steps)[:, None] < lengths)[:, :, None], out, xp.zeros_like(out))
    return (out * g[:, None]).astype(logp.dtype)


def _no_second_derivative(n: Any, g: Any) -> tuple:
    raise RuntimeError("derivative for aten::_ctc_loss_backward is not implemented")


ctc_backward = operator(
    "ctc_loss_backward",
    _backward_kernel,
    _no_second_derivative,
    lambda g, logp, *rest: (logp.shape, logp.dtype),
    arity=5,
)


def _rule(n: Any, g: Any) -> tuple:
    logp, targets = n.saved
    if n.aux is not None:
        alpha, loss = n.aux
    else:
        alpha, loss = ctc_states(logp, targets, *n.attrs)
    return ctc_backward(g, logp, targets, alpha, loss, *n.attrs), None


def _infer(logp: Any, targets: Any, *rest: Any) -> list:
    steps, count = logp.shape[:2]
    return [((count,), logp.dtype), ((steps, count, 2 * targets.shape[1] + 1), logp.dtype), ((count,), logp.dtype)]


ctc_op = operator("ctc_loss", _kernel, _rule, _infer, arity=2, save=(0, 1), aux=2)
ctc_states = operator(
    "ctc_loss_states",
    lambda xp, *args: _kernel(xp, *args)[1:],
    None,
    lambda *args: _infer(*args)[1:],
    arity=2,
    outputs=2,
)
ctc_states.__doc__ = "What ``ctc_loss`` keeps for its gradient, for when it was not kept."
