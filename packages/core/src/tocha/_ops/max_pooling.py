"""Operators of max pooling: the maximum over windows, its gradient, and where the maximum is.

No array of indices is kept for the gradient: a window's maximum is found again by comparing, the first one in reading
order winning as in PyTorch. Taps that fall into the padding are left out, so nothing is padded.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._core.dtypes import NP_INT64
from .._core.families import operator
from .layout import BLOCK, new_like, to_last


def pooled_size(n: Any, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> Any:
    """The number of windows along a dimension of ``n`` elements; with ``ceil_mode`` the last may go over the edge."""
    out = (n + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (out - 1) * stride >= n + padding:
        out = out - 1
    return out


def pooled_shape(x: Any, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, ceil_mode: bool) -> tuple:
    sizes = [
        pooled_size(n, k, s, p, d, ceil_mode) for n, k, s, p, d in zip(x.shape[2:], kernel, stride, padding, dilation)
    ]
    return (*x.shape[:2], *sizes)


def taps(n: int, out: int, kernel: int, stride: int, padding: int, dilation: int) -> list[tuple[slice, slice]]:
    """For each tap of a window in one dimension: the outputs that it serves and the elements they see through it."""
    found = []
    for k in range(kernel):
        offset = k * dilation - padding
        low = max(0, -(offset // stride))
        high = min(out, -((offset - n) // stride))
        if low < high:
            found.append((slice(low, high), slice(offset + low * stride, offset + (high - 1) * stride + 1, stride)))
    return found


def image_blocks(n: int, per_image: int) -> Iterator[slice]:
    """Slices over the images, of about ``BLOCK`` elements each."""
    step = max(1, BLOCK // max(1, per_image))
    for first in range(0, n, step):
        yield slice(first, first + step)


def _max_kernel(xp: Any, x: Any, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, ceil_mode: bool) -> Any:
    given, shape = x, pooled_shape(x, kernel, stride, padding, dilation, ceil_mode)
    for axis in range(2, x.ndim):  # the maximum over a box is the maximum along one dimension after the other
        i = axis - 2
        size = shape[axis]
        if kernel[i] == 1 and stride[i] == 1 and not padding[i]:
            continue
        served = taps(x.shape[axis], size, kernel[i], stride[i], padding[i], dilation[i])
        served.sort(key=lambda tap: tap[0].start - tap[0].stop)  # one that serves every output first
        out = new_like(xp, x, (*x.shape[:axis], size, *x.shape[axis + 1 :]))
        lead = (slice(None),) * axis
        first, seen = served[0]
        if first.stop - first.start == size:
            rest = served[1:]
            if rest and rest[0][0] == first:
                xp.maximum(x[(*lead, seen)], x[(*lead, rest[0][1])], out=out)
                rest = rest[1:]
            else:
                out[...] = x[(*lead, seen)]
        else:
            out[...] = -np.inf if x.dtype.kind in "fV" else np.iinfo(x.dtype).min
            rest = served
        for outputs, inputs in rest:
            part = out[(*lead, outputs)]
            xp.maximum(part, x[(*lead, inputs)], out=part)
        x = out
    return x.copy() if x is given else x


def _matches(xp: Any, x: Any, y: Any, attrs: tuple) -> Iterator[tuple[tuple, tuple, Any]]:
    """Tap by tap ``(outputs, inputs, whether the maximum of those outputs is this tap)`` for raw channels-last
    views."""
    kernel, stride, padding, dilation = attrs
    per_dim = [
        taps(n, o, *numbers) for n, o, *numbers in zip(x.shape[1:-1], y.shape[1:-1], kernel, stride, padding, dilation)
    ]
    free = xp.ones(y.shape, bool)
    nan = xp is not np or bool((y != y).any())  # looking would wait for a GPU
    for choice in itertools.product(*per_dim):
        outputs = (slice(None), *[c[0] for c in choice])
        inputs = (slice(None), *[c[1] for c in choice])
        match = x[inputs] == y[outputs]
        if nan:
            match |= x[inputs] != x[inputs]
        match &= free[outputs]
        free[outputs] ^= match
        yield outputs, inputs, match


def _blocks(x: Any, y: Any) -> Iterator[tuple[slice, Any, Any]]:
    """Blocks of images as channels-last views of ``x`` and ``y``."""
    x, y = to_last(x), to_last(y)
    for part in image_blocks(x.shape[0], y[:1].size):
        yield part, x[part], y[part]


def _backward_kernel(
    xp: Any, g: Any, x: Any, y: Any, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, ceil_mode: bool
) -> Any:
    out = new_like(xp, x, x.shape)
    disjoint = all([d * (k - 1) < s for k, s, d in zip(kernel, stride, dilation)])
    covered = disjoint and all(
        [k == s and not p and k * o == n for k, s, p, o, n in zip(kernel, stride, padding, y.shape[2:], x.shape[2:])]
    )
    if not covered:
        out[...] = 0
    g_order = new_like(xp, x, g.shape)
    if g_order.strides != g.strides:
        g_order[...] = g
        g = g_order
    g_last, out_last = to_last(g), to_last(out)
    for part, x_part, y_part in _blocks(x, y):
        g_part, out_part = g_last[part], out_last[part]
        for outputs, inputs, match in _matches(xp, x_part, y_part, (kernel, stride, padding, dilation)):
            if disjoint:
                xp.multiply(g_part[outputs], match, out=out_part[inputs])
            else:
                out_part[inputs] += g_part[outputs] * match
    return out


def _pick_kernel(
    xp: Any, c: Any, x: Any, y: Any, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, ceil_mode: bool
) -> Any:
    out = new_like(xp, x, y.shape)
    out[...] = 0
    c_last, out_last = to_last(c), to_last(out)
    for part, x_part, y_part in _blocks(x, y):
        c_part, out_part = c_last[part], out_last[part]
        for outputs, inputs, match in _matches(xp, x_part, y_part, (kernel, stride, padding, dilation)):
            out_part[outputs] += c_part[inputs] * match
    return out


def _max_rule(n: Any, g: Any) -> tuple:
    return (max_pool_backward(g, *n.saved, *n.attrs),)


max_pool = operator(
    "max_pool",
    _max_kernel,
    _max_rule,
    lambda x, *attrs: (pooled_shape(x, *attrs), x.dtype),
    save=(0, "y"),
)
max_pool_backward = operator(
    "max_pool_backward",
    _backward_kernel,
    lambda n, c: (_max_pool_pick(c, *n.saved, *n.attrs), None, None),
    lambda g, x, y, *attrs: (x.shape, g.dtype),
    arity=3,
    save=(1, 2),
    linear=True,
)
_max_pool_pick: Callable = operator(
    "max_pool_pick",
    _pick_kernel,
    lambda n, g: (max_pool_backward(g, *n.saved, *n.attrs), None, None),
    lambda c, x, y, *attrs: (y.shape, c.dtype),
    arity=3,
    save=(1, 2),
    linear=True,
)

# ---------------------------------------------------------------- where the maximum is


def regular_windows(n: int, out: int, kernel: int, stride: int, padding: int, dilation: int) -> tuple:
    """The windows of one dimension without their part in the padding, as ``(first element, count, step)`` each."""
    found = []
    for i in range(out):
        first = i * stride - padding
        skip = max(0, -(first // dilation)) if first < 0 else 0
        count = min(kernel, (n - 1 - first) // dilation + 1) - skip
        found.append((first + skip * dilation, count, dilation))
    return tuple(found)


def _indices_kernel(xp: Any, x: Any, windows: tuple) -> Any:
    position: Any = None
    multiplier = 1
    for axis in range(x.ndim - 1, 1, -1):  # the last dimension first: ties go to the first in reading order
        spans = windows[axis - 2]
        best = None
        for tap in range(max([count for _, count, _ in spans], default=0)):
            index = np.array([first + min(tap, count - 1) * step for first, count, step in spans], NP_INT64)
            on_device = xp.asarray(index)
            value = xp.take(x, on_device, axis)
            if position is None:
                where = xp.broadcast_to(on_device, value.shape)
            else:
                where = xp.take(position, on_device, axis) + (on_device * multiplier).reshape(
                    -1, *(1,) * (x.ndim - 1 - axis)
                )
            if best is None:
                best, found = value, where
            else:
                better = (value > best) | (value != value)
                best, found = xp.where(better, value, best), xp.where(better, where, found)
        if best is None:
            return xp.zeros((*x.shape[:2], *[len(s) for s in windows]), NP_INT64)
        multiplier *= x.shape[axis]
        x, position = best, found
    return xp.ascontiguousarray(position)


max_pool_indices = operator(
    "max_pool_indices",
    _indices_kernel,
    None,
    lambda x, windows: ((*x.shape[:2], *[len(spans) for spans in windows]), NP_INT64),
)
