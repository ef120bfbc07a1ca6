"""Sizes given as one number or one a dimension."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def ntuple(value: Any, n: int) -> tuple:
    """``value`` as a tuple: repeated ``n`` times where it is one number, else as it is."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * n


def reversed_twice(values: Iterable[int]) -> list[int]:
    """Paddings a dimension as ``pad`` takes them: the last dimension first, each for both sides."""
    return [v for value in reversed(tuple(values)) for v in (value, value)]
