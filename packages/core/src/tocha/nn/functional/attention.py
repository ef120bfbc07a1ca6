"""Attention."""

from __future__ import annotations

from tocha._ops.attention import scaled_dot_product_attention

__all__ = ["scaled_dot_product_attention"]
