"""Operators that move or repeat elements, and writes to a view of an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tocha.onnx.tracing import Abstract, is_symbolic

from ..builder import INT64_MAX, INT64_MIN, Array, Builder
from ..registry import Unsupported, find, lowering


@lowering("view")
def view(b: Builder, x: Array, shape: tuple) -> Array:
    return b.reshape(x, shape)


@lowering("expand")
def expand(b: Builder, x: Array, shape: tuple) -> Array:
    return b.expand(x, shape)


@lowering("permute")
def permute(b: Builder, x: Array, order: tuple) -> Array:
    return b.transpose(x, order)


@lowering("cat")
def cat(b: Builder, xs: tuple, dim: int, sizes: tuple) -> Array:
    return xs[0] if len(xs) == 1 else b.Concat(*xs, axis=dim)


@lowering("flip")
def flip(b: Builder, x: Array, dims: tuple) -> Array:
    if not dims:
        return x
    n = len(dims)
    column = lambda value: np.full(n, value, np.int64)  # noqa: E731
    return b.Slice(x, column(-1), column(INT64_MIN), np.array(dims, np.int64), column(-1))


# ---------------------------------------------------------------- basic indexing


def plan(rank: int, index: tuple) -> tuple[list[tuple[int, slice]], list[tuple[int, Any]], list[int]]:
    """The slices and the integers of a basic index with the dimensions they apply to, and the positions of its
    Nones."""
    consumed = sum(1 for i in index if i is not None and i is not Ellipsis)
    slices: list[tuple[int, slice]] = []
    integers: list[tuple[int, Any]] = []
    new: list[int] = []
    axis = out = 0
    for i in index:
        if i is None:
            new.append(out)
            out += 1
        elif i is Ellipsis:
            axis, out = axis + rank - consumed, out + rank - consumed
        elif isinstance(i, slice):
            if i != slice(None) if not _symbolic(i) else True:
                slices.append((axis, i))
            axis, out = axis + 1, out + 1
        else:
            integers.append((axis, i))
            axis += 1
    return slices, integers, new


def _symbolic(s: slice) -> bool:
    return any(is_symbolic(v) for v in (s.start, s.stop, s.step))


def _bounds(s: slice) -> tuple[Any, Any, int]:
    step = 1 if s.step is None else s.step
    if step < 0:
        return -1 if s.start is None else s.start, INT64_MIN if s.stop is None else s.stop, step
    return 0 if s.start is None else s.start, INT64_MAX if s.stop is None else s.stop, step


@lowering("slice")
def slice_index(b: Builder, x: Array, index: tuple) -> Array:
    slices, integers, new = plan(x.rank, index)
    y = x
    if slices:
        bounds = [_bounds(s) for _, s in slices]
        starts, stops, steps = zip(*bounds)
        axes = [axis for axis, _ in slices]
        y = b.Slice(y, b.sizes(starts), b.sizes(stops), b.sizes(axes), b.sizes(steps))
    for axis, i in reversed(integers):
        y = b.Gather(y, b.scalar(i), axis=axis)
    return b.unsqueeze(y, new)


@lowering("slice_pad")
def slice_pad(b: Builder, x: Array, shape: tuple, index: tuple) -> Array:
    base = b.zeros(shape, x.dtype)
    base.shape = tuple(shape)
    return write_slice(b, base, x, index)


def write_slice(b: Builder, base: Array, value: Array, index: tuple) -> Array:
    """``base`` with ``value`` at a basic index. ``value`` has the shape of ``base[index]``."""
    slices, integers, new = plan(base.rank, index)
    value = b.squeeze(value, new)
    value = b.unsqueeze(value, [axis for axis, _ in integers])
    regions = {axis: _bounds(s) for axis, s in slices}
    for axis, i in integers:
        last = isinstance(i, int) and i == -1
        regions[axis] = (i, INT64_MAX if last else i + 1, 1)
    return _write_region(b, base, value, sorted(regions.items()))


def _write_region(b: Builder, base: Array, value: Array, regions: list) -> Array:
    if not regions:
        return value
    (axis, (start, stop, step)), rest = regions[0], regions[1:]
    if rest:
        inner = b.slice(base, axis, start, stop, step)
        value = _write_region(b, inner, value, rest)
    if step == 1 and not (isinstance(start, int) and start < 0 and start != -1):
        parts = [value]
        if not (isinstance(start, int) and start == 0):
            parts.insert(0, b.slice(base, axis, 0, start))
        if not (isinstance(stop, int) and stop == INT64_MAX):
            parts.append(b.slice(base, axis, stop, INT64_MAX))
        return b.Concat(*parts, axis=axis) if len(parts) > 1 else value
    # Any step: choose each row from the base or from the value, by a list of positions in the two joined.
    length = b.Shape(base, start=axis, end=axis + 1)
    rows = b.Range(b.scalar(0), b.squeeze(length, (0,)), b.scalar(1))
    written = b.slice(rows, 0, start, stop, step)
    count = b.Shape(written)
    positions = b.Add(b.Range(b.scalar(0), b.squeeze(count, (0,)), b.scalar(1)), length)
    chosen = b.ScatterElements(rows, written, positions, axis=0)
    return b.Gather(b.Concat(base, value, axis=axis), chosen, axis=axis)


# ---------------------------------------------------------------- writes


_INVERSE: dict[str, Callable] = {}


@lowering("write_view")
def write_view(b: Builder, base: Array, value: Array, chain: tuple) -> Array:
    """``base`` with ``value`` written at the end of a chain of views of it."""
    if not chain:
        return b.expand(value, base.shape)
    (op, attributes), rest = chain[0], chain[1:]
    shape = op.infer(Abstract(base.shape, base.dtype), *attributes)[0]
    if op.name == "expand" and not b.shapes.same(shape, base.shape):
        raise Unsupported("it writes to an expanded view, where several elements share one place: clone() it first")
    if op.name not in _INVERSE:
        raise Unsupported(f"a write to a view made by {op.name!r} has no ONNX form: write to a copy of it instead")
    inner = find(op.name)(b, base, *attributes)
    inner = Array(inner.name, inner.dtype, tuple(shape))
    written = write_view(b, inner, value, rest)
    written = Array(written.name, written.dtype, tuple(shape))
    return _INVERSE[op.name](b, base, written, *attributes)


def view_inverse(*names: str) -> Callable[[Callable], Callable]:
    """Register how to put a written view back: ``f(builder, base, written, *attributes)`` gives the new base."""

    def register(fn: Callable) -> Callable:
        _INVERSE.update(dict.fromkeys(names, fn))
        return fn

    return register


@view_inverse("permute")
def _inverse_permute(b: Builder, base: Array, written: Array, order: tuple) -> Array:
    return b.transpose(written, tuple(np.argsort(order)))


_INVERSE.update(
    view=lambda b, base, written, shape: b.reshape(written, base.shape),
    expand=lambda b, base, written, shape: written,
    slice=write_slice,
)
