"""Padding."""

from ..._ops.padding import pad

__all__ = ["pad"]
