"""Operators of average pooling: sums over windows, one dimension after the other, then one division."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.families import half_as_float, operator
from .layout import new_like
from .max_pooling import pooled_shape, taps
from .tie import tied


def _divisors(n: int, out: int, kernel: int, stride: int, padding: int, count_include_pad: bool) -> np.ndarray:
    """The number of elements that each window of one dimension counts."""
    first = np.arange(out) * stride - padding
    end = np.minimum(first + kernel, n + padding)
    if count_include_pad:
        return end - first
    return np.minimum(end, n) - np.maximum(first, 0)


def _divisor(xp: Any, size: tuple, out: tuple, attrs: tuple, dtype: Any) -> Any:
    """What the sums are divided by: a number, or an array ``(*out)``."""
    kernel, stride, padding, ceil_mode, count_include_pad, override = attrs
    if override is not None:
        return override
    whole: Any = 1
    uniform = True
    for i, (n, o, k, s, p) in enumerate(zip(size, out, kernel, stride, padding)):
        counts = _divisors(n, o, k, s, p, count_include_pad)
        uniform = uniform and bool((counts == k).all())
        whole = whole * counts.reshape(-1, *(1,) * (len(kernel) - 1 - i))
    if uniform:
        number = 1
        for k in kernel:
            number *= k
        return number
    return xp.asarray(whole.astype(dtype))


def _avg_kernel(
    xp: Any, x: Any, kernel: tuple, stride: tuple, padding: tuple, ceil_mode: bool, include: bool, override: Any
) -> Any:
    shape = pooled_shape(x, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    divisor = _divisor(xp, x.shape[2:], shape[2:], (kernel, stride, padding, ceil_mode, include, override), x.dtype)
    for axis in range(2, x.ndim):
        i = axis - 2
        if kernel[i] == 1 and stride[i] == 1 and not padding[i]:
            continue
        served = taps(x.shape[axis], shape[axis], kernel[i], stride[i], padding[i], 1)
        served.sort(key=lambda tap: tap[0].start - tap[0].stop)
        out = new_like(xp, x, (*x.shape[:axis], shape[axis], *x.shape[axis + 1 :]))
        lead = (slice(None),) * axis
        first, seen = served[0]
        if first.stop - first.start == shape[axis]:
            out[...] = x[(*lead, seen)]
            served = served[1:]
        else:
            out[...] = 0
        for outputs, inputs in served:
            out[(*lead, outputs)] += x[(*lead, inputs)]
        x = out
    return _divide(x, divisor)


def _divide(x: Any, divisor: Any) -> Any:
    if x.dtype.kind in "iu":  # PyTorch divides towards zero
        return (abs(x) // abs(divisor) * (1 if not isinstance(divisor, int) or divisor > 0 else -1)) * ((x > 0) * 2 - 1)
    return x / divisor


def _avg_backward_kernel(
    xp: Any,
    g: Any,
    size: tuple,
    kernel: tuple,
    stride: tuple,
    padding: tuple,
    ceil_mode: bool,
    include: bool,
    override: Any,
) -> Any:
    g = g / _divisor(xp, size, g.shape[2:], (kernel, stride, padding, ceil_mode, include, override), g.dtype)
    for axis in range(2, g.ndim):
        i = axis - 2
        if kernel[i] == 1 and stride[i] == 1 and not padding[i]:
            continue
        out = new_like(xp, g, (*g.shape[:axis], size[i], *g.shape[axis + 1 :]))
        lead = (slice(None),) * axis
        served = taps(size[i], g.shape[axis], kernel[i], stride[i], padding[i], 1)
        disjoint = kernel[i] <= stride[i]
        if not (disjoint and kernel[i] == stride[i] and not padding[i] and kernel[i] * g.shape[axis] == size[i]):
            out[...] = 0
        for outputs, inputs in served:
            if disjoint:
                out[(*lead, inputs)] = g[(*lead, outputs)]
            else:
                out[(*lead, inputs)] += g[(*lead, outputs)]
        g = out
    return g


avg_pool = operator(
    "avg_pool",
    half_as_float(_avg_kernel),
    lambda n, g: (tied(_avg_pool_backward(g, tuple(n.shape[2:]), *n.attrs), n.saved[0]),),
    lambda x, kernel, stride, padding, ceil_mode, *rest: (
        pooled_shape(x, kernel, stride, padding, (1,) * len(kernel), ceil_mode),
        x.dtype,
    ),
    save=(0,),
    linear=True,
)
_avg_pool_backward: Callable = operator(
    "avg_pool_backward",
    half_as_float(_avg_backward_kernel),
    lambda n, c: (avg_pool(c, *n.attrs[1:]),),
    lambda g, size, *attrs: ((*g.shape[:2], *size), g.dtype),
    linear=True,
)
