"""Parts and rearrangements: splits, diagonals, windows, strides, rolls, triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import INT64_MAX, Array, Builder
from ..registry import lowering, unsupported
from .indexing import scattered
from .movement import view_inverse

NP_INT64 = np.dtype("int64")


@lowering("zeros_like")
def zeros_like(b: Builder, x: Array) -> Array:
    return b.zeros(x.shape, x.dtype)


@lowering("ones_like")
def ones_like(b: Builder, x: Array) -> Array:
    return b.full(x.shape, 1, x.dtype)


@lowering("grid_nearest_weight", "tie")
def tie(b: Builder, y: Array, x: Array) -> Array:
    return y


@lowering("split")
def split(b: Builder, x: Array, dim: int, sizes: tuple) -> tuple[Array, ...]:
    if len(sizes) == 1:
        return (x,)
    return b.add("Split", x, b.sizes(sizes), outputs=len(sizes), axis=dim)


# ---------------------------------------------------------------- diagonals


def _matrices_last(rank: int, dim1: int, dim2: int) -> tuple[int, ...]:
    return (*[d for d in range(rank) if d not in (dim1, dim2)], dim1, dim2)


def _length(b: Builder, rows: Any, columns: Any, offset: int) -> Any:
    """The number of elements of a diagonal, as a 0-d array where it is not a number."""
    first, second = (rows, columns - offset) if offset >= 0 else (rows + offset, columns)
    if isinstance(first, int) and isinstance(second, int):
        return max(0, min(first, second))
    return b.Max(b.Min(b.scalar(first), b.scalar(second)), 0)


@lowering("diagonal")
def diagonal(b: Builder, x: Array, offset: int, dim1: int, dim2: int) -> Array:
    rows, columns = x.shape[dim1], x.shape[dim2]
    length = _length(b, rows, columns, offset)
    steps = b.range(length) if isinstance(length, int) else b.Range(b.scalar(0), length, b.scalar(1))
    place = b.Add(b.Mul(steps, b.scalar(columns + 1)), b.scalar(offset if offset >= 0 else -offset * columns))
    moved = b.transpose(x, _matrices_last(x.rank, dim1, dim2))
    rest = [n for d, n in enumerate(x.shape) if d not in (dim1, dim2)]
    return b.Gather(b.reshape(moved, (*rest, rows * columns)), place, axis=len(rest))


def _onto_diagonal(b: Builder, base: Array, g: Array, offset: int, dim1: int, dim2: int) -> Array:
    """``base`` with ``g`` on a diagonal."""
    rank = len(base.shape)
    rows, columns = b.range(base.shape[dim1]), b.range(base.shape[dim2])
    mask = b.Equal(b.Sub(b.unsqueeze(columns, (0,)), b.unsqueeze(rows, (1,))), offset)
    row = b.unsqueeze(b.Sub(rows, max(0, -offset)), (1,))
    length = b.Shape(g, start=rank - 2)
    inside = b.Max(b.Min(b.squeeze(row, (1,)), b.Sub(length, 1)), 0)
    spread = b.unsqueeze(b.Gather(g, inside, axis=rank - 2), (rank - 1,))
    order = _matrices_last(rank, dim1, dim2)
    return b.transpose(b.Where(mask, spread, b.transpose(base, order)), tuple(np.argsort(order)))


@lowering("diagonal_backward")
def diagonal_backward(b: Builder, g: Array, shape: tuple, offset: int, dim1: int, dim2: int) -> Array:
    base = b.zeros(shape, g.dtype)
    base.shape = tuple(shape)
    return _onto_diagonal(b, base, g, offset, dim1, dim2)


view_inverse("diagonal")(_onto_diagonal)


# ---------------------------------------------------------------- windows and strides


def _windows(b: Builder, n: Any, size: int, step: int) -> Array:
    starts = b.Mul(b.range((n - size) // step + 1), step)
    return b.Add(b.unsqueeze(starts, (1,)), b.range(size))


@lowering("unfold")
def unfold(b: Builder, x: Array, dim: int, size: int, step: int) -> Array:
    if not x.rank:
        return b.slice(b.reshape(x, (1,)), 0, 0, size)
    found = b.Gather(x, _windows(b, x.shape[dim], size, step), axis=dim)
    rank = x.rank + 1
    return b.transpose(found, (*[d for d in range(rank) if d != dim + 1], dim + 1))


@lowering("unfold_backward")
def unfold_backward(b: Builder, g: Array, shape: tuple, dim: int, size: int, step: int) -> Array:
    base = b.zeros(shape, g.dtype)
    base.shape = tuple(shape)
    rank = len(shape) + 1
    order = (*range(dim + 1), rank - 1, *range(dim + 1, rank - 1))
    windows = _windows(b, shape[dim], size, step)
    windows.shape = ((shape[dim] - size) // step + 1, size)
    return scattered(b, base, b.transpose(g, order), (dim,), (windows,), "add")


def _places(b: Builder, shape: tuple, stride: tuple, offset: Any) -> Array:
    """Where each element of a strided view lies in the flat array."""
    place = b.scalar(offset or 0)
    for d, (n, s) in enumerate(zip(shape, stride)):
        steps = b.Mul(b.range(n), b.scalar(s))
        place = b.Add(place, b.unsqueeze(steps, [i for i in range(len(shape)) if i != d]))
    return place


@lowering("as_strided")
def as_strided(b: Builder, x: Array, shape: tuple, stride: tuple, offset: Any) -> Array:
    return b.Gather(b.Reshape(x, b.sizes((-1,))), _places(b, shape, stride, offset), axis=0)


@lowering("as_strided_backward")
def as_strided_backward(b: Builder, g: Array, target: tuple, shape: tuple, stride: tuple, offset: Any) -> Array:
    size: Any = 1
    for n in target:
        size = size * n
    flat = lambda v: b.Reshape(v, b.sizes((-1,)))  # noqa: E731
    places = flat(_places(b, shape, stride, offset))
    return b.reshape(b.ScatterElements(b.zeros((size,), g.dtype), places, flat(g), axis=0, reduction="add"), target)


@view_inverse("as_strided")
def _write_strided(b: Builder, base: Array, written: Array, shape: tuple, stride: tuple, offset: Any) -> Array:
    flat = lambda v: b.Reshape(v, b.sizes((-1,)))  # noqa: E731
    places = flat(_places(b, shape, stride, offset))
    return b.reshape(b.ScatterElements(flat(base), places, flat(written), axis=0), base.shape)


unsupported("ONNX cannot read the bytes of an array as another type", "view_dtype")


# ---------------------------------------------------------------- order along a dimension


@lowering("roll")
def roll(b: Builder, x: Array, shifts: tuple, dims: tuple) -> Array:
    y = x
    for shift, dim in zip(shifts, dims):
        n = x.shape[dim]
        if isinstance(n, int) and (n == 0 or isinstance(shift, int) and shift % n == 0):
            continue
        start = n - shift % n
        y = b.Concat(b.slice(y, dim, start, INT64_MAX), b.slice(y, dim, 0, start), axis=dim)
    return y


def _triangle(name: str, upper: int) -> None:
    @lowering(name)
    def lower(b: Builder, x: Array, diagonal: Any) -> Array:
        return b.Trilu(x, b.scalar(diagonal), upper=upper)


_triangle("tril", 0)
_triangle("triu", 1)
