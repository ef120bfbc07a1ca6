"""Linear maps."""

from __future__ import annotations

from tocha._ops.contraction import linear

__all__ = ["linear"]
