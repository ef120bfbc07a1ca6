"""What masked-out elements are replaced by: the neutral element of each operation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tocha._core import dtypes
from tocha._core.broadcast import operators
from tocha._core.tensor import Tensor
from tocha._ops.ternary import where


def lowest(d: np.dtype) -> Any:
    """The smallest value of a dtype: -inf of floats."""
    return -math.inf if d.kind in "fV" else False if d.kind == "b" else int(np.iinfo(d).min)


def highest(d: np.dtype) -> Any:
    """The largest value of a dtype: inf of floats."""
    return math.inf if d.kind in "fV" else True if d.kind == "b" else int(np.iinfo(d).max)


def with_dtype(x: Tensor, dtype: Any) -> Tensor:
    return x if dtype is None else x.to(dtype)


def expanded(mask: Tensor | None, x: Tensor) -> Tensor | None:
    """The mask in the shape of ``x``.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: it has more dimensions than the input.
    """
    if mask is None:
        return None
    if mask._data.dtype.kind != "b":
        raise TypeError(f"expected mask to be a boolean tensor, got {mask.dtype}")
    if len(mask._data.shape) > len(x._data.shape):
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return operators["expand"](mask, tuple(x._data.shape))


def filled(x: Tensor, mask: Tensor | None, value: Any) -> Tensor:
    """``x`` with masked-out elements set to ``value``."""
    return x if mask is None else where(mask, x, value)


def integers_widened(x: Tensor) -> Tensor:
    return x.to(dtypes.int64) if x._data.dtype.kind in "biu" else x
