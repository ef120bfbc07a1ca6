"""Operators that normalise rows: layer norm and RMS norm.

A row is one sample's part over the last dimensions. The kernels work on blocks of rows that stay in the cache, in place
in the result; only the rows' mean and scale are kept for the gradient.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._core.families import operator
from .batch_norm import cast_like, widened
from .dims import product
from .layout import BLOCK, on_arrays, scratch
from .reduction import sum_dims
from .tie import tied
from .unary import rsqrt


def _rows(xp: Any, x: Any, length: int) -> Any:
    return xp.ascontiguousarray(x).reshape(x.size // max(1, length), length)


def _blocks(rows: Any) -> Iterator[slice]:
    step = max(1, BLOCK // max(1, rows.shape[1]))
    for first in range(0, rows.shape[0], step):
        yield slice(first, first + step)


def _column(xp: Any, rows: Any, of: Any) -> Any:
    """The sums of ``rows * of`` along the rows."""
    return xp.matmul(rows, of) if of.ndim == 1 else xp.einsum("rl,rl->r", rows, of)


def _flat(v: Any) -> Any:
    return None if v is None else widened(v).reshape(-1)


def _layer_kernel(xp: Any, x: Any, weight: Any, bias: Any, ndim: int, eps: float) -> tuple:
    """``(y, the rows' mean, the rows' 1 / sqrt(variance + eps))``."""
    length = math.prod(x.shape[x.ndim - ndim :])
    rows = _rows(xp, widened(x), length)
    dtype = rows.dtype
    w, b = _flat(weight), _flat(bias)
    out = xp.empty(rows.shape, dtype)
    mean, rstd = xp.empty(rows.shape[0], dtype), xp.empty(rows.shape[0], dtype)
    share = xp.full(length, 1 / max(1, length), dtype)
    for part in _blocks(rows):
        y = out[part]
        mean[part] = _column(xp, rows[part], share)
        xp.subtract(rows[part], mean[part, None], out=y)
        variance = _column(xp, y, y)
        variance /= max(1, length)
        variance += dtype.type(eps)
        xp.sqrt(variance, out=variance)
        rstd[part] = 1 / variance
        y *= rstd[part, None]
        if w is not None:
            y *= w
        if b is not None:
            y += b
    return out.reshape(x.shape).astype(x.dtype, copy=False), mean, rstd


def _kept_dims(x: Any, ndim: int) -> tuple:
    return tuple(range(len(x.shape) - ndim, len(x.shape)))


def _layer_rule(n: Any, g: Any) -> tuple:
    """In primitives, so that it can be differentiated again."""
    x, weight = n.saved
    ndim, eps = n.attrs
    to_x, to_weight, to_bias = n.edges
    dims = _kept_dims(x, ndim)
    length = product([x.shape[d] for d in dims])
    centred = x - sum_dims(x, dims, True) / length
    rstd = rsqrt(sum_dims(centred * centred, dims, True) / length + eps)
    normal = centred * rstd
    outer = tuple(range(len(x.shape) - ndim))
    like = g if weight is None else weight
    gw = None if to_weight is None else cast_like(sum_dims(g * normal, outer, False) if outer else g * normal, like)
    gb = None if to_bias is None else cast_like(tied(sum_dims(g, outer, False) if outer else g, x), like)
    gx = None
    if to_x is not None:
        if weight is not None:
            g = g * weight
        gx = (g - sum_dims(g, dims, True) / length - normal * (sum_dims(g * normal, dims, True) / length)) * rstd
        gx = cast_like(gx, x)
    return gx, gw, gb


def _layer_rule_raw(xp: Any, n: Any, g: Any) -> tuple:
    if n.aux is None:
        return _layer_rule(n, g)
    given, weight = n.saved
    ndim, eps = n.attrs
    mean, rstd = n.aux
    to_x, to_weight, to_bias = n.edges
    shape = given.shape[given.ndim - ndim :]
    length = math.prod(shape)
    rows, g_rows = _rows(xp, widened(given), length), _rows(xp, widened(g), length)
    dtype = rows.dtype
    w = _flat(weight)
    share = xp.full(length, 1 / max(1, length), dtype)
    gx = None if to_x is None else xp.empty(rows.shape, dtype)
    gw, gb = xp.zeros(length, np.float64), xp.zeros(length, np.float64)
    for part in _blocks(rows):
        g_block = g_rows[part]
        normal = scratch(xp, "centred", g_block.shape, dtype)
        xp.subtract(rows[part], mean[part, None], out=normal)
        normal *= rstd[part, None]
        if to_weight is not None:
            gw += xp.einsum("rl,rl->l", g_block, normal)
        if to_bias is not None:
            gb += xp.matmul(xp.ones(g_block.shape[0], dtype), g_block)
        if gx is None:
            continue
        out = gx[part]
        if w is None:
            out[...] = g_block
        else:
            xp.multiply(g_block, w, out=out)
        along = _column(xp, out, normal)
        along /= max(1, length)
        out -= _column(xp, out, share)[:, None]
        normal *= along[:, None]
        out -= normal
        out *= rstd[part, None]
    parameter = given.dtype if weight is None else weight.dtype
    return (
        None if gx is None else gx.reshape(given.shape).astype(given.dtype, copy=False),
        None if to_weight is None else gw.reshape(shape).astype(parameter),
        None if to_bias is None else gb.reshape(shape).astype(parameter),
    )


layer_norm_op = operator(
    "layer_norm",
    _layer_kernel,
    _layer_rule,
    lambda x, weight, bias, ndim, eps: (x.shape, x.dtype),
    arity=3,
    save=(0, 1),
    aux=2,
)
layer_norm_op.op.backward = on_arrays(_layer_rule_raw, _layer_rule)  # type: ignore[attr-defined]

# ---------------------------------------------------------------- RMS norm


def _rms_kernel(xp: Any, x: Any, weight: Any, ndim: int, eps: float) -> tuple:
    """``(y, the rows' 1 / sqrt(mean of squares + eps))``."""
    length = math.prod(x.shape[x.ndim - ndim :])
    rows = _rows(xp, widened(x), length)
    dtype = rows.dtype
    w = _flat(weight)
    out = xp.empty(rows.shape, dtype)
    rstd = xp.empty(rows.shape[0], dtype)
    for part in _blocks(rows):
        y = out[part]
        squares = _column(xp, rows[part], rows[part])
        squares /= max(1, length)
        squares += dtype.type(eps)
        rstd[part] = 1 / xp.sqrt(squares)
        xp.multiply(rows[part], rstd[part, None], out=y)
        if w is not None:
            y *= w
    return out.reshape(x.shape).astype(x.dtype, copy=False), rstd


def _rms_rule(n: Any, g: Any) -> tuple:
    """In primitives, so that it can be differentiated again."""
    x, weight = n.saved
    ndim, eps = n.attrs
    to_x, to_weight = n.edges
    dims = _kept_dims(x, ndim)
    length = product([x.shape[d] for d in dims])
    rstd = rsqrt(sum_dims(x * x, dims, True) / length + eps)
    normal = x * rstd
    outer = tuple(range(len(x.shape) - ndim))
    gw = gx = None
    if to_weight is not None:
        gw = cast_like(sum_dims(g * normal, outer, False) if outer else g * normal, weight)
    if to_x is not None:
        if weight is not None:
            g = g * weight
        gx = cast_like((g - normal * (sum_dims(g * normal, dims, True) / length)) * rstd, x)
    return gx, gw


def _rms_rule_raw(xp: Any, n: Any, g: Any) -> tuple:
    if n.aux is None:
        return _rms_rule(n, g)
    given, weight = n.saved
    ndim, eps = n.attrs
    (rstd,) = n.aux
    to_x, to_weight = n.edges
    shape = given.shape[given.ndim - ndim :]
    length = math.prod(shape)
    rows, g_rows = _rows(xp, widened(given), length), _rows(xp, widened(g), length)
    dtype = rows.dtype
    w = _flat(weight)
    gx = None if to_x is None else xp.empty(rows.shape, dtype)
    gw = xp.zeros(length, np.complex128 if dtype.kind == "c" else np.float64)
    for part in _blocks(rows):
        g_block = g_rows[part]
        normal = xp.multiply(rows[part], rstd[part, None], out=scratch(xp, "centred", g_block.shape, dtype))
        if to_weight is not None:
            gw += xp.einsum("rl,rl->l", g_block, normal)
        if gx is None:
            continue
        out = gx[part]
        if w is None:
            out[...] = g_block
        else:
            xp.multiply(g_block, w, out=out)
        along = _column(xp, out, normal)
        along /= max(1, length)
        normal *= along[:, None]
        out -= normal
        out *= rstd[part, None]
    return (
        None if gx is None else gx.reshape(given.shape).astype(given.dtype, copy=False),
        None if to_weight is None else gw.reshape(shape).astype(weight.dtype),
    )


rms_norm_op = operator(
    "rms_norm", _rms_kernel, _rms_rule, lambda x, weight, ndim, eps: (x.shape, x.dtype), arity=2, save=(0, 1), aux=1
)
rms_norm_op.op.backward = on_arrays(_rms_rule_raw, _rms_rule)  # type: ignore[attr-defined]
