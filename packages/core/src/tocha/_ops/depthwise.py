"""Convolutions whose groups have one channel or two: too small for a matrix product, so multiply and add along rows.

A row of pixels with its channels is one long run in memory. For one tap, the products of a whole row with the tap's
weights (repeated for each pixel) are one pass over that run; einsum does all taps of a row while it is in the cache.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .layout import BLOCK, padded_region, reaches, scratch

LETTERS = "abcdefghijklm"


def is_small(w: Any) -> bool:
    """Whether a weight ``(G, out, in, *kernel)`` has groups for this file."""
    return w.shape[1] * w.shape[2] <= 4


class Rows:
    """The rows of windows of ``x`` (``(N, *S, C)``), block by block: ``(images, *outer, *kernel, width * C)``.

    ``width`` is the last size of the output. Where its stride is 1 the windows overlap in one padded copy of ``x``;
    else each tap along the last dimension has a copy of its own.
    """

    def __init__(
        self, xp: Any, x: Any, size: tuple, kernel: tuple, starts: tuple, stride: tuple, dilation: tuple
    ) -> None:
        self.xp, self.x, self.size, self.kernel = xp, x, size, kernel
        self.starts, self.stride, self.dilation = starts, stride, dilation
        self.nd = len(size)
        self.images = min(x.shape[0], max(1, BLOCK // max(1, size[-1] * x.shape[-1] * self._outer_region())))
        outer, inner = LETTERS[: self.nd - 1], LETTERS[self.nd - 1 : 2 * self.nd - 1]
        self.windows_letters, self.kernel_letters, self.out_letters = f"n{outer}{inner}x", f"{inner}x", f"n{outer}x"

    def _outer_region(self) -> int:
        n = 1
        for o, s, k, d in zip(self.size[:-1], self.stride, self.kernel, self.dilation):
            n *= (o - 1) * s + (k - 1) * d + 1
        return n

    def __iter__(self) -> Any:
        xp, x, nd = self.xp, self.x, self.nd
        if not x.shape[0] or 0 in self.size or not x.shape[-1]:
            return
        width, channels = self.size[-1], x.shape[-1]
        s, d, k = self.stride[-1], self.dilation[-1], self.kernel[-1]
        ends = reaches(self.starts, self.size, self.stride, self.kernel, self.dilation)
        region = tuple([e - a for a, e in zip(self.starts, ends)])
        shape = (*region, channels) if s == 1 else (*region[:-1], k, width, channels)
        buffer = scratch(xp, "padded", (self.images, *shape), x.dtype)
        buffer[...] = 0
        strides = buffer.strides
        rows = strides[1:nd]
        last = d * strides[-2] if s == 1 else strides[-3]
        windows = xp.lib.stride_tricks.as_strided(
            buffer,
            (self.images, *self.size[:-1], *self.kernel, width * channels),
            (
                strides[0],
                *[a * t for a, t in zip(rows, self.stride)],
                *[a * e for a, e in zip(rows, self.dilation)],
                last,
                strides[-1],
            ),
        )
        for first in range(0, x.shape[0], self.images):
            part = slice(first, min(first + self.images, x.shape[0]))
            count = part.stop - first
            if s == 1:
                padded_region(x[part], self.starts, ends, buffer[:count])
            else:
                self._fill_taps(x[part], ends, buffer[:count])
            yield part, windows[:count]

    def _fill_taps(self, x: Any, ends: tuple, buffer: Any) -> None:
        """Copy what each tap along the last dimension sees to ``(images, *region, kernel, width, C)``."""
        s, width = self.stride[-1], self.size[-1]
        for tap in range(self.kernel[-1]):
            low = self.starts[-1] + tap * self.dilation[-1]
            skip = max(0, -(low // s))  # outputs that see only padding on the left
            stop = min(width, -((low - x.shape[-2]) // s))
            if skip < stop:
                source = x[..., low + skip * s : low + (stop - 1) * s + 1 : s, :]
                padded_region(source, self.starts[:-1], ends[:-1], buffer[..., tap, skip:stop, :])


def _repeated(xp: Any, w: Any, width: int) -> Any:
    """Weights ``(C, *kernel)`` of one channel each as ``(*kernel, width * C)``."""
    taps = w.transpose(*range(1, w.ndim), 0)
    out = xp.empty((*taps.shape[:-1], width, taps.shape[-1]), w.dtype)
    out[...] = taps[..., None, :]
    return out.reshape(*taps.shape[:-1], width * taps.shape[-1])


def correlate_depthwise(xp: Any, x: Any, w: Any, out: Any, starts: tuple, stride: tuple, dilation: tuple) -> None:
    """``correlation.correlate`` for small groups, without bias."""
    outs, ins = w.shape[1:3]
    size, kernel, nd = out.shape[1:-1], w.shape[3:], w.ndim - 3
    if not ins:
        out[...] = 0
    for o in range(outs):
        target = out[..., o::outs]
        for i in range(ins):
            rows = Rows(xp, x[..., i::ins], size, kernel, starts, stride, dilation)
            taps = _repeated(xp, w[:, o, i], size[-1])
            subscripts = f"{rows.windows_letters},{rows.kernel_letters}->{rows.out_letters}"
            for part, windows in rows:
                shape = (*windows.shape[:nd], windows.shape[-1])
                if outs == 1 and ins == 1 and target.flags.c_contiguous and xp is np:
                    xp.einsum(subscripts, windows, taps, out=target[part].reshape(shape))
                    continue
                product = xp.einsum(subscripts, windows, taps).reshape(target[part].shape)
                if i:
                    target[part] += product
                else:
                    target[part] = product


def weight_gradient_depthwise(
    xp: Any, x: Any, g: Any, out: Any, groups: int, starts: tuple, stride: tuple, dilation: tuple
) -> None:
    """``correlation.weight_gradient`` for small groups."""
    outs, ins, kernel, size = g.shape[-1] // groups, out.shape[1], out.shape[2:], g.shape[1:-1]
    nd = len(kernel)
    out[...] = 0
    result = out.reshape(groups, outs, ins, *kernel)
    for o, i in itertools.product(range(outs), range(ins)):
        seen = g[..., o::outs]
        rows = Rows(xp, x[..., i::ins], size, kernel, starts, stride, dilation)
        subscripts = f"{rows.windows_letters},{rows.out_letters}->{rows.kernel_letters}"
        for part, windows in rows:
            along = xp.ascontiguousarray(seen[part]).reshape(*windows.shape[:nd], windows.shape[-1])
            sums = xp.einsum(subscripts, windows, along).reshape(*kernel, size[-1], groups).sum(nd)
            result[:, o, i] += sums.transpose(nd, *range(nd))
