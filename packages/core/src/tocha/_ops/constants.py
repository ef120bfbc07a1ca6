"""Zeros and ones like a value, for rules: ``g * 0`` would turn infinities into NaN."""

from __future__ import annotations

from typing import Any

from .._core.broadcast import operators
from .._core.families import operator, shape_like_first
from .._core.tensor import Tensor

zeros_as = operator("zeros_like", lambda xp, x: xp.zeros_like(x), None, shape_like_first)
ones_as = operator("ones_like", lambda xp, x: xp.ones_like(x), None, shape_like_first)
operators["zeros_as"] = zeros_as


def number_dtype(x: Any) -> Any:
    """The NumPy dtype of a raw array, tensor or traced value."""
    return (x._data if isinstance(x, Tensor) else x).dtype


def mask_as(mask: Any, like: Any) -> Any:
    """A boolean mask as ones and zeros of the dtype of ``like``."""
    return operators["cast"](mask, number_dtype(like))
