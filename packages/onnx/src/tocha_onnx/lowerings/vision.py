"""Sliding blocks of images as columns, and sampling of images at the points of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import Array, Builder
from ..registry import Unsupported, lowering
from .indexing import scattered

NP_INT64 = np.dtype("int64")

# ---------------------------------------------------------------- blocks


def _taps(b: Builder, n: Any, kernel: int, dilation: int, padding: int, stride: int) -> Array:
    """What each tap (row) sees of a padded dimension in each block (column)."""
    blocks = (n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
    starts = b.Mul(b.range(blocks), stride)
    taps = b.constant(np.arange(kernel, dtype=np.int64)[:, None] * dilation)
    return Array(b.Add(taps, starts).name, NP_INT64, (kernel, blocks))


@lowering("im2col")
def im2col(b: Builder, x: Array, kernel: tuple, dilation: tuple, padding: tuple, stride: tuple) -> Array:
    batch, channels, h, w = x.shape
    y = x
    if any(padding):
        y = b.Pad(x, b.sizes((0, 0, *padding, 0, 0, *padding)), b.constant(0, x.dtype))
    rows, columns = [_taps(b, *each) for each in zip((h, w), kernel, dilation, padding, stride)]
    y = b.Gather(b.Gather(y, rows, axis=2), columns, axis=4)
    blocks = rows.shape[1] * columns.shape[1]
    return b.reshape(b.transpose(y, (0, 1, 2, 4, 3, 5)), (batch, channels * kernel[0] * kernel[1], blocks))


@lowering("col2im")
def col2im(b: Builder, x: Array, size: tuple, kernel: tuple, dilation: tuple, padding: tuple, stride: tuple) -> Array:
    if b.opset >= 18 and x.dtype == np.float32:
        return b.Col2Im(
            x, b.sizes(size), b.sizes(kernel), dilations=dilation, pads=(*padding, *padding), strides=stride
        )
    batch, channels = x.shape[0], x.shape[1] // (kernel[0] * kernel[1])
    rows, columns = [_taps(b, *each) for each in zip(size, kernel, dilation, padding, stride)]
    value = b.reshape(x, (batch, channels, *kernel, rows.shape[1], columns.shape[1]))
    shape = (batch, channels, size[0] + 2 * padding[0], size[1] + 2 * padding[1])
    places = (
        b.reshape(rows, (kernel[0], 1, rows.shape[1], 1)),
        b.reshape(columns, (1, kernel[1], 1, columns.shape[1])),
    )
    full = scattered(b, Array(b.zeros(shape, x.dtype).name, x.dtype, shape), value, (2, 3), places, "add")
    if not any(padding):
        return full
    ends = [p + n for p, n in zip(padding, size)]
    return b.Slice(full, b.sizes(padding), b.sizes(ends), b.sizes((2, 3)))


# ---------------------------------------------------------------- grids


def _padded(b: Builder, x: Array, size: Any, padding: str, align_corners: bool) -> Array:
    """Pixel positions moved into the image."""
    if padding == "zeros":
        return x
    last = b.scalar(size - 1, x.dtype)
    if padding == "reflection":
        low = 0.0 if align_corners else -0.5
        span = last if align_corners else b.scalar(size, x.dtype)
        safe = b.Max(span, 1) if align_corners else span
        distance = b.Abs(b.Sub(x, low))
        flips = b.Floor(b.Div(distance, safe))
        extra = b.Sub(distance, b.Mul(flips, span))
        odd = b.Equal(b.Sub(flips, b.Mul(b.Floor(b.Mul(flips, 0.5)), 2)), 1)
        x = b.Add(b.Where(odd, b.Sub(span, extra), extra), low)
    x = b.Where(b.Greater(x, 0), x, b.constant(0, x.dtype))  # NaN becomes 0
    return b.Min(x, last)


@lowering("grid_position")
def grid_position(b: Builder, x: Array, size: Any, padding: str, align_corners: bool) -> Array:
    n = b.scalar(size, x.dtype)
    if align_corners:
        pixels = b.Mul(b.Add(x, 1), b.Mul(b.Sub(n, 1), 0.5))
    else:
        pixels = b.Mul(b.Sub(b.Mul(b.Add(x, 1), n), 1), 0.5)
    return _padded(b, pixels, size, padding, align_corners)


@lowering("grid_position_slope")
def grid_position_slope(b: Builder, x: Array, size: Any, padding: str, align_corners: bool) -> Array:
    if padding != "zeros":
        raise Unsupported("the gradient of sampling is exported for padding_mode 'zeros'")
    n = b.scalar(size, x.dtype)
    return b.same_shape(b.Mul(b.Sub(n, 1) if align_corners else n, 0.5), x)


@lowering("grid_nodes")
def grid_nodes(
    b: Builder, x: Array, size: Any, offset: int, padding: str, align_corners: bool, nearest: bool
) -> tuple[Array, Array, Array]:
    whole = b.Round(x) if nearest else b.Floor(x)
    moved = _padded(b, b.Add(whole, offset) if offset else whole, size, padding, align_corners)
    inside = b.And(b.GreaterOrEqual(moved, 0), b.LessOrEqual(moved, b.scalar(size - 1, x.dtype)))
    used = b.cast(b.Where(inside, moved, b.constant(0, x.dtype)), NP_INT64)
    return used, b.cast(inside, x.dtype), whole


@lowering("affine_base_grid")
def affine_base_grid(b: Builder, theta: Array, size: tuple, align_corners: bool) -> Array:
    columns = []
    total: Any = 1
    for n in size:
        total = total * n
    wide = np.dtype("float64")
    for axis, n in enumerate(size):
        steps = b.range(n, wide)
        last = b.scalar(n - 1, wide)
        centred = b.Sub(b.Mul(steps, 2), last)
        points = b.Div(centred, b.Max(last, 1) if align_corners else b.scalar(n, wide))
        points = b.unsqueeze(points, [d for d in range(len(size)) if d != axis])
        columns.append(b.Reshape(b.expand(points, size), b.sizes((-1, 1))))
    ones = b.full((total, 1), 1, wide)
    return b.cast(b.Concat(*columns[::-1], ones, axis=1), theta.dtype)
