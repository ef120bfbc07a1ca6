"""Connectionist temporal classification: the forward recursion as a loop over the steps."""

from __future__ import annotations

import math

import numpy as np

from ..builder import Array, Builder
from ..registry import lowering, unsupported

NP_INT64 = np.dtype("int64")


def _log_sum(b: Builder, a: Array, x: Array, y: Array) -> Array:
    top = b.Max(b.Max(a, x), y)
    top = b.Where(b.Equal(top, -math.inf), b.constant(0, a.dtype), top)
    total = b.Add(b.Add(b.Exp(b.Sub(a, top)), b.Exp(b.Sub(x, top))), b.Exp(b.Sub(y, top)))
    return b.Add(b.Log(total), top)


def _shifted(b: Builder, a: Array, by: int) -> Array:
    """``a`` moved by some places along its last dimension, with minus infinity where nothing comes from."""
    kept = b.slice(a, 1, 0, -by)
    return b.Pad(kept, b.constant(np.array([0, by, 0, 0], np.int64)), b.constant(-math.inf, a.dtype))


@lowering("ctc_loss")
def ctc_loss(
    b: Builder,
    logp: Array,
    targets: Array,
    input_lengths: tuple,
    target_lengths: tuple,
    blank: int,
    zero_infinity: bool,
) -> Array:
    dtype = logp.dtype
    steps, count, _ = logp.shape
    length = targets.shape[1]
    never, zero = b.constant(-math.inf, dtype), b.constant(0, dtype)
    wide = b.cast(targets, NP_INT64)
    blanks = b.Add(b.Mul(wide, 0), blank)
    pairs = b.Reshape(
        b.Concat(b.unsqueeze(blanks, (2,)), b.unsqueeze(wide, (2,)), axis=2), b.sizes((count, length * 2))
    )
    labels = b.Concat(pairs, b.full((count, 1), blank, NP_INT64), axis=1)
    before = b.Concat(b.full((count, 2), blank, NP_INT64), b.slice(labels, 1, 0, -2), axis=1)
    free = b.And(b.Not(b.Equal(labels, blank)), b.Not(b.Equal(labels, before)))
    skip = b.Where(b.And(free, b.GreaterOrEqual(b.range(length * 2 + 1), 2)), zero, never)
    index = b.expand(b.unsqueeze(labels, (0,)), (steps, count, length * 2 + 1))
    emissions = b.GatherElements(logp, index, axis=2)
    last = b.constant(np.array(input_lengths, np.int64)[:, None] - 1)
    first = b.Where(b.Less(b.range(length * 2 + 1), 2), b.Gather(emissions, b.constant(0, NP_INT64), axis=0), never)

    def body(c: Builder, i: Array, a: Array, final: Array) -> tuple[Array, Array]:
        t = c.Add(i, 1)
        a = c.Add(_log_sum(c, a, _shifted(c, a, 1), c.Add(_shifted(c, a, 2), skip)), c.Gather(emissions, t, axis=0))
        return a, c.Where(c.Equal(last, t), a, final)

    _, final = b.loop(b.scalar(steps - 1), (first, first), body)
    end = np.array(target_lengths, np.int64)[:, None] * 2
    whole = b.GatherElements(final, b.constant(end), axis=1)
    partial = b.GatherElements(final, b.constant(np.maximum(end - 1, 0)), axis=1)
    partial = b.Where(b.constant(end > 0), partial, never)
    loss = b.Neg(_log_sum(b, whole, partial, b.Add(b.Mul(b.Where(b.Equal(whole, -math.inf), zero, whole), 0), never)))
    loss = b.Where(b.GreaterOrEqual(last, 0), loss, b.Where(b.constant(end == 0), zero, b.constant(math.inf, dtype)))
    if zero_infinity:
        loss = b.Where(b.Equal(loss, math.inf), zero, loss)
    return b.squeeze(loss, (1,))


unsupported(
    "the gradient of the CTC loss is one operator here and none in ONNX: export the forward graph",
    "ctc_loss_backward", "ctc_loss_states",
)  # fmt: skip
