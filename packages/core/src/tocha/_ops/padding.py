"""Padding: constants, and the reflected, replicated or circular border of the input."""

from __future__ import annotations

from typing import Any

from .._core import dtypes
from .._core.broadcast import operators
from .._core.families import operator
from .._core.templates import expected_tensor
from .._core.tensor import Tensor
from .convolution_checks import per_dimension
from .layout import new_like

__all__: list[str] = []

# ---------------------------------------------------------------- primitives


def _pairs(pads: tuple, ndim: int) -> list:
    """``(low, high)`` a dimension, first dimension first, of pads that name the last dimension first."""
    pairs = [(0, 0)] * ndim
    for i in range(len(pads) // 2):
        pairs[ndim - 1 - i] = (pads[2 * i], pads[2 * i + 1])
    return pairs


def _padded_shape(x: Any, pads: tuple) -> tuple:
    return tuple([n + low + high for n, (low, high) in zip(x.shape, _pairs(pads, len(x.shape)))])


def _constant_kernel(xp: Any, x: Any, pads: tuple, value: Any) -> Any:
    out = new_like(xp, x, _padded_shape(x, pads))
    out[...] = value
    source, target = [], []
    for n, (low, high) in zip(x.shape, _pairs(pads, x.ndim)):
        source.append(slice(max(0, -low), max(0, n + min(0, high))))
        target.append(slice(max(0, low), max(0, n + low + min(0, high))))
    out[tuple(target)] = x[tuple(source)]
    return out


constant_pad = operator(
    "constant_pad",
    _constant_kernel,
    lambda n, g: (constant_pad(g, tuple([-p for p in n.attrs[0]]), 0.0),),
    lambda x, pads, value: (_padded_shape(x, pads), x.dtype),
    linear=True,
)
operators["constant_pad"] = constant_pad
