"""GELU (https://arxiv.org/abs/1606.08415), exact and by its tanh approximation.

The kernels compute the derivative beside the value: both need the same transcendental functions. They go through
the array in blocks that stay in the processor's cache, writing into the same few scratch arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.families import operator
from .activation import f32, not_implemented
from .unary import exp, tanh

ndarray = np.ndarray
BLOCK = 1 << 15
_C, _CUBE = math.sqrt(2 / math.pi), 0.044715
_DENSITY = 1 / math.sqrt(2 * math.pi)
# erf(x / sqrt(2)) = tanh(x P(x²)): a fit of degree 6 whose error in x Phi(x) is 7e-8 (weighted least squares,
# reweighted towards the largest error); P is positive everywhere, so that the tanh saturates as it should
_P = (7.97884216e-01, 3.63342835e-02, -3.31299840e-05, -5.52401614e-05, 3.96910987e-06, -1.33446435e-07, 1.80561698e-09)


def _erf_block(x: ndarray, y: ndarray, d: ndarray, t: ndarray, e: ndarray) -> None:
    """``y = x * Phi(x)`` and ``d`` its derivative, for float32; ``t`` and ``e`` are scratch."""
    np.multiply(x, x, out=e)
    np.multiply(e, _P[6], out=t)
    for p in _P[5:0:-1]:
        t += p
        t *= e
    t += _P[0]
    t *= x
    np.tanh(t, out=t)
    t *= 0.5
    t += 0.5
    np.multiply(x, t, out=y)
    e *= -0.5
    np.exp(e, out=e)
    e *= x
    e *= _DENSITY
    np.add(t, e, out=d)


def _erf_exactly(x: ndarray, y: ndarray, d: ndarray, t: ndarray, e: ndarray) -> None:
    """The same for float64."""
    from scipy.special import erfc

    np.multiply(x, -math.sqrt(0.5), out=t)
    erfc(t, out=y)
    y *= 0.5
    np.multiply(x, x, out=e)
    e *= -0.5
    np.exp(e, out=e)
    e *= x
    e *= _DENSITY
    np.add(y, e, out=d)
    y *= x


def _tanh_block(x: ndarray, y: ndarray, d: ndarray, t: ndarray, e: ndarray) -> None:
    np.multiply(x, x, out=e)
    np.multiply(e, _CUBE * _C, out=t)
    t += _C
    t *= x
    np.tanh(t, out=t)
    e *= 3 * _CUBE * _C
    e += _C  # the derivative of what the tanh is taken of
    e *= x
    e *= 0.5
    np.multiply(t, t, out=y)
    np.subtract(1, y, out=y)
    e *= y
    t += 1
    t *= 0.5
    np.multiply(x, t, out=y)
    np.add(t, e, out=d)


def _in_blocks(block: Callable, x: ndarray) -> tuple[ndarray, ndarray]:
    y, d = np.empty_like(x), np.empty_like(x)
    if y.strides != x.strides or not (y.flags.c_contiguous or y.flags.f_contiguous):
        x, y, d = np.ascontiguousarray(x), np.empty(x.shape, x.dtype), np.empty(x.shape, x.dtype)
    flat, into, slope = [a.ravel("K") for a in (x, y, d)]
    size = min(BLOCK, flat.size)
    t, e = np.empty(size, x.dtype), np.empty(size, x.dtype)
    for start in range(0, flat.size, BLOCK):
        part = slice(start, start + BLOCK)
        n = min(BLOCK, flat.size - start)
        block(flat[part], into[part], slope[part], t[:n], e[:n])
    return y, d


def _anywhere(xp: Any, x: Any, approximate: str) -> tuple:
    """The formulas in plain array operations, for devices."""
    if approximate == "tanh":
        square = x * x
        t = xp.tanh(x * (square * (_CUBE * _C) + _C))
        cdf = (t + 1) * 0.5
        return x * cdf, cdf + x * 0.5 * (1 - t * t) * (square * (3 * _CUBE * _C) + _C)
    if x.dtype == f32:
        square = x * x
        p = square * _P[6]
        for term in _P[5:0:-1]:
            p = (p + term) * square
        cdf = xp.tanh((p + _P[0]) * x) * 0.5 + 0.5
    else:
        from .special_functions import scipy_function

        cdf = (scipy_function(xp, "erf")(x * math.sqrt(0.5)) + 1) * 0.5
    return x * cdf, cdf + x * xp.exp(x * x * -0.5) * _DENSITY


def _gelu_kernel(xp: Any, x: Any, approximate: str) -> tuple:
    dtype = x.dtype
    if dtype.kind not in "fV":
        raise not_implemented("GeluKernelImpl", dtype)
    if dtype.itemsize == 2:
        y, slope = _gelu_kernel(xp, x.astype(f32), approximate)
        return y.astype(dtype), slope.astype(dtype)
    if xp is not np:
        return _anywhere(xp, x, approximate)
    return _in_blocks(_tanh_block if approximate == "tanh" else _erf_block if dtype == f32 else _erf_exactly, x)


def _gelu_rule(n: Any, g: Any) -> tuple:
    if n.aux is not None and n.aux[0] is not None:
        return (g * n.aux[0],)
    (x,) = n.saved
    if n.attrs[0] == "tanh":
        square = x * x
        t = tanh(x * (square * (_CUBE * _C) + _C))
        return (g * ((t + 1) * 0.5 + x * 0.5 * (1 - t * t) * (square * (3 * _CUBE * _C) + _C)),)
    cdf = (operators["erf"](x * math.sqrt(0.5)) + 1) * 0.5
    return (g * (cdf + x * exp(x * x * -0.5) * _DENSITY),)


gelu_op = operator(
    "gelu", _gelu_kernel, _gelu_rule, lambda x, approximate: [(x.shape, x.dtype), (x.shape, x.dtype)], save=(0,), aux=1
)
