"""The operator that normalises groups of channels, image by image: group norm, and instance norm with groups of one
channel."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.families import operator
from .batch_norm import FAR, ROW, cast_like, widened
from .dims import product
from .layout import BLOCK, channels_are_dense, new_like, on_arrays, scratch, to_last
from .reduction import sum_dims
from .tie import tied
from .unary import rsqrt


class Images:
    """A raw ``(N, C, *spatial)`` array as ``(N, pixels, C)`` where its memory is channels-last, else as
    ``(N, C, pixels)``. A row of the former is several pixels long (``tile``), since NumPy's loops have a cost a row."""

    def __init__(self, xp: Any, x: Any, groups: int) -> None:
        self.xp, self.groups = xp, groups
        self.last = channels_are_dense(x)
        n, c, pixels = x.shape[0], x.shape[1], math.prod(x.shape[2:])
        self.count, self.tile = c, 1
        while self.last and self.tile * 2 * c <= ROW and pixels and pixels % (self.tile * 2) == 0:
            self.tile *= 2
        self.shape = (n, pixels // self.tile, self.tile * c) if self.last else (n, c, pixels)
        self.members = max(1, c // groups * pixels)

    def flat(self, x: Any) -> Any:
        return self.xp.ascontiguousarray(to_last(x) if self.last else x).reshape(self.shape)

    def like(self, x: Any) -> tuple[Any, Any]:
        """A new array like ``x`` and its flat view."""
        out = new_like(self.xp, x, x.shape)
        return out, (to_last(out) if self.last else out).reshape(self.shape)

    def blocks(self) -> Iterator[slice]:
        step = max(1, BLOCK // max(1, self.shape[1] * self.shape[2]))
        for first in range(0, self.shape[0], step):
            yield slice(first, first + step)

    def sum(self, block: Any) -> Any:
        """``(n, C)``: the sums over the pixels."""
        ones = self.xp.ones(block.shape[1 if self.last else 2], block.dtype)
        return self._joined(self.xp.matmul(ones, block)) if self.last else self.xp.matmul(block, ones)

    def dot(self, a: Any, b: Any) -> Any:
        """``(n, C)``: the sums of products over the pixels."""
        if not self.last:
            return self.xp.einsum("ncl,ncl->nc", a, b)
        return self._joined(self.xp.einsum("nlc,nlc->nc", a, b))

    def _joined(self, rows: Any) -> Any:
        return rows if self.tile == 1 else rows.reshape(rows.shape[0], self.tile, self.count).sum(1)

    def spread(self, per_channel: Any) -> Any:
        """``(n, C)``, to be broadcast over the pixels."""
        if not self.last:
            return per_channel[:, :, None]
        return (per_channel if self.tile == 1 else self.xp.tile(per_channel, (1, self.tile)))[:, None, :]

    def mean(self, per_channel: Any) -> Any:
        """The means over groups of sums over pixels, repeated for each channel."""
        n, c = per_channel.shape
        grouped = per_channel.reshape(n, self.groups, c // self.groups)
        means = grouped.sum(2) / per_channel.dtype.type(self.members)
        return self.xp.repeat(means, c // self.groups, 1)


def _centred(xp: Any, images: Images, block: Any, mean: Any) -> Any:
    return xp.subtract(block, images.spread(mean), out=scratch(xp, "centred", block.shape, block.dtype))


def _variance(xp: Any, images: Images, block: Any, mean: Any) -> Any:
    """The groups' biased variances: of the squares as they are where the means are near zero, else of centred ones."""
    if xp is np:
        squares = mean * mean
        variance = images.mean(images.dot(block, block)) - squares
        if not (squares > FAR * FAR * variance).any():
            return variance
    centred = _centred(xp, images, block, mean)
    return images.mean(images.dot(centred, centred))


def _kernel(xp: Any, given: Any, weight: Any, bias: Any, groups: int, eps: float) -> tuple:
    """``(y, the mean of each channel's group, its 1 / sqrt(variance + eps))``, the last two ``(N, C)``."""
    x, weight, bias = widened(given), widened(weight), widened(bias)
    dtype = x.dtype
    images = Images(xp, x, groups)
    flat = images.flat(x)
    y, flat_y = images.like(x)
    means, rstds = xp.empty(x.shape[:2], dtype), xp.empty(x.shape[:2], dtype)
    for part in images.blocks():
        block, out = flat[part], flat_y[part]
        mean = images.mean(images.sum(block))
        rstd = 1 / xp.sqrt(_variance(xp, images, block, mean) + dtype.type(eps))
        means[part], rstds[part] = mean, rstd
        scale = rstd if weight is None else rstd * weight
        shift = -mean * scale if bias is None else bias - mean * scale
        xp.multiply(block, images.spread(scale), out=out)
        out += images.spread(shift)
    return y.astype(given.dtype, copy=False), means, rstds


def _rule(n: Any, g: Any) -> tuple:
    """In primitives, so that it can be differentiated again."""
    given, weight = n.saved
    groups, eps = n.attrs
    to_x, to_weight, to_bias = n.edges
    view = operators["view"]
    batch, channels = given.shape[:2]
    grouped = (batch, groups, product([channels // groups, *given.shape[2:]]))
    x = view(given, grouped)
    length = grouped[2]
    centred = x - sum_dims(x, (2,), True) / length
    rstd = rsqrt(sum_dims(centred * centred, (2,), True) / length + eps)
    normal = centred * rstd
    gw = gb = gx = None
    dims = (0, *range(2, len(given.shape)))
    like = g if weight is None else weight
    if to_weight is not None:
        gw = cast_like(sum_dims(g * view(normal, tuple(given.shape)), dims, False), like)
    if to_bias is not None:
        gb = cast_like(tied(sum_dims(g, dims, False), given), like)
    if to_x is not None:
        if weight is not None:
            g = g * view(weight, (1, channels, *(1,) * (len(given.shape) - 2)))
        g = view(g, grouped)
        gx = (g - sum_dims(g, (2,), True) / length - normal * (sum_dims(g * normal, (2,), True) / length)) * rstd
        gx = cast_like(view(gx, tuple(given.shape)), given)
    return gx, gw, gb


def _rule_raw(xp: Any, n: Any, g: Any) -> tuple:
    if n.aux is None:
        return _rule(n, g)
    given, given_weight = n.saved
    groups, eps = n.attrs
    means, rstds = n.aux
    x, weight, g = widened(given), widened(given_weight), widened(g)
    dtype = x.dtype
    images = Images(xp, x, groups)
    flat, flat_g = images.flat(x), images.flat(g)
    gw, gb = xp.zeros(x.shape[1], np.float64), xp.zeros(x.shape[1], np.float64)
    gx, flat_gx = (None, None) if n.edges[0] is None else images.like(x)
    far = xp is not np or bool((xp.abs(means) * rstds > FAR).any())
    for part in images.blocks():
        block, g_block, mean, rstd = flat[part], flat_g[part], means[part], rstds[part]
        sums = images.sum(g_block)
        products = images.dot(g_block, _centred(xp, images, block, mean) if far else block)
        if not far:
            products -= mean * sums
        gw += (products * rstd).sum(0)
        gb += sums.sum(0)
        if flat_gx is None:
            continue
        out = flat_gx[part]
        if weight is not None:
            sums, products = sums * weight, products * weight
        of_x = -rstd * rstd * images.mean(products)
        constant = -images.mean(sums) - of_x * mean
        if weight is None:
            xp.multiply(block, images.spread(of_x), out=out)
            out += g_block
        else:  # the weights belong to the gradient alone
            xp.multiply(block, images.spread(of_x), out=out)
            out += xp.multiply(
                g_block,
                images.spread(xp.broadcast_to(weight, rstd.shape)),
                out=scratch(xp, "centred", out.shape, dtype),
            )
        out += images.spread(constant)
        out *= images.spread(rstd)
    parameter = given.dtype if given_weight is None else given_weight.dtype
    return (
        None if gx is None else gx.astype(given.dtype, copy=False),
        None if n.edges[1] is None else gw.astype(parameter),
        None if n.edges[2] is None else gb.astype(parameter),
    )


group_norm_op = operator(
    "group_norm", _kernel, _rule, lambda x, weight, bias, groups, eps: (x.shape, x.dtype), arity=3, save=(0, 1), aux=2
)
group_norm_op.op.backward = on_arrays(_rule_raw, _rule)  # type: ignore[attr-defined]
