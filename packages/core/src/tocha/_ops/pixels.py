"""Elements picked out of the flattened pixels of each channel, and put back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.families import operator
from .tie import tied


def _flat(x: Any) -> Any:
    return x.reshape(*x.shape[:2], math.prod(x.shape[2:]))


def _pick_kernel(xp: Any, x: Any, indices: Any) -> Any:
    return xp.take_along_axis(_flat(x), _flat(indices), 2).reshape(indices.shape)


def _put_kernel(xp: Any, g: Any, indices: Any, size: tuple) -> Any:
    """Sums, in float64, of the elements that go to the same pixel."""
    batch, channels = g.shape[:2]
    pixels = math.prod(size)
    rows = xp.arange(batch * channels).reshape(batch, channels, 1) * pixels
    where = (_flat(indices) + rows).reshape(-1)
    total = xp.bincount(where, g.astype(np.float64).reshape(-1), batch * channels * pixels)
    return total.astype(g.dtype).reshape(batch, channels, *size)


def _unpool_kernel(xp: Any, x: Any, indices: Any, size: tuple) -> Any:
    batch, channels = x.shape[:2]
    out = xp.zeros(batch * channels * math.prod(size), x.dtype)
    rows = xp.arange(batch * channels).reshape(batch, channels, 1) * math.prod(size)
    out[(_flat(indices) + rows).reshape(-1)] = x.reshape(-1)
    return out.reshape(batch, channels, *size)


pick_pixels = operator(
    "pick_pixels",
    _pick_kernel,
    lambda n, g: (tied(_put_pixels(g, n.saved[1], tuple(n.shape[2:])), n.saved[0]), None),
    lambda x, indices: (indices.shape, x.dtype),
    arity=2,
    save=(0, 1),
    linear=True,
)
_put_pixels: Callable = operator(
    "put_pixels",
    _put_kernel,
    lambda n, c: (pick_pixels(c, n.saved[0]), None),
    lambda g, indices, size: ((*g.shape[:2], *size), g.dtype),
    arity=2,
    save=(1,),
    linear=True,
)
unpool = operator(
    "max_unpool",
    _unpool_kernel,
    lambda n, g: (pick_pixels(g, n.saved[0]), None),
    lambda x, indices, size: ((*x.shape[:2], *size), x.dtype),
    arity=2,
    save=(1,),
    linear=True,
)
