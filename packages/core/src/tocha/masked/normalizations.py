"""Masked softmax and normalisation."""

from __future__ import annotations

import math
from typing import Any

from tocha._core.tensor import Tensor
from tocha._ops import softmax as base
from tocha._ops.pairwise import maximum

from .filling import expanded, filled, with_dtype
from .reductions import norm

__all__ = ["log_softmax", "normalize", "softmax", "softmin"]


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """``softmax`` of the kept elements; masked-out ones get 0 (NaN where none is kept)."""
    x = with_dtype(input, dtype)
    return base.softmax(filled(x, expanded(mask, x), -math.inf), dim)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """``log_softmax`` of the kept elements."""
    x = with_dtype(input, dtype)
    return base.log_softmax(filled(x, expanded(mask, x), -math.inf), dim)


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """``softmax`` of the negated kept elements."""
    x = with_dtype(input, dtype)
    return base.softmax(-filled(x, expanded(mask, x), math.inf), dim)


def normalize(
    input: Tensor, ord: Any, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Kept elements divided by their norm along ``dim``, at least ``eps``."""
    x = with_dtype(input, dtype)
    size = norm(x, ord, dim, keepdim=True, mask=mask)
    return filled(x, expanded(mask, x), 0) / maximum(size, size.new_full((), eps))
