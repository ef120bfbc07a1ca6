"""How draws get into an array: in PyTorch's order of visit, in blocks, rounded as PyTorch rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

BLOCK = 1 << 15  # draws at a time, so that what they need stays in the processor's cache; even, and a multiple of 16


def fill(out: np.ndarray, draw: Callable[[int], np.ndarray]) -> np.ndarray:
    """Overwrite ``out`` with what ``draw(n)`` gives; complex elements with pairs of real numbers. Returns ``out``."""
    view = out.transpose(visit_order(out))
    flat = view.reshape(-1) if view.flags.c_contiguous else np.empty(view.size, view.dtype)
    parts = flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat
    for start in range(0, parts.size, BLOCK):
        stop = min(start + BLOCK, parts.size)
        parts[start:stop] = draw(stop - start)
    if not view.flags.c_contiguous:
        view[...] = flat.reshape(view.shape)
    return out


def visit_order(out: np.ndarray) -> tuple[int, ...]:
    """The axes of ``out`` from the slowest to the fastest in PyTorch's order of visit: largest stride first."""
    if out.flags.c_contiguous:
        return tuple(range(out.ndim))
    return tuple(sorted(range(out.ndim), key=lambda axis: -out.strides[axis]))


def narrow(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Floating ``values`` in ``dtype``. The 2-byte types go through float32, as in PyTorch, which so rounds twice."""
    if dtype.itemsize == 2 and values.dtype.itemsize == 8:
        values = values.astype(np.float32)
    return values.astype(dtype, copy=False)


def fma(x: np.ndarray, scale: float, shift: float) -> np.ndarray:
    """``x * scale + shift`` of float64, rounded once: what the compiled loops of PyTorch compute.

    The product's and the sum's errors by Dekker's splitting (Numerische Mathematik 18, 1971).
    """
    if shift == 0 or scale == 1 or not abs(scale) < 2.0**900:
        return x * scale + shift
    product = x * scale
    x_high, scale_high = _upper_half(x), _upper_half(scale)
    x_low, scale_low = x - x_high, scale - scale_high
    lost = x_low * scale_low - (((product - x_high * scale_high) - x_low * scale_high) - x_high * scale_low)
    total = product + shift
    rounded = total - product
    return total + (((product - (total - rounded)) + (shift - rounded)) + lost)


def _upper_half(x: Any) -> Any:
    shifted = x * 134217729.0
    return shifted - (shifted - x)


def fma_single(x: np.ndarray, scale: float, shift: float) -> np.ndarray:
    """``x * scale + shift`` of float32, rounded once."""
    return (x.astype(np.float64) * float(np.float32(scale)) + float(np.float32(shift))).astype(np.float32)
