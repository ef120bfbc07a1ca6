"""The order of memory behind PyTorch's logical shapes, and scratch memory for kernels.

Kernels over images work in channels-last order: their results have the logical shape ``(N, C, *spatial)`` and keep the
channels of a pixel side by side in memory, as ``tocha.channels_last`` does. NumPy's elementwise operators keep that
order, so a network stays in it from its first convolution on. Why: a window's pixels are then copied in long runs, a
1x1 convolution is one matrix product, and a pool or a norm is a loop over contiguous rows.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import arrays

KEPT = 1 << 24  # bytes; a larger buffer is not kept between calls
BLOCK = 1 << 16  # elements that a blocked pass works on at a time, so that they stay in the cache

_local = threading.local()


def to_last(x: Any) -> Any:
    """A raw ``(N, C, *spatial)`` array as a view ``(N, *spatial, C)``."""
    return x.transpose(0, *range(2, x.ndim), 1)


def to_first(x: Any) -> Any:
    """A raw ``(N, *spatial, C)`` array as a view ``(N, C, *spatial)``."""
    return x.transpose(0, x.ndim - 1, *range(1, x.ndim - 1))


def channels_are_dense(x: Any) -> bool:
    """Whether a raw ``(N, C, *spatial)`` array is in channels-last order."""
    strides = x.strides
    return x.ndim > 2 and strides[1] == x.itemsize and (x.shape[1] > 1 or min(strides[2:]) == x.itemsize)


def dense_last(xp: Any, x: Any) -> Any:
    """A raw ``(N, C, *spatial)`` array as a contiguous ``(N, *spatial, C)``: a view where it is in that order, else a
    copy."""
    return xp.ascontiguousarray(to_last(x))


def new_last(xp: Any, shape: tuple, dtype: Any) -> Any:
    """An uninitialised array of the logical ``shape`` ``(N, C, *spatial)`` in channels-last order."""
    return to_first(xp.empty((shape[0], *shape[2:], shape[1]), dtype))


def new_like(xp: Any, x: Any, shape: tuple) -> Any:
    """An uninitialised array of ``shape`` in the memory order of ``x``: channels-last, or plain."""
    return new_last(xp, shape, x.dtype) if channels_are_dense(x) else xp.empty(shape, x.dtype)


def scratch(xp: Any, role: str, shape: tuple, dtype: Any) -> Any:
    """Uninitialised memory for one kernel call. On the CPU a thread keeps it by ``role``: fresh pages are slow."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if xp is not np or size > KEPT:
        return xp.empty(shape, dtype)
    kept = _local.__dict__.get(role)
    if kept is None or kept.nbytes < size:
        kept = np.empty(max(size, 1), np.uint8)
        setattr(_local, role, kept)
    return kept[:size].view(dtype).reshape(shape)


def padded_region(x: Any, starts: tuple, ends: tuple, out: Any) -> None:
    """Copy the region ``[starts, ends)`` of the dimensions from 1 on to ``out``; elements outside of ``x`` are left
    alone."""
    source: list = [slice(None)]
    target: list = [slice(None)]
    for size, start, end in zip(x.shape[1:], starts, ends):
        low, high = max(start, 0), min(end, size)
        if high <= low:
            return
        source.append(slice(low, high))
        target.append(slice(low - start, high - start))
    out[tuple(target)] = x[tuple(source)]


def reaches(starts: tuple, size: tuple, stride: tuple, kernel: tuple, dilation: tuple) -> tuple:
    """The ends of the region that windows of ``kernel`` taps at ``size`` positions from ``starts`` on see."""
    return tuple([a + (o - 1) * s + (k - 1) * d + 1 for a, o, s, k, d in zip(starts, size, stride, kernel, dilation)])


def pixel_sum(xp: Any, x: Any) -> Any:
    """The sum of a raw ``(N, C, *spatial)`` array over all dimensions but the channels."""
    rows = dense_last(xp, x).reshape(-1, x.shape[1])
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":
        return xp.matmul(xp.ones(rows.shape[0], np.float32), rows.astype(np.float32)).astype(x.dtype)
    if x.dtype.kind in "fc":  # a product with ones is several times faster than a reduction
        return xp.matmul(xp.ones(rows.shape[0], x.dtype), rows)
    return rows.sum(0)


def on_arrays(fast: Callable, plain: Callable) -> Callable:
    """A backward rule that runs ``fast(xp, node, g)`` on real arrays and ``plain(node, g)`` on traced values."""

    def rule(n: Any, g: Any) -> tuple:
        module = arrays.for_array(next(iter(g.values())) if isinstance(g, dict) else g)
        return plain(n, g) if module is None else fast(module.xp, n, g)

    return rule
