"""Indexing by integer arrays: reading and writing by position, and along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from tocha.onnx.tracing import broadcast_shapes

from ..builder import Array, Builder
from ..registry import Unsupported, lowering

NP_INT64 = np.dtype("int64")


# ---------------------------------------------------------------- x[i, j] with arrays i and j


def _coordinates(b: Builder, indices: tuple) -> tuple[Array, tuple]:
    """The indices side by side in a last dimension, and their common shape."""
    shape = broadcast_shapes(*[i.shape for i in indices])
    columns = []
    for i in indices:
        wide = b.expand(b.cast(i, NP_INT64), shape)
        columns.append(b.unsqueeze(wide, (len(shape),)))
    return (columns[0] if len(columns) == 1 else b.Concat(*columns, axis=len(shape))), shape


def _first(rank: int, positions: tuple) -> tuple[int, ...]:
    """The order of dimensions that has the indexed ones first."""
    return (*positions, *[d for d in range(rank) if d not in positions])


def _place(positions: tuple) -> int:
    """Where the dimensions of the indices go in the result."""
    adjacent = positions == tuple(range(positions[0], positions[0] + len(positions)))
    return positions[0] if adjacent else 0


def _moved_back(rank_of_index: int, rank: int, at: int) -> tuple[int, ...]:
    """The order that moves the index dimensions of a gathered array from the front to ``at``."""
    before = tuple(range(rank_of_index, rank_of_index + at))
    return (*before, *range(rank_of_index), *range(rank_of_index + at, rank))


@lowering("index")
def index(b: Builder, xs: tuple, positions: tuple) -> Array:
    x, indices = xs[0], xs[1:]
    if len(indices) == 1:
        return b.Gather(x, b.cast(indices[0], NP_INT64), axis=positions[0])
    coordinates, shape = _coordinates(b, indices)
    gathered = b.GatherND(b.transpose(x, _first(x.rank, positions)), coordinates)
    rank = len(shape) + x.rank - len(positions)
    return b.transpose(gathered, _moved_back(len(shape), rank, _place(positions)))


def scattered(b: Builder, base: Array, value: Array, positions: tuple, indices: tuple, reduction: str | None) -> Array:
    """``base`` with ``value``, of the shape that indexing gives, written or added at the indices."""
    coordinates, shape = _coordinates(b, indices)
    rank = len(shape) + base.rank - len(positions)
    order = _moved_back(len(shape), rank, _place(positions))
    value = b.transpose(value, tuple(np.argsort(order)))
    first = _first(base.rank, positions)
    written = b.ScatterND(b.transpose(base, first), coordinates, value, reduction=reduction)
    return b.transpose(written, tuple(np.argsort(first)))


@lowering("index_put")
def index_put(b: Builder, xs: tuple, positions: tuple, accumulate: bool) -> Array:
    x, value, indices = xs[0], xs[1], xs[2:]
    shape = broadcast_shapes(*[i.shape for i in indices])
    rest = [n for d, n in enumerate(x.shape) if d not in positions]
    at = _place(positions)
    value = b.expand(value, (*rest[:at], *shape, *rest[at:]))
    return scattered(b, x, value, positions, indices, "add" if accumulate else None)


@lowering("index_backward")
def index_backward(b: Builder, xs: tuple, shape: tuple, positions: tuple) -> Array:
    g, indices = xs[0], xs[1:]
    base = b.zeros(shape, g.dtype)
    base.shape = tuple(shape)
    return scattered(b, base, g, positions, indices, "add")


@lowering("nonzero")
def nonzero(b: Builder, x: Array) -> Array:
    return b.transpose(b.NonZero(lifted(b, x)), (1, 0))


# ---------------------------------------------------------------- along a dimension


def lifted(b: Builder, x: Array) -> Array:
    """A 0-d array as one of one element."""
    return x if x.rank else b.reshape(x, (1,))


@lowering("gather")
def gather(b: Builder, x: Array, index: Array, dim: int) -> Array:
    if x.rank and index.rank and x.rank != index.rank:  # PyTorch takes an empty index of any rank
        return b.zeros(index.shape, x.dtype)
    result = b.GatherElements(lifted(b, x), b.cast(lifted(b, index), NP_INT64), axis=dim)
    return result if index.rank else b.squeeze(result, (0,))


def _window(b: Builder, source: Array, index: Array) -> Array:
    """The part of ``source`` that ``index`` covers."""
    if b.shapes.same(source.shape, index.shape) or not source.rank:
        return source
    axes = list(range(source.rank))
    return b.Slice(source, b.sizes([0] * len(axes)), b.sizes(index.shape), b.sizes(axes))


def _scatter(b: Builder, x: Array, index: Array, source: Array, dim: int, reduction: str | None) -> Array:
    if reduction in ("max", "min") and b.opset < 18:
        raise Unsupported(f"ONNX scatters the {reduction}imum from opset 18 on")
    rank, dtype = x.rank, x.dtype
    if reduction == "add" and dtype.kind == "b":
        x, source = b.cast(x, np.int32), Array(b.cast(source, np.int32).name, np.dtype(np.int32), source.shape)
    window = _window(b, source, index)
    window = Array(window.name, window.dtype, index.shape)
    out = b.ScatterElements(
        lifted(b, x), b.cast(lifted(b, index), NP_INT64), lifted(b, window), axis=dim, reduction=reduction
    )
    out = out if rank else b.squeeze(out, (0,))
    return b.cast(out, dtype)


@lowering("scatter")
def scatter(b: Builder, x: Array, index: Array, source: Array, dim: int, *_: Any) -> Array:
    return _scatter(b, x, index, source, dim, None)


@lowering("scatter_add")
def scatter_add(b: Builder, x: Array, index: Array, source: Array, dim: int, *_: Any) -> Array:
    return _scatter(b, x, index, source, dim, "add")


@lowering("scatter_reduce")
def scatter_reduce(b: Builder, x: Array, index: Array, source: Array, dim: int, kind: str, *_: Any) -> Array:
    return _scatter(b, x, index, source, dim, {"prod": "mul", "amax": "max", "amin": "min"}[kind])


@lowering("gather_backward")
def gather_backward(b: Builder, g: Array, index: Array, dim: int, shape: tuple) -> Array:
    base = b.zeros(shape, g.dtype)
    base.shape = tuple(shape)
    return _scatter(b, base, index, g, dim, "add")


# ---------------------------------------------------------------- pixels of images, by their place in the flattened
# image


def _pixels(b: Builder, x: Array) -> Array:
    return b.Reshape(x, b.constant(np.array([0, 0, -1], np.int64)))


@lowering("pick_pixels")
def pick_pixels(b: Builder, x: Array, indices: Array) -> Array:
    return b.reshape(b.GatherElements(_pixels(b, x), _pixels(b, indices), axis=2), indices.shape)


def _put(b: Builder, x: Array, indices: Array, size: tuple, reduction: str | None) -> Array:
    shape = (*x.shape[:2], *size)
    zeros = _pixels(b, b.zeros(shape, x.dtype))
    return b.reshape(b.ScatterElements(zeros, _pixels(b, indices), _pixels(b, x), axis=2, reduction=reduction), shape)


@lowering("put_pixels")
def put_pixels(b: Builder, x: Array, indices: Array, size: tuple) -> Array:
    return _put(b, x, indices, size, "add")


@lowering("max_unpool")
def max_unpool(b: Builder, x: Array, indices: Array, size: tuple) -> Array:
    return _put(b, x, indices, size, None)
