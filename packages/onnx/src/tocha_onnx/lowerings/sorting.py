"""Sorting, order statistics and sorted searches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..builder import Array, Builder
from ..registry import lowering

NP_INT64 = np.dtype("int64")
LARGEST = {"float16": 65504.0, "bfloat16": 3.38953139e38, "float32": 3.40282347e38, "float64": 1.7976931348623157e308}


def ordered(b: Builder, x: Array, dim: int, k: Any, largest: bool) -> tuple[Array, Array]:
    """The first ``k`` elements in order and their places; of equal ones the first in the array, NaN as the largest."""
    key = b.cast(x, np.uint8) if x.dtype.kind == "b" else x
    if x.is_float:  # onnxruntime's order of NaN depends on where it stands
        key = b.Where(b.IsNaN(x), b.constant(math.inf, x.dtype), b.Min(x, LARGEST[x.dtype.name]))
    _, index = b.add("TopK", key, b.size(k), outputs=2, axis=dim, largest=int(largest), sorted=1)
    return b.GatherElements(x, index, axis=dim), index


@lowering("sort")
def sort(b: Builder, x: Array, dim: int, descending: bool, stable: bool) -> tuple[Array, Array]:
    if not x.rank:
        return x, b.constant(0, NP_INT64)
    return ordered(b, x, dim, x.shape[dim], descending)


@lowering("topk")
def topk(b: Builder, x: Array, dim: int, k: Any, largest: bool, in_order: bool) -> tuple[Array, Array]:
    if not x.rank:
        return x, b.constant(0, NP_INT64)
    return ordered(b, x, dim, k, largest)


def _at(b: Builder, x: Array, index: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The element at ``index``, which has size 1 in ``dim``, and the index."""
    value = b.GatherElements(x, index, axis=dim)
    return (value, index) if keepdim else (b.squeeze(value, (dim,)), b.squeeze(index, (dim,)))


@lowering("kthvalue")
def kthvalue(b: Builder, x: Array, dim: int, keepdim: bool, k: Any) -> tuple[Array, Array]:
    if not x.rank:
        return x, b.constant(0, NP_INT64)
    _, index = ordered(b, x, dim, k, False)
    return _at(b, x, b.slice(index, dim, k - 1, k), dim, keepdim)


@lowering("median")
def median(b: Builder, x: Array, dim: int, keepdim: bool, ignore_nan: bool) -> tuple[Array, Array]:
    if not x.rank:
        return x, b.constant(0, NP_INT64)
    n = x.shape[dim]
    _, index = ordered(b, x, dim, n, False)
    middle = (n - 1) // 2
    place = b.slice(index, dim, middle, middle + 1)
    if x.is_float:
        nan = b.cast(b.IsNaN(x), NP_INT64)
        count = b.reduce("ReduceSum", nan, (dim,), True)
        if ignore_nan:
            known = b.Sub(b.size(n), count)
            at = b.Max(b.Div(b.Sub(known, 1), 2), 0)
            place = b.GatherElements(index, at, axis=dim)
        else:
            place = b.Where(b.Greater(count, 0), b.ArgMax(nan, axis=dim, keepdims=1), place)
    return _at(b, x, place, dim, keepdim)


@lowering("mode")
def mode(b: Builder, x: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """Counts of each element among its row, n by n; then the smallest of the most frequent values, where it stands
    last."""
    if not x.rank:
        return x, b.constant(0, NP_INT64)
    equal = b.Equal(b.unsqueeze(x, (dim,)), b.unsqueeze(x, (dim + 1,)))
    count = b.reduce("ReduceSum", b.cast(equal, NP_INT64), (dim + 1,))
    frequent = b.Equal(count, b.reduce("ReduceMax", count, (dim,), True))
    _, index = ordered(b, x, dim, x.shape[dim], False)
    best = b.ArgMax(b.cast(b.GatherElements(frequent, index, axis=dim), np.int32), axis=dim, keepdims=1)
    value = b.GatherElements(x, b.GatherElements(index, best, axis=dim), axis=dim)
    last = b.ArgMax(b.cast(b.Equal(x, value), np.int32), axis=dim, keepdims=1, select_last_index=1)
    return _at(b, x, last, dim, keepdim)


@lowering("searchsorted")
def searchsorted(b: Builder, edges: Array, values: Array, right: bool) -> Array:
    """How many edges lie before each value: a comparison with each of them."""
    wanted = b.unsqueeze(values, (values.rank,))
    row = b.unsqueeze(edges, (edges.rank - 1,)) if edges.rank > 1 else edges
    before = b.LessOrEqual(row, wanted) if right else b.Less(row, wanted)
    return b.reduce("ReduceSum", b.cast(before, NP_INT64), (values.rank,))
