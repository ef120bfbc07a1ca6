"""Kernels of convolutions of any number of dimensions, on raw channels-last arrays.

All three, the output, the data gradient and the weight gradient, are matrix products with the *columns* of the input:
the matrix whose row is what one output pixel sees. Columns are made block by block in memory that stays in the cache.

Shapes: ``x`` is ``(N, *S, C)``; a weight is ``(G, out, in, *kernel)``, with ``in * G == C``; ``starts`` is the
coordinate in ``x`` that the first output pixel's first tap sees (minus the padding); what lies outside of ``x`` is
zero.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .depthwise import correlate_depthwise, is_small, weight_gradient_depthwise
from .layout import padded_region, reaches, scratch

COLUMNS = 1 << 18  # elements of columns in a block; on a GPU there are a few large blocks
COLUMNS_DEVICE = 1 << 26
CHANNELS = 16  # summed together in single precision
FEW_CHANNELS = 8  # up to here columns are made along the pixels, not along the channels


class Columns:
    """The columns of ``x``, as an iterator of ``(images, rows, matrix)`` with a matrix ``(G, pixels, taps * in)``.

    The order inside a row is ``(*kernel, in)``. ``few``: the matrix is a transposed view, made along the pixels.
    """

    def __init__(
        self, xp: Any, x: Any, size: tuple, kernel: tuple, starts: tuple, stride: tuple, dilation: tuple, groups: int
    ) -> None:
        self.xp, self.x, self.size, self.kernel, self.starts, self.groups = xp, x, size, kernel, starts, groups
        self.stride, self.dilation = stride, dilation
        self.width = math.prod(kernel) * (x.shape[-1] // groups)
        self.direct = (
            groups == 1
            and math.prod(kernel) == 1
            and set(stride) <= {1}
            and set(starts) <= {0}
            and size == x.shape[1:-1]
        )
        self.few = not self.direct and x.shape[-1] // groups <= FEW_CHANNELS and math.prod(kernel) > 1

    def blocks(self, least: int) -> Iterator[tuple[slice, slice, Any]]:
        """All blocks, each of ``least`` pixels or more where there are as many."""
        xp, x, size = self.xp, self.x, self.size
        n = x.shape[0]
        per_image = math.prod(size)
        if not n or not per_image:
            return
        if self.direct:
            yield slice(0, n), slice(0, size[0]), xp.ascontiguousarray(x).reshape(1, n * per_image, x.shape[-1])
            return
        pixels = max((COLUMNS if xp is np else COLUMNS_DEVICE) // max(1, self.width * self.groups), least)
        images = min(n, max(1, pixels // per_image))
        per_row = per_image // size[0]
        rows = size[0] if pixels >= per_image else max(1, pixels // per_row)
        buffer, windows = self._windows(images)
        columns = scratch(xp, "columns", (images * rows * per_row * self.width * self.groups,), x.dtype)
        for first in range(0, n, images):
            chosen = slice(first, min(first + images, n))
            count = chosen.stop - first
            if buffer is None:
                source = self._windows_of(x[chosen], self.starts)
            else:
                self._fill(buffer[:count], x[chosen])
                source = windows[:count]
            for top in range(0, size[0], rows):
                part = slice(top, min(top + rows, size[0]))
                yield chosen, part, self._matrix(columns, source[:, part])

    def _windows(self, images: int) -> tuple[Any, Any]:
        """A zeroed buffer for a block of images with its windows, or (None, None) where ``x`` itself can be read."""
        x = self.x
        ends = reaches(self.starts, self.size, self.stride, self.kernel, self.dilation)
        inside = all([a >= 0 and e <= s for a, e, s in zip(self.starts, ends, x.shape[1:-1])])
        self.ends = ends
        if inside and not self.few and x.strides[-1] == x.itemsize:
            return None, None
        region = tuple([e - a for a, e in zip(self.starts, ends)])
        if self.few:
            buffer = scratch(self.xp, "padded", (images, x.shape[-1], *region), x.dtype)
            buffer = buffer.transpose(0, *range(2, buffer.ndim), 1)
        else:
            buffer = scratch(self.xp, "padded", (images, *region, x.shape[-1]), x.dtype)
        if not inside:
            buffer[...] = 0
        return buffer, self._windows_of(buffer, (0,) * len(region))

    def _fill(self, buffer: Any, x: Any) -> None:
        padded_region(x, self.starts, self.ends, buffer)

    def _windows_of(self, buffer: Any, starts: tuple) -> Any:
        """``(images, *size, *kernel, C)`` as a view of ``(images, *region, C)``."""
        buffer = buffer[(slice(None), *[slice(a, None) for a in starts])]
        strides = buffer.strides
        inner = strides[1:-1]
        return self.xp.lib.stride_tricks.as_strided(
            buffer,
            (buffer.shape[0], *self.size, *self.kernel, buffer.shape[-1]),
            (
                strides[0],
                *[a * s for a, s in zip(inner, self.stride)],
                *[a * d for a, d in zip(inner, self.dilation)],
                strides[-1],
            ),
        )

    def _matrix(self, columns: Any, windows: Any) -> Any:
        groups, nd = self.groups, len(self.size)
        shape = windows.shape
        pixels = math.prod(shape[: 1 + nd])
        windows = windows.reshape(*shape[:-1], groups, shape[-1] // groups) if groups > 1 else windows[..., None, :]
        flat = columns[: groups * pixels * self.width]
        taps = tuple(range(1 + nd, 1 + 2 * nd))
        if self.few:
            order = (1 + 2 * nd, *taps, 2 + 2 * nd, *range(1 + nd))
            windows = windows.transpose(order)
            flat.reshape(windows.shape)[...] = windows
            return flat.reshape(groups, self.width, pixels).swapaxes(1, 2)
        windows = windows.transpose(1 + 2 * nd, *range(1 + nd), *taps, 2 + 2 * nd)
        flat.reshape(windows.shape)[...] = windows
        return flat.reshape(groups, pixels, self.width)

    def weight(self, w: Any) -> Any:
        """A weight ``(G, out, in, *kernel)`` as the matrix ``(G, taps * in, out)`` that the columns are multiplied
        with."""
        groups, outs = w.shape[:2]
        if math.prod(self.kernel) == 1:
            return self.xp.ascontiguousarray(w).reshape(groups, outs, self.width).swapaxes(1, 2)
        taps = tuple(range(3, w.ndim))
        if w.strides[1] >= w.strides[2]:
            return (
                self.xp.ascontiguousarray(w.transpose(0, 1, *taps, 2)).reshape(groups, outs, self.width).swapaxes(1, 2)
            )
        return self.xp.ascontiguousarray(w.transpose(0, *taps, 2, 1)).reshape(groups, self.width, outs)


def correlate(xp: Any, x: Any, w: Any, bias: Any, out: Any, starts: tuple, stride: tuple, dilation: tuple) -> None:
    """``out[n, o] = bias + sum_k x[n, o * stride + k * dilation + starts] @ w[k]``; ``out`` is ``(N, *O, G * out)``.

    Single precision is summed over blocks of 16 channels, and the blocks then added: shorter sums are more accurate,
    and it is the order of PyTorch's kernels on processors with vectors of 16, so that the results are the same bits.
    """
    ins = w.shape[2]
    blocked = xp is np and w.shape[0] == 1 and ins > CHANNELS and math.prod(w.shape[3:]) > 1 and x.dtype == np.float32
    if not blocked:
        _correlate(xp, x, w, bias, out, starts, stride, dilation)
        return
    _correlate(xp, x[..., :CHANNELS], w[:, :, :CHANNELS], bias, out, starts, stride, dilation)
    part = scratch(xp, "channels", out.shape, out.dtype)
    for first in range(CHANNELS, ins, CHANNELS):
        chosen = slice(first, first + CHANNELS)
        _correlate(xp, x[..., chosen], w[:, :, chosen], None, part, starts, stride, dilation)
        out += part


def _correlate(xp: Any, x: Any, w: Any, bias: Any, out: Any, starts: tuple, stride: tuple, dilation: tuple) -> None:
    groups, outs, ins = w.shape[:3]
    size, kernel = out.shape[1:-1], w.shape[3:]
    if groups > 1 and is_small(w):
        correlate_depthwise(xp, x, w, out, starts, stride, dilation)
        if bias is not None:
            out += bias
        return
    columns = Columns(xp, x, size, kernel, starts, stride, dilation, groups)
    matrix = columns.weight(w)
    direct = out.flags.c_contiguous
    for images, rows, block in columns.blocks(64):
        if direct:
            target = out[images, rows]
            flat = target.reshape(-1, groups, outs)
        else:
            flat = scratch(xp, "product", (block.shape[1], groups, outs), out.dtype)
        if groups == 1:
            xp.matmul(block[0], matrix[0], out=flat[:, 0])
        else:
            xp.matmul(block, matrix, out=flat.swapaxes(0, 1))
        if bias is not None:
            flat += bias.reshape(groups, outs)
        if not direct:
            out[images, rows] = flat.reshape(out[images, rows].shape)


def weight_gradient(
    xp: Any, x: Any, g: Any, out: Any, groups: int, starts: tuple, stride: tuple, dilation: tuple
) -> None:
    """The gradient ``(G * out, in, *kernel)`` of ``correlate``'s weight, written to ``out``; ``g`` is contiguous."""
    ins, kernel = out.shape[1], out.shape[2:]
    outs = out.shape[0] // groups
    if groups > 1 and outs * ins <= 4:
        weight_gradient_depthwise(xp, x, g, out, groups, starts, stride, dilation)
        return
    columns = Columns(xp, x, g.shape[1:-1], kernel, starts, stride, dilation, groups)
    direct = math.prod(kernel) == 1
    shape = (groups, outs, columns.width)
    total = out.reshape(shape) if direct else scratch(xp, "total", shape, out.dtype)
    target = total
    for images, rows, block in columns.blocks(512):
        xp.matmul(g[images, rows].reshape(-1, groups, outs).transpose(1, 2, 0), block, out=target)
        if target is total:
            target = scratch(xp, "product", shape, out.dtype)
        else:
            total += target
    if target is total:  # there was no block
        out[...] = 0
    elif not direct:
        total = total.reshape(groups * outs, *kernel, ins)
        out[...] = total.transpose(0, total.ndim - 1, *range(1, total.ndim - 1))


def data_gradient(xp: Any, g: Any, w: Any, bias: Any, out: Any, starts: tuple, stride: tuple, dilation: tuple) -> None:
    """The gradient ``(N, *S, G * in)`` of ``correlate``'s input plus ``bias``, written to ``out``; ``g`` is
    ``(N, *O, G * out)``.

    An input pixel's gradient is a correlation of ``g`` with the flipped taps that reach it. Pixels whose coordinates
    agree modulo the stride are reached by the same taps, so each such phase is one correlation with stride 1.
    """
    kernel = w.shape[3:]
    if max(stride) > 1 and set(dilation) <= {1} and all([k <= s for k, s in zip(kernel, stride)]):
        _disjoint_data_gradient(xp, g, w, bias, out, starts, stride)
        return
    w = w.swapaxes(1, 2)
    phases = [
        list(_phases(size, start, s, d, k))
        for size, start, s, d, k in zip(out.shape[1:-1], starts, stride, dilation, kernel)
    ]
    ones = (1,) * len(kernel)
    for choice in itertools.product(*phases):
        target = out[(slice(None), *[c[0] for c in choice])]
        if 0 in target.shape:
            continue
        if any([c[1] is None for c in choice]):
            target[...] = 0 if bias is None else bias
            continue
        taps = w[(slice(None),) * 3 + tuple([c[1] for c in choice])]
        correlate(xp, g, taps, bias, target, tuple([c[2] for c in choice]), ones, tuple([c[3] for c in choice]))


def _phases(size: int, start: int, stride: int, dilation: int, kernel: int) -> Iterator[tuple]:
    """For each phase of one dimension: its pixels, its flipped taps (None: no tap), the first output seen, the
    dilation."""
    common = math.gcd(stride, dilation)
    step, dense = stride // common, dilation // common
    for residue in range(min(stride, size)):
        pixels = slice(residue, None, stride)
        position = residue - start  # the coordinate in the padded input
        first = next((k for k in range(min(step, kernel)) if (position - k * dilation) % stride == 0), None)
        if first is None:
            yield pixels, None, 0, 1
            continue
        count = (kernel - 1 - first) // step + 1
        taps = slice(first + (count - 1) * step, first - 1 if first else None, -step)
        yield pixels, taps, (position - first * dilation) // stride - (count - 1) * dense, dense


def _disjoint_data_gradient(xp: Any, g: Any, w: Any, bias: Any, out: Any, starts: tuple, stride: tuple) -> None:
    """The data gradient where windows do not overlap: one product, whose rows are then laid out."""
    groups, outs, ins = w.shape[:3]
    kernel, size = w.shape[3:], g.shape[1:-1]
    taps = tuple(range(3, w.ndim))
    matrix = xp.ascontiguousarray(w.transpose(0, 1, *taps, 2)).reshape(groups, outs, -1)
    out[...] = 0 if bias is None else bias
    n, nd = g.shape[0], len(size)
    per_image = math.prod(size) * matrix.shape[2] * groups
    images = max(1, (COLUMNS if xp is np else COLUMNS_DEVICE) // max(1, per_image))
    region = tuple([o * s for o, s in zip(size, stride)])
    for first in range(0, n, images):
        part = g[first : first + images]
        rows = part.reshape(-1, groups, outs).swapaxes(0, 1)
        product = xp.matmul(rows, matrix).reshape(groups, part.shape[0], *size, *kernel, ins)
        # (n, O, kernel, G, in) -> (n, O1, k1, O2, k2, ..., G, in)
        order = [1]
        for i in range(nd):
            order += [2 + i, 2 + nd + i]
        product = product.transpose(*order, 0, 2 + 2 * nd)
        padded = scratch(xp, "padded", (part.shape[0], *region, groups * ins), out.dtype)
        padded[...] = 0
        shape: list = [part.shape[0]]
        index: list = [slice(None)]
        for o, s, k in zip(size, stride, kernel):
            shape += [o, s]
            index += [slice(None), slice(0, k)]
        padded.reshape(*shape, groups, ins)[tuple(index)] = product
        source, target = [slice(None)], [slice(first, first + images)]
        for i in range(nd):
            low = max(0, -starts[i])
            high = min(region[i], out.shape[1 + i] - starts[i])
            source.append(slice(low, max(low, high)))
            target.append(slice(low + starts[i], max(low, high) + starts[i]))
        out[tuple(target)] += padded[tuple(source)]
