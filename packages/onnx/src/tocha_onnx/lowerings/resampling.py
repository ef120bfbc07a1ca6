"""Resizing and adaptive pools.

Both are linear and act on each dimension by itself. Where ONNX's own operator does not follow PyTorch to the last
pixel,
a dimension of a fixed size is multiplied with the matrix of tocha's own operator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tocha.onnx.tracing import OPS

from ..builder import Array, Builder
from ..registry import Unsupported, lowering

NP_INT64, NP_FLOAT32 = np.dtype("int64"), np.dtype("float32")


def _fixed(*sizes: Any) -> bool:
    return all(isinstance(n, int) for n in sizes)


def _matrix(name: str, n: int, out: int, dtype: np.dtype, *attributes: Any) -> np.ndarray:
    """What an operator does to one dimension of ``n`` elements, as a matrix (n, out)."""
    rows = np.eye(n, dtype=dtype)[None]
    return np.ascontiguousarray(OPS[name].run(rows, (out,), *attributes)[0])


def _along(b: Builder, x: Array, axis: int, matrix: np.ndarray) -> Array:
    """``x`` with a dimension multiplied by a matrix."""
    rank = len(x.shape)
    order = [*[d for d in range(rank) if d != axis], axis]
    y = b.MatMul(b.transpose(x, order), b.constant(matrix, x.dtype))
    made = b.transpose(y, tuple(np.argsort(order)))
    return Array(made.name, made.dtype, (*x.shape[:axis], matrix.shape[1], *x.shape[axis + 1 :]))


# ---------------------------------------------------------------- nearest


def _nearest(b: Builder, n: Any, out: Any, exact: bool, factor: float | None) -> Array:
    """The element that each output repeats, in PyTorch's float32 arithmetic."""
    if _fixed(n, out):
        index = OPS["interpolate"].run(
            np.arange(n, dtype=np.float64)[None, None], (out,), _name(exact), False, (factor,), False
        )
        return b.constant(index[0, 0].astype(np.int64))
    if factor is not None and factor > 0:
        scale: Any = b.constant(np.float32(1.0 / factor))
    else:
        scale = b.Div(b.scalar(n, NP_FLOAT32), b.scalar(out, NP_FLOAT32))
    place = b.range(out, NP_FLOAT32)
    if exact:
        place = b.Add(place, 0.5)
    return b.Min(b.cast(b.Floor(b.Mul(place, scale)), NP_INT64), b.scalar(n - 1))


def _name(exact: bool) -> str:
    return "nearest-exact" if exact else "nearest"


# ---------------------------------------------------------------- the operator


@lowering("interpolate")
def interpolate(
    b: Builder, x: Array, size: tuple, mode: str, align_corners: bool, factors: tuple, antialias: bool
) -> Array:
    dtype, space = x.dtype, x.shape[2:]
    if mode.startswith("nearest"):
        y = x
        for axis, (n, out, factor) in enumerate(zip(space, size, factors), 2):
            if not (_fixed(n, out) and n == out):
                y = b.Gather(y, _nearest(b, n, out, mode == "nearest-exact", factor), axis=axis)
        return y
    whole = all(f is None or _times(b, n, f, out) for n, out, f in zip(space, size, factors))
    quantised = dtype.kind in "iu"
    if whole and not antialias and not quantised and dtype != np.float64:
        return b.cast(_resize(b, x, size, mode, align_corners), dtype)
    if not _fixed(*space, *size):
        raise Unsupported(
            f"{mode} resizing {'with antialiasing ' if antialias else ''}is exported for images of a fixed size"
        )
    wide = NP_FLOAT32 if quantised or dtype.itemsize == 2 else dtype
    y = Array(b.cast(x, wide).name, wide, x.shape)
    info = np.iinfo(dtype) if quantised else None
    for axis, (n, out, factor) in enumerate(zip(space, size, factors), 2):
        matrix = _matrix("interpolate", n, out, wide, mode, align_corners, (factor,), antialias)
        if n == out and np.array_equal(matrix, np.eye(n)):
            continue
        y = _along(b, y, axis, matrix)
        if quantised and antialias:
            rounded = b.Clip(b.Floor(b.Add(y, 0.5)), 0, 255)
            y = Array(rounded.name, rounded.dtype, y.shape)
    if info is not None:
        return b.cast(b.Clip(b.Floor(b.Add(y, 0.5)), float(info.min), float(info.max)), dtype)
    return b.cast(y, dtype)


def _times(b: Builder, n: Any, factor: float, out: Any) -> bool:
    """Whether a size is exactly the other one times a factor."""
    if _fixed(n, out):
        return n * factor == out
    return factor == int(factor) and b.shapes.same((n * int(factor),), (out,))


def _resize(b: Builder, x: Array, size: tuple, mode: str, align_corners: bool) -> Array:
    """ONNX's Resize, which interpolates two or three dimensions as PyTorch does."""
    flat = len(size) == 1
    y = b.unsqueeze(x, (2,)) if flat else x
    shape = (*x.shape[:2], 1, *size) if flat else (*x.shape[:2], *size)
    y = b.Resize(
        y, None, None, b.sizes(shape), mode=mode, cubic_coeff_a=-0.75 if mode == "cubic" else None,
        coordinate_transformation_mode="align_corners" if align_corners else "half_pixel",
    )  # fmt: skip
    return b.squeeze(y, (2,)) if flat else y


@lowering("interpolate_backward")
def interpolate_backward(
    b: Builder, g: Array, size: tuple, mode: str, align_corners: bool, factors: tuple, antialias: bool
) -> Array:
    return _transposed(b, "interpolate", g, size, lambda i: (mode, align_corners, (factors[i],), antialias))


def _transposed(b: Builder, name: str, g: Array, size: tuple, attributes: Any) -> Array:
    if not _fixed(*g.shape[2:], *size):
        raise Unsupported("the gradient of resizing is exported for images of a fixed size")
    y = g
    for i, (out, n) in enumerate(zip(g.shape[2:], size)):
        if n != out or name == "interpolate":
            y = _along(b, y, i + 2, _matrix(name, n, out, np.dtype(np.float64), *attributes(i)).T)
    return y


# ---------------------------------------------------------------- adaptive pools


@lowering("adaptive_avg_pool")
def adaptive_avg_pool(b: Builder, x: Array, size: tuple) -> Array:
    space = x.shape[2:]
    if _fixed(*size) and all(out == 1 for out in size):
        return b.reduce("ReduceMean", x, tuple(range(2, x.rank)), True)
    if _fixed(*space, *size) and all(out and n % out == 0 for n, out in zip(space, size)):
        window = tuple(n // out for n, out in zip(space, size))
        return b.AveragePool(x, kernel_shape=window, strides=window)
    y = x
    for axis, (n, out) in enumerate(zip(space, size), 2):
        if _fixed(n, out):
            y = y if n == out else _along(b, y, axis, _matrix("adaptive_avg_pool", n, out, np.dtype(np.float64)))
        else:
            y = _window_means(b, y, axis, n, out)
    return y


def _window_means(b: Builder, x: Array, axis: int, n: Any, out: Any) -> Array:
    """Differences of running sums, at the ends of the windows ``[i n / out, (i + 1) n / out)`` rounded outwards."""
    places, length, parts = b.range(out), b.scalar(n), b.scalar(out)
    start = b.Div(b.Mul(places, length), parts)
    end = b.Div(b.Add(b.Mul(b.Add(places, 1), length), b.Sub(parts, 1)), parts)
    rank = len(x.shape)
    pads = np.zeros(2 * rank, np.int64)
    pads[axis] = 1
    sums = b.Pad(b.CumSum(x, b.constant(axis, NP_INT64)), b.constant(pads), b.constant(0, x.dtype))
    total = b.Sub(b.Gather(sums, end, axis=axis), b.Gather(sums, start, axis=axis))
    count = b.unsqueeze(b.cast(b.Sub(end, start), x.dtype), list(range(1, rank - axis)))
    return Array(b.Div(total, count).name, x.dtype, (*x.shape[:axis], out, *x.shape[axis + 1 :]))


@lowering("adaptive_avg_pool_backward")
def adaptive_avg_pool_backward(b: Builder, g: Array, size: tuple) -> Array:
    return _transposed(b, "adaptive_avg_pool", g, size, lambda i: ())
