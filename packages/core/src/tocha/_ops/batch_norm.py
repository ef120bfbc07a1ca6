"""Operators of batch normalisation: with the batch's statistics (training), and with given ones (inference).

Both walk over the input in blocks that stay in the cache. Sums are products with ones and einsum, several times faster
than NumPy's reductions; they are kept in float64 between blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.dtypes import NP_FLOAT32, NP_FLOAT64
from .._core.families import operator
from .dims import product
from .layout import BLOCK, channels_are_dense, new_like, on_arrays, scratch, to_last
from .reduction import sum_dims
from .tie import tied
from .unary import rsqrt

ROW = 1 << 11  # elements
FAR = 3.0  # a mean this many times the standard deviation is taken off before products are summed


class Channels:
    """A raw ``(N, C, *spatial)`` array as rows of pixels with their channels where its memory allows, else as
    ``(N, C, pixels)``.

    A row is several pixels long (``tile``), since NumPy's loops have a cost a row.
    """

    def __init__(self, xp: Any, x: Any) -> None:
        self.xp, self.count = xp, x.shape[1]
        self.rows = x.ndim == 2 or channels_are_dense(x)
        pixels = math.prod(x.shape[2:])
        self.tile = 1
        if self.rows:
            pixels *= x.shape[0]
            while self.tile * 2 * self.count <= ROW and pixels and pixels % (self.tile * 2) == 0:
                self.tile *= 2
            self.shape: tuple = (pixels // self.tile, self.tile * self.count)
        else:
            self.shape = (x.shape[0], x.shape[1], pixels)

    def flat(self, x: Any) -> Any:
        """The rows (or 3-d array) of an array of the same memory order; of another order, of a copy."""
        return self.xp.ascontiguousarray(to_last(x) if self.rows and x.ndim > 2 else x).reshape(self.shape)

    def blocks(self, flat: Any) -> Iterator[slice]:
        step = max(1, BLOCK // max(1, flat[:1].size))
        for first in range(0, flat.shape[0], step):
            yield slice(first, first + step)

    def sum(self, block: Any) -> Any:
        """The sums over the pixels."""
        if not self.rows:
            return block.sum(2).sum(0)
        return self._joined(self.xp.matmul(self.xp.ones(block.shape[0], block.dtype), block))

    def dot(self, a: Any, b: Any) -> Any:
        """The sums of products over the pixels."""
        if not self.rows:
            return self.xp.einsum("ncl,ncl->c", a, b)
        return self._joined(self.xp.einsum("pc,pc->c", a, b))

    def _joined(self, row: Any) -> Any:
        return row if self.tile == 1 else row.reshape(self.tile, self.count).sum(0, dtype=NP_FLOAT64)

    def spread(self, per_channel: Any) -> Any:
        """A vector, to be broadcast over the pixels."""
        if not self.rows:
            return per_channel[:, None]
        return per_channel if self.tile == 1 else self.xp.tile(per_channel, self.tile)

    def like(self, x: Any) -> tuple[Any, Any]:
        """A new array like ``x`` and its flat view."""
        out = new_like(self.xp, x, x.shape)
        return out, (to_last(out) if self.rows and x.ndim > 2 else out).reshape(self.shape)


def _scale(xp: Any, channels: Channels, x: Any, scale: Any, shift: Any) -> Any:
    out, flat_out = channels.like(x)
    flat = channels.flat(x)
    scale, shift = channels.spread(scale), channels.spread(shift)
    for part in channels.blocks(flat):
        y = flat_out[part]
        xp.multiply(flat[part], scale, out=y)
        y += shift
    return out


def widened(x: Any) -> Any:
    """float16 and bfloat16 as float32; everything else as it is."""
    return x.astype(NP_FLOAT32) if x is not None and x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x


def cast_like(v: Any, like: Any) -> Any:
    """``v`` in the dtype of ``like``, by an operator."""
    return v if v is None or v.dtype == like.dtype else operators["cast"](v, np.dtype(_np_dtype(like)))


def _np_dtype(x: Any) -> Any:
    return getattr(x.dtype, "np", x.dtype)


def _moments(xp: Any, channels: Channels, flat: Any, count: int) -> tuple[Any, Any]:
    """The channels' means and biased variances, in float64, in one pass over the input.

    Squares are summed around the mean of the first block, which is near enough to lose no accuracy.
    """
    total: Any = xp.zeros(channels.count, NP_FLOAT64)
    squares, origin = total, total
    for part in channels.blocks(flat):
        block = flat[part]
        if part.start == 0:
            origin = (channels.sum(block) / max(1, block.size // channels.count)).astype(flat.dtype)
            spread = channels.spread(origin)
        centred = xp.subtract(block, spread, out=scratch(xp, "centred", block.shape, block.dtype))
        total = total + channels.sum(centred)
        squares = squares + channels.dot(centred, centred)
    offset = total / count
    return origin + offset, xp.maximum(squares / count - offset * offset, 0)


def _train_kernel(xp: Any, x: Any, weight: Any, bias: Any, eps: float) -> tuple:
    """``(y, mean, biased variance, mean, 1 / sqrt(variance + eps))``, the last two in float64."""
    result_dtype = x.dtype
    x, weight, bias = widened(x), widened(weight), widened(bias)
    dtype = x.dtype
    channels = Channels(xp, x)
    flat = channels.flat(x)
    count = max(1, flat.size // max(1, channels.count))
    mean, variance = _moments(xp, channels, flat, count)
    if not flat.size:
        mean, variance = mean * np.nan, variance * np.nan
    rstd = 1 / xp.sqrt(variance + eps)
    scale = rstd if weight is None else rstd * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    y = _scale(xp, channels, x, scale.astype(dtype), shift.astype(dtype))
    return y.astype(result_dtype, copy=False), mean.astype(dtype), variance.astype(dtype), mean, rstd


def _vector(v: Any, ndim: int) -> Any:
    return operators["view"](v, (1, v.shape[0], *(1,) * (ndim - 2)))


def _dims(x: Any) -> tuple:
    return (0, *range(2, len(x.shape)))


def _train_rule(n: Any, gs: Any) -> tuple:
    """In primitives, so that it can be differentiated again."""
    x, weight = n.saved
    (eps,) = n.attrs
    to_x, to_weight, to_bias = n.edges
    dims, ndim = _dims(x), len(x.shape)
    count = product([x.shape[d] for d in dims])
    mean = sum_dims(x, dims, True) / count
    centred = x - mean
    g = gs.get(0)
    gx = gw = gb = None
    if g is not None:
        rstd = rsqrt(sum_dims(centred * centred, dims, True) / count + eps)
        normal = centred * rstd
        if to_bias is not None:
            gb = tied(sum_dims(g, dims, False), x)
        if to_weight is not None:
            gw = cast_like(sum_dims(g * normal, dims, False), weight)
        if to_x is not None:
            if weight is not None:
                g = g * _vector(weight, ndim)
                gb = cast_like(gb, weight)
            gx = (g - sum_dims(g, dims, True) / count - normal * (sum_dims(g * normal, dims, True) / count)) * rstd
    if to_x is not None:
        if 1 in gs:
            gx = x * 0 + _vector(gs[1], ndim) / count if gx is None else gx + _vector(gs[1], ndim) / count
        if 2 in gs:
            of_variance = centred * (_vector(gs[2], ndim) * 2 / count)
            gx = of_variance if gx is None else gx + of_variance
        gx = cast_like(gx, x)
    return gx, gw, gb


def _train_rule_raw(xp: Any, n: Any, gs: Any) -> tuple:
    if n.aux is None or set(gs) != {0}:
        return _train_rule(n, gs)
    given, given_weight = n.saved
    mean, rstd = n.aux
    x, weight, g = widened(given), widened(given_weight), widened(gs[0])
    dtype = x.dtype
    channels = Channels(xp, x)
    flat, flat_g = channels.flat(x), channels.flat(g)
    count = max(1, flat.size // max(1, channels.count))
    far = xp is not np or bool((xp.abs(mean) * rstd > FAR).any())
    origin = channels.spread(mean.astype(dtype)) if far else None
    total: Any = xp.zeros(channels.count, NP_FLOAT64)
    products = total
    for part in channels.blocks(flat):
        block, g_block = flat[part], flat_g[part]
        if far:
            block = xp.subtract(block, origin, out=scratch(xp, "centred", block.shape, dtype))
        total = total + channels.sum(g_block)
        products = products + channels.dot(g_block, block)
    if not far:
        products = products - mean * total
    gx = None
    if n.edges[0] is not None:
        scale = rstd if weight is None else rstd * weight
        of_x = -rstd * rstd * products / count
        constant = -total / count - of_x * mean
        scale, of_x, constant = [channels.spread(v.astype(dtype)) for v in (scale, of_x, constant)]
        gx, flat_gx = channels.like(x)
        for part in channels.blocks(flat):
            out = flat_gx[part]
            xp.multiply(flat[part], of_x, out=out)
            out += constant
            out += flat_g[part]
            out *= scale
        gx = gx.astype(given.dtype, copy=False)
    parameter = given.dtype if given_weight is None else given_weight.dtype
    gw = None if n.edges[1] is None else (products * rstd).astype(parameter)
    return gx, gw, None if n.edges[2] is None else total.astype(parameter)


def _statistics_dtype(x: Any) -> Any:
    return NP_FLOAT32 if x.dtype.itemsize == 2 else x.dtype


def _train_infer(x: Any, weight: Any, bias: Any, eps: float) -> list:
    vector = ((x.shape[1],), _statistics_dtype(x))
    return [(x.shape, x.dtype), vector, vector]


batch_norm_train = operator(
    "batch_norm", _train_kernel, _train_rule, _train_infer, arity=3, save=(0, 1), outputs=3, aux=2
)
batch_norm_train.op.backward = on_arrays(_train_rule_raw, _train_rule)  # type: ignore[attr-defined]

# ---------------------------------------------------------------- inference


def _inference_kernel(xp: Any, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float) -> Any:
    result_dtype = x.dtype
    x, weight, bias, mean, variance = [widened(v) for v in (x, weight, bias, mean, variance)]
    rstd = 1 / xp.sqrt(variance.astype(NP_FLOAT64) + eps)
    scale = rstd if weight is None else rstd * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    y = _scale(xp, Channels(xp, x), x, scale.astype(x.dtype), shift.astype(x.dtype))
    return y.astype(result_dtype, copy=False)


def _inference_rule(n: Any, g: Any) -> tuple:
    x, weight, mean, variance = n.saved
    to_x, to_weight, to_bias = n.edges[:3]
    (eps,) = n.attrs
    dims, ndim = _dims(x), len(x.shape)
    rstd = rsqrt(variance + eps)
    scale = rstd if weight is None else rstd * weight
    gx = None if to_x is None else tied(cast_like(g * _vector(scale, ndim), x), x)
    gw = gb = None
    if to_bias is not None:
        gb = cast_like(tied(sum_dims(g, dims, False), x), mean if weight is None else weight)
    if to_weight is not None:
        gw = cast_like(sum_dims(g * (x - _vector(mean, ndim)), dims, False) * rstd, weight)
    return gx, gw, gb, None, None


batch_norm_inference = operator(
    "batch_norm_inference",
    _inference_kernel,
    _inference_rule,
    lambda x, *rest: (x.shape, x.dtype),
    arity=5,
    save=(0, 1, 3, 4),
)
