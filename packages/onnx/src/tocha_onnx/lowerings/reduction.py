"""Reductions, running sums and products, extrema and their places."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..builder import Array, Builder
from ..registry import lowering

NP_INT64, NP_FLOAT32, NP_BOOL = np.dtype("int64"), np.dtype("float32"), np.dtype("bool")


def wide(x: Array) -> np.dtype:
    """The type that sums and products are computed in: int64, or float32 for the half types."""
    return NP_INT64 if x.dtype.kind in "biu" else NP_FLOAT32 if x.dtype.itemsize == 2 else x.dtype


def _summed(b: Builder, op: str, x: Array, dims: Any, keepdim: bool) -> Array:
    result = b.reduce(op, b.cast(x, wide(x)), dims, keepdim)
    return result if x.dtype.kind in "biu" else b.cast(result, x.dtype)


@lowering("sum")
def sum_(b: Builder, x: Array, dims: Any, keepdim: bool) -> Array:
    return _summed(b, "ReduceSum", x, dims, keepdim)


@lowering("prod")
def prod(b: Builder, x: Array, dims: Any, keepdim: bool) -> Array:
    return _summed(b, "ReduceProd", x, dims, keepdim)


@lowering("any")
def any_(b: Builder, x: Array, dims: Any, keepdim: bool) -> Array:
    found = b.reduce("ReduceSum", b.cast(b.cast(x, NP_BOOL), NP_INT64), dims, keepdim)
    return b.cast(b.cast(found, NP_BOOL), np.uint8 if x.dtype == np.uint8 else NP_BOOL)


@lowering("all")
def all_(b: Builder, x: Array, dims: Any, keepdim: bool) -> Array:
    missing = b.reduce("ReduceSum", b.cast(b.Not(b.cast(x, NP_BOOL)), NP_INT64), dims, keepdim)
    return b.cast(b.Equal(missing, 0), np.uint8 if x.dtype == np.uint8 else NP_BOOL)


def _extreme(b: Builder, op: str, x: Array, dims: Any, keepdim: bool) -> Array:
    if not x.rank:
        return x
    y = b.cast(x, np.int32) if x.dtype.kind == "b" else x
    return b.cast(b.reduce(op, y, dims, keepdim), x.dtype)


@lowering("amax")
def amax(b: Builder, x: Array, dims: Any, keepdim: bool) -> Array:
    return _extreme(b, "ReduceMax", x, dims, keepdim)


@lowering("amin")
def amin(b: Builder, x: Array, dims: Any, keepdim: bool) -> Array:
    return _extreme(b, "ReduceMin", x, dims, keepdim)


def _place(b: Builder, op: str, x: Array, dim: int | None, keepdim: bool) -> Array:
    if not x.rank:
        return b.constant(0, NP_INT64)
    y = b.cast(x, np.int32) if x.dtype.kind == "b" else x
    if dim is not None:
        return b.add(op, y, axis=dim, keepdims=int(keepdim))
    flat = b.Reshape(y, np.array([-1], np.int64))
    found = b.add(op, flat, axis=0, keepdims=0)
    return b.Reshape(found, np.ones(x.rank, np.int64)) if keepdim else found


@lowering("argmax")
def argmax(b: Builder, x: Array, dim: int | None, keepdim: bool) -> Array:
    return _place(b, "ArgMax", x, dim, keepdim)


@lowering("argmin")
def argmin(b: Builder, x: Array, dim: int | None, keepdim: bool) -> Array:
    return _place(b, "ArgMin", x, dim, keepdim)


def _with_place(name: str, value: Callable) -> None:
    @lowering(f"{name}_dim")
    def lower(b: Builder, x: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
        place = _place(b, "ArgMax" if name == "max" else "ArgMin", x, dim, keepdim)
        return value(b, x, (dim,), keepdim), place


_with_place("max", amax)
_with_place("min", amin)


# ---------------------------------------------------------------- running sums and products


@lowering("cumsum")
def cumsum(b: Builder, x: Array, dim: int, reverse: bool) -> Array:
    y = b.cast(x, wide(x))
    if x.rank:
        y = b.CumSum(y, b.constant(dim, NP_INT64), reverse=int(reverse))
    return y if x.dtype.kind in "biu" else b.cast(y, x.dtype)


def _triangle(b: Builder, x: Array, y: Array, dim: int, reverse: bool, outside: float) -> Array:
    """Row i of a new dimension ``dim`` holds the elements up to i along ``dim + 1``, and ``outside`` after them."""
    n = x.shape[dim]
    row, column = b.unsqueeze(b.range(n), (1,)), b.unsqueeze(b.range(n), (0,))
    inside = b.GreaterOrEqual(column, row) if reverse else b.LessOrEqual(column, row)
    inside = b.unsqueeze(inside, list(range(2, 2 + x.rank - dim - 1)))
    return b.Where(inside, b.unsqueeze(y, (dim,)), b.constant(outside, y.dtype))


# ONNX has no running product, maximum or logarithm of sums before opset 26: rows of a triangle, each reduced.


@lowering("cumprod")
def cumprod(b: Builder, x: Array, dim: int, reverse: bool) -> Array:
    y = b.cast(x, wide(x))
    if x.rank:
        y = b.reduce("ReduceProd", _triangle(b, x, y, dim, reverse, 1), (dim + 1,))
    return y if x.dtype.kind in "biu" else b.cast(y, x.dtype)


@lowering("cummax")
def cummax(b: Builder, x: Array, dim: int, largest: bool) -> tuple[Array, Array]:
    if not x.rank:
        return x, b.constant(0, NP_INT64)
    y = b.cast(x, np.int32) if x.dtype.kind == "b" else b.cast(x, NP_FLOAT32) if x.dtype.kind == "V" else x
    limit = np.finfo(y.dtype) if y.is_float else np.iinfo(y.dtype)
    outside = (-math.inf if largest else math.inf) if y.is_float else limit.min if largest else limit.max
    rows = _triangle(b, x, y, dim, False, outside)
    value = b.reduce("ReduceMax" if largest else "ReduceMin", rows, (dim + 1,))
    place = b.add("ArgMax" if largest else "ArgMin", rows, axis=dim + 1, keepdims=0, select_last_index=1)
    return b.cast(value, x.dtype), place


@lowering("logcumsumexp")
def logcumsumexp(b: Builder, x: Array, dim: int, reverse: bool) -> Array:
    if not x.rank:
        return x
    y = b.cast(x, wide(x))
    rows = _triangle(b, x, y, dim, reverse, -math.inf)
    top = b.reduce("ReduceMax", rows, (dim + 1,), True)
    top = b.Where(b.Less(b.Abs(top), math.inf), top, b.constant(0, y.dtype))
    total = b.Log(b.reduce("ReduceSum", b.Exp(b.Sub(rows, top)), (dim + 1,)))
    return b.cast(b.Add(total, b.squeeze(top, (dim + 1,))), x.dtype)
