"""The random masks and slopes of dropout's family and of rrelu."""

from __future__ import annotations

import math

import numpy as np

from . import checks
from .discrete import bernoulli
from .generator import Generator

_ALPHA = 1.7580993408473766  # scale * alpha of selu: minus its lower limit


def dropout_mask(gen: Generator, x: np.ndarray, p: float, feature: bool = False) -> np.ndarray:
    """Which elements of ``x`` (or whole channels: ``x`` (N, C, *)) dropout keeps: bool, ones with probability 1 - p.

    Of ``x`` only shape, dtype and strides count: draws follow its memory order, as PyTorch's do. A mask of channels is
    (N, C, 1, …). Nothing is drawn where ``p`` is 0 or 1.

    Raises:
        NotImplementedError: ``x`` is complex or unsigned of more than 8 bits.
        RuntimeError: ``p`` is outside of [0, 1], or ``x`` has fewer than 2 dimensions where channels are dropped.
    """
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    checks.implemented("bernoulli_scalar_cpu_", x.dtype, ("bool", *checks.INTEGERS, *checks.FLOATS))
    if feature and x.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    mask = np.empty((*x.shape[:2], *(1,) * (x.ndim - 2)), np.bool_) if feature else np.empty_like(x, np.bool_)
    if p == 0 or p == 1:
        mask[...] = p == 0
        return mask
    return bernoulli(gen, mask, 1 - p)


def dropout_scale(p: float, dtype: np.dtype) -> np.ndarray:
    """What dropout multiplies kept elements by, 1 / (1 - p) rounded as PyTorch does: 0-d of ``dtype``."""
    inner = np.float64 if dtype == np.float64 else np.float32
    return np.array(inner(1) / inner(1 - p)).astype(dtype)


def alpha_dropout_scale_shift(mask: np.ndarray, p: float, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Scale and shift of ``x`` in alpha dropout (arXiv:1706.02515), for a mask of ``dropout_mask``."""
    a = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    scale, kept, lower = (np.array(value).astype(dtype) for value in (a, _ALPHA * a * p, -_ALPHA * a))
    zero = np.zeros((), dtype)
    return np.where(mask, scale, zero), np.where(mask, kept, lower + kept)


def rrelu_slopes(gen: Generator, x: np.ndarray, lower: float = 1 / 8, upper: float = 1 / 3) -> np.ndarray:
    """Slopes of ``torch.nn.functional.rrelu`` while training: uniform where ``x`` <= 0, otherwise 1.

    In C order and of the dtype of ``x``.

    Raises:
        NotImplementedError: ``x`` is not bfloat16, float32 or float64.
        RuntimeError: ``lower`` is above ``upper``.
    """
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    checks.implemented("rrelu_with_noise_out_cpu", x.dtype, ("bfloat16", "float32", "float64"))
    inner = np.float64 if x.dtype == np.float64 else np.float32
    first, last = float(inner(lower)), float(inner(upper))
    slopes = np.ones(x.shape, x.dtype)
    negative = x <= 0
    draws = gen.doubles(int(negative.sum())) * (last - first) + first
    slopes[negative] = draws.astype(inner).astype(x.dtype)
    return slopes
