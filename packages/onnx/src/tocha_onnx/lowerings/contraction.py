"""Products of matrices, and tables of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import Array, Builder
from ..registry import lowering


@lowering("matmul")
def matmul(b: Builder, x: Array, y: Array) -> Array:
    return b.MatMul(x, y)


@lowering("linear")
def linear(b: Builder, x: Array, weight: Array, bias: Array | None) -> Array:
    if x.rank == 2 and x.is_float:
        return b.Gemm(x, weight, bias, transB=1) if bias is not None else b.Gemm(x, weight, transB=1)
    product = b.MatMul(x, b.transpose(weight, (1, 0)))
    return product if bias is None else b.Add(product, bias)


@lowering("embedding")
def embedding(b: Builder, weight: Array, index: Array, padding_idx: int, by_frequency: bool) -> Array:
    return b.Gather(weight, _index(b, index), axis=0)


@lowering("embedding_backward")
def embedding_backward(b: Builder, g: Array, index: Array, rows: Any, padding_idx: int, by_frequency: bool) -> Array:
    zeros = b.zeros((rows, g.shape[-1]), g.dtype)
    places = b.unsqueeze(_index(b, index), (index.rank,))
    if by_frequency:
        g = b.Div(g, b.unsqueeze(b.cast(_frequency(b, index, rows), g.dtype), (index.rank,)))
    summed = b.ScatterND(zeros, places, g, reduction="add")
    if padding_idx < 0:
        return summed
    kept = b.Not(b.Equal(b.unsqueeze(b.range(rows), (1,)), padding_idx))
    return b.Where(kept, summed, b.constant(0, g.dtype))


def _frequency(b: Builder, index: Array, rows: Any) -> Array:
    """How often each index occurs among all of them."""
    flat = b.Reshape(_index(b, index), b.sizes((-1,)))
    ones = b.same_shape(b.constant(1, np.int64), flat)
    counts = b.ScatterElements(b.zeros((rows,), np.int64), flat, ones, axis=0, reduction="add")
    return b.Gather(counts, _index(b, index), axis=0)


@lowering("embedding_weights")
def embedding_weights(b: Builder, g: Array, index: Array, rows: Any, padding_idx: int, by_frequency: bool) -> Array:
    weights = b.cast(b.Not(b.Equal(index, padding_idx)), g.dtype)
    return b.Div(weights, b.cast(_frequency(b, index, rows), g.dtype)) if by_frequency else weights


def _index(b: Builder, index: Array) -> Array:
    return index if index.dtype in (np.int32, np.int64) else b.cast(index, np.int64)
