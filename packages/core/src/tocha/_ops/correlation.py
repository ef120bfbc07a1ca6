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
    """The columns of ``x``, as an iterator of ``(images, rows, matrix)`` with a matrix ``(G, pixels, taps * ins)``.

    The order inside a row is ``(*kernel, ins)``. ``ins``: the channels of a group; those that the last groups lack are
    zero. ``few``: the matrix is a transposed view, made along the pixels.
    """

    def __init__(
        self,
        xp: Any,
        x: Any,
        size: tuple,
        kernel: tuple,
        starts: tuple,
        stride: tuple,
        dilation: tuple,
        groups: int,
        ins: int,
    ) -> None:
        self.xp, self.x, self.size, self.kernel, self.starts = xp, x, size, kernel, starts
        self.stride, self.dilation, self.groups, self.ins = stride, dilation, groups, ins
        self.ends = reaches(starts, size, stride, kernel, dilation)
        taps = math.prod(kernel)
        self.width = taps * ins
        one_to_one = groups == taps == 1 and set(stride) <= {1} and set(starts) <= {0}
        self.direct = one_to_one and size == x.shape[1:-1]
        self.few = not self.direct and ins <= FEW_CHANNELS and taps > 1

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
        buffer = self._buffer(images)
        columns = scratch(xp, "columns", (images * rows * per_row * self.width * self.groups,), x.dtype)
        for first in range(0, n, images):
            chosen = slice(first, min(first + images, n))
            if buffer is None:
                source = self._windows(x[(chosen, *[slice(a, None) for a in self.starts])][..., None, :])
            else:
                source = self._windows(self._filled(buffer[: chosen.stop - first], x[chosen]))
            for top in range(0, size[0], rows):
                part = slice(top, min(top + rows, size[0]))
                yield chosen, part, self._matrix(columns, source[:, part])

    def _buffer(self, images: int) -> Any:
        """Memory ``(images, *region, G, ins)`` for the region that is seen, or None where ``x`` itself can be read.

        A group's channels lie side by side, or each channel's pixels where there are few channels.
        """
        x, groups, ins = self.x, self.groups, self.ins
        inside = all([a >= 0 and e <= s for a, e, s in zip(self.starts, self.ends, x.shape[1:-1])])
        if inside and groups == 1 and not self.few and x.strides[-1] == x.itemsize:
            return None
        region = tuple([e - a for a, e in zip(self.starts, self.ends)])
        nd = len(region)
        if self.few:
            memory = scratch(self.xp, "padded", (images, groups, ins, *region), x.dtype)
            buffer = memory.transpose(0, *range(3, 3 + nd), 1, 2)
        else:
            memory = scratch(self.xp, "padded", (groups, images, *region, ins), x.dtype)
            buffer = memory.transpose(*range(1, 2 + nd), 0, 2 + nd)
        if not inside or groups * ins > x.shape[-1]:
            memory[...] = 0
        return buffer

    def _filled(self, buffer: Any, x: Any) -> Any:
        whole = x.shape[-1] // self.ins
        cut = x[..., : whole * self.ins].reshape(*x.shape[:-1], whole, self.ins)
        padded_region(cut, self.starts, self.ends, buffer[..., :whole, :])
        rest = x.shape[-1] - whole * self.ins
        if rest:
            padded_region(x[..., -rest:], self.starts, self.ends, buffer[..., whole, :rest])
        return buffer

    def _windows(self, region: Any) -> Any:
        """``(images, *size, *kernel, G, ins)`` as a view of ``(images, *region, G, ins)``."""
        first, *inner, group, channel = region.strides
        along = [a * s for a, s in zip(inner, self.stride)], [a * d for a, d in zip(inner, self.dilation)]
        shape = (region.shape[0], *self.size, *self.kernel, *region.shape[-2:])
        return self.xp.lib.stride_tricks.as_strided(region, shape, (first, *along[0], *along[1], group, channel))

    def _matrix(self, columns: Any, windows: Any) -> Any:
        nd = len(self.size)
        pixels = math.prod(windows.shape[: 1 + nd])
        places, taps = range(1 + nd), range(1 + nd, 1 + 2 * nd)
        group, channel = 1 + 2 * nd, 2 + 2 * nd
        order = (group, *taps, channel, *places) if self.few else (group, *places, *taps, channel)
        windows = windows.transpose(order)
        flat = columns[: self.groups * pixels * self.width]
        flat.reshape(windows.shape)[...] = windows
        if self.few:
            return flat.reshape(self.groups, self.width, pixels).swapaxes(1, 2)
        return flat.reshape(self.groups, pixels, self.width)

    def weight(self, w: Any) -> Any:
        """A weight ``(G, out, ins, *kernel)`` as the matrix ``(G, taps * ins, out)`` that the columns are multiplied
        with."""
        groups, outs = w.shape[:2]
        taps = tuple(range(3, w.ndim))
        if w.strides[1] >= w.strides[2]:
            rows = self.xp.ascontiguousarray(w.transpose(0, 1, *taps, 2))
            return rows.reshape(groups, outs, self.width).swapaxes(1, 2)
        return self.xp.ascontiguousarray(w.transpose(0, *taps, 2, 1)).reshape(groups, self.width, outs)


def correlate(xp: Any, x: Any, w: Any, bias: Any, out: Any, starts: tuple, stride: tuple, dilation: tuple) -> None:
    """``out[n, o] = bias + sum_k x[n, o * stride + k * dilation + starts] @ w[k]``; ``out`` is ``(N, *O, G * out)``.

    Single precision is summed over blocks of 16 channels, and the blocks then added: shorter sums are more accurate,
    and it is the order of PyTorch's kernels on processors with vectors of 16, so that the results are the same bits.
    """
    groups, outs, ins = w.shape[:3]
    if groups > 1 and is_small(w):
        correlate_depthwise(xp, x, w, out, starts, stride, dilation)
        if bias is not None:
            out += bias
        return
    summed = xp is np and groups == 1 and ins > CHANNELS and math.prod(w.shape[3:]) > 1 and x.dtype == np.float32
    if summed:
        w = _by_channels(xp, w)
    columns = Columns(xp, x, out.shape[1:-1], w.shape[3:], starts, stride, dilation, w.shape[0], w.shape[2])
    matrix = columns.weight(w)
    direct = out.flags.c_contiguous
    for images, rows, block in columns.blocks(64):
        if direct:
            flat = out[images, rows].reshape(block.shape[1], groups, outs)
        else:
            flat = scratch(xp, "product", (block.shape[1], groups, outs), out.dtype)
        if groups > 1:
            xp.matmul(block, matrix, out=flat.swapaxes(0, 1))
        else:
            xp.matmul(block[0], matrix[0], out=flat[:, 0])
        if bias is not None:
            flat += bias.reshape(groups, outs)
        if summed:
            total, part = flat[:, 0], scratch(xp, "part", (block.shape[1], outs), out.dtype)
            for i in range(1, len(matrix)):
                total += xp.matmul(block[i], matrix[i], out=part)
        if not direct:
            out[images, rows] = flat.reshape(out[images, rows].shape)


def _by_channels(xp: Any, w: Any) -> Any:
    """A weight ``(1, out, in, *kernel)`` cut into groups of 16 inputs, ``(parts, out, 16, *kernel)``; none are
    missing."""
    _, outs, ins, *kernel = w.shape
    parts = -(-ins // CHANNELS)
    if ins % CHANNELS:
        given, w = w, xp.zeros((1, outs, parts * CHANNELS, *kernel), w.dtype)
        w[:, :, :ins] = given
    return w.reshape(outs, parts, CHANNELS, *kernel).swapaxes(0, 1)


def weight_gradient(
    xp: Any, x: Any, g: Any, out: Any, groups: int, starts: tuple, stride: tuple, dilation: tuple
) -> None:
    """The gradient ``(G * out, in, *kernel)`` of ``correlate``'s weight, written to ``out``; ``g`` is contiguous."""
    ins, kernel = out.shape[1], out.shape[2:]
    outs = out.shape[0] // groups
    if groups > 1 and outs * ins <= 4:
        weight_gradient_depthwise(xp, x, g, out, groups, starts, stride, dilation)
        return
    columns = Columns(xp, x, g.shape[1:-1], kernel, starts, stride, dilation, groups, ins)
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
