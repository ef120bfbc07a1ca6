"""Padding: constants, and the reflected, replicated or circular border of the input."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import INT64_MAX, Array, Builder
from ..registry import lowering
from .indexing import scattered


def pairs(pads: tuple, rank: int) -> list[tuple[Any, Any]]:
    """``(low, high)`` a dimension, of pads that name the last dimension first."""
    found: list[tuple[Any, Any]] = [(0, 0)] * rank
    for i in range(len(pads) // 2):
        found[rank - 1 - i] = (pads[2 * i], pads[2 * i + 1])
    return found


@lowering("constant_pad")
def constant_pad(b: Builder, x: Array, pads: tuple, value: Any) -> Array:
    ends = pairs(pads, x.rank)
    lows, highs = [low for low, _ in ends], [high for _, high in ends]
    return b.Pad(x, b.sizes((*lows, *highs)), b.constant(value, x.dtype))


def _touched(low: Any, high: Any) -> bool:
    return not (isinstance(low, int) and isinstance(high, int) and low == 0 and high == 0)


def _sources(b: Builder, n: Any, low: Any, high: Any, mode: str) -> Array:
    """Which element of a dimension of ``n`` each element of the padded dimension repeats."""
    if isinstance(n, int) and isinstance(low, int) and isinstance(high, int):
        return b.constant(_fixed_sources(n, low, high, mode).astype(np.int64))
    index = b.Sub(b.range(n + low + high), b.scalar(low))
    last = b.scalar(n - 1)
    if mode == "circular":
        return b.Mod(index, b.scalar(n))
    if mode == "reflect":
        index = b.Abs(index)
        return b.Min(index, b.Sub(b.Mul(last, 2), index))
    return b.Max(b.Min(index, last), 0)


def _fixed_sources(n: int, low: int, high: int, mode: str) -> np.ndarray:
    if mode == "circular":  # what is cut off does not come back at the other end
        first, kept = max(-low, 0), n - max(-low, 0) - max(-high, 0)
        return first + np.arange(-max(low, 0), kept + max(high, 0)) % max(kept, 1)
    index = np.arange(-low, n + high)
    if mode == "reflect":
        index = np.abs(index)
        return np.where(index >= n, 2 * (n - 1) - index, index)
    return np.clip(index, 0, n - 1)


@lowering("border_pad")
def border_pad(b: Builder, x: Array, pads: tuple, mode: str) -> Array:
    ends = pairs(pads, x.rank)
    grows = all(isinstance(p, int) and p >= 0 for p in pads)
    if mode in ("reflect", "replicate") and grows:
        lows, highs = [low for low, _ in ends], [high for _, high in ends]
        return b.Pad(x, b.sizes((*lows, *highs)), mode="reflect" if mode == "reflect" else "edge")
    if mode == "circular" and grows:
        y = x
        for axis, (low, high) in enumerate(ends):
            n = x.shape[axis]
            parts = [b.slice(y, axis, n - low, INT64_MAX)] if low else []
            parts += [y, b.slice(y, axis, 0, high)] if high else [y]
            y = b.Concat(*parts, axis=axis) if len(parts) > 1 else y
        return y
    y = x
    for axis, (low, high) in enumerate(ends):
        if _touched(low, high):
            y = b.Gather(y, _sources(b, x.shape[axis], low, high, mode), axis=axis)
    return y


@lowering("border_pad_backward")
def border_pad_backward(b: Builder, g: Array, pads: tuple, mode: str, shape: tuple) -> Array:
    for axis, (low, high) in enumerate(pairs(pads, g.rank)):
        if _touched(low, high):
            n = shape[axis]
            index = _sources(b, n, low, high, mode)
            index.shape = (n + low + high,)
            kept = (*g.shape[:axis], n, *g.shape[axis + 1 :])
            base = b.zeros(kept, g.dtype)
            base.shape = kept
            made = scattered(b, base, g, (axis,), (index,), "add")
            g = Array(made.name, made.dtype, kept)
    return g
