"""Scaled dot-product attention."""

from __future__ import annotations

import math

import numpy as np

from ..builder import Array, Builder
from ..registry import lowering

NP_FLOAT32 = np.dtype("float32")


def _causal(b: Builder, q: Array, k: Array) -> Array:
    """True where a query sees a key: keys up to its own position."""
    rows, columns = b.unsqueeze(b.range(q.shape[-2]), (1,)), b.unsqueeze(b.range(k.shape[-2]), (0,))
    return b.LessOrEqual(columns, rows)


def _bias(b: Builder, q: Array, k: Array, mask: Array | None, causal: bool, dtype: np.dtype) -> Array | None:
    """What is added to the scores: -inf where a query may not look."""
    zero, never = b.constant(0, dtype), b.constant(-math.inf, dtype)
    bias = None if mask is None else (b.Where(mask, zero, never) if mask.dtype.kind == "b" else b.cast(mask, dtype))
    if causal:
        below = b.Where(_causal(b, q, k), zero, never)
        bias = below if bias is None else b.Add(bias, below)
    return bias


@lowering("attention_bias")
def attention_bias(b: Builder, q: Array, k: Array, mask: Array | None, causal: bool) -> Array:
    bias = _bias(b, q, k, mask, causal, q.dtype)
    return b.zeros((q.shape[-2], k.shape[-2]), q.dtype) if bias is None else bias


@lowering("scaled_dot_product_attention")
def attention(
    b: Builder, q: Array, k: Array, v: Array, mask: Array | None, drop: Array | None, causal: bool, scale: float
) -> Array:
    dtype = q.dtype
    wide = NP_FLOAT32 if dtype.itemsize == 2 else dtype
    q, k, v = b.cast(q, wide), b.cast(k, wide), b.cast(v, wide)
    keys = b.transpose(k, (*range(k.rank - 2), k.rank - 1, k.rank - 2))
    scores = b.MatMul(b.Mul(q, b.scalar(scale, wide)), keys)
    bias = _bias(b, q, k, mask, causal, wide)
    if bias is not None:
        scores = b.Add(scores, bias)
    weights = b.Softmax(scores, axis=-1)
    if mask is not None:  # rows that see nothing are 0, not NaN
        weights = b.Where(b.IsNaN(weights), b.constant(0, wide), weights)
    if drop is not None:
        weights = b.Mul(weights, b.cast(drop, wide))
    return b.cast(b.MatMul(weights, v), dtype)


@lowering("attention_sight")
def attention_sight(b: Builder, mask: Array) -> Array:
    seen = mask if mask.dtype.kind == "b" else b.Greater(mask, -math.inf)
    count = b.reduce("ReduceSum", b.cast(seen, np.int64), (mask.rank - 1,), True)
    return b.Greater(count, 0)
