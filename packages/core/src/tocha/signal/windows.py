"""Window functions, as ``torch.signal.windows``; ``sym`` False gives periodic ones, for spectral analysis.

Source of the formulas: https://pytorch.org/docs/stable/signal.html
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tocha._core import dtypes
from tocha._core.tensor import Tensor
from tocha._ops.creation import resolve_dtype
from tocha._ops.from_data import placed

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming",
           "hann", "kaiser", "nuttall"]  # fmt: skip


def _window(
    name: str, M: int, sym: bool, dtype: Any, layout: Any, device: Any, requires_grad: bool, values: Callable
) -> Tensor:
    """``values(k, n)`` at the points ``k`` of a window of ``n`` steps."""
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    d = resolve_dtype(dtype)
    if d.kind not in "f" or d.itemsize < 4:
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtypes.of(d)}")
    if M == 1:
        raw = np.ones(1, d)
    else:
        k = np.arange(M, dtype=np.float64)
        raw = values(k, float(M - 1 if sym else M)).astype(d) if M else np.zeros(0, d)
    return placed(raw, device, requires_grad)


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None,
                layout: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """``exp(-|k - center| / tau)``."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return _window("exponential", M, sym, dtype, layout, device, requires_grad,
                   lambda k, n: np.exp(-np.abs(k - (n / 2 if center is None else center)) / tau))  # fmt: skip


def cosine(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``sin(pi (k + 1/2) / M)``."""
    return _window(
        "cosine", M, sym, dtype, layout, device, requires_grad, lambda k, n: np.sin(math.pi * (k + 0.5) / (n + 1))
    )


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A Gaussian of ``std``."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _window(
        "gaussian",
        M,
        sym,
        dtype,
        layout,
        device,
        requires_grad,
        lambda k, n: np.exp(-(((k - n / 2) / (std * math.sqrt(2))) ** 2)),
    )


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Kaiser window of shape ``beta``."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _window("kaiser", M, sym, dtype, layout, device, requires_grad,
                   lambda k, n: np.i0(beta * np.sqrt(np.maximum(1 - ((k - n / 2) / (n / 2)) ** 2,
                                                                0))) / np.i0(beta))  # fmt: skip


def general_cosine(
    M: int,
    *,
    a: Any,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A sum of cosines with the coefficients ``a`` and alternating signs."""
    if not isinstance(a, (list, tuple)) and not hasattr(a, "__iter__"):
        raise TypeError("Coefficients must be a list/tuple")
    weights = list(a)
    if not weights:
        raise ValueError("Coefficients cannot be empty")
    return _window("general_cosine", M, sym, dtype, layout, device, requires_grad,
                   lambda k, n: sum((-1) ** i * w * np.cos(2 * math.pi * i * k / n) for i,
                                    w in enumerate(weights)))  # fmt: skip


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``alpha - (1 - alpha) cos(2 pi k / (M - 1))``."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def hamming(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``general_hamming`` with alpha 0.54."""
    return general_hamming(M, sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def hann(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``general_hamming`` with alpha 0.5."""
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def blackman(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``general_cosine`` with 0.42, 0.5, 0.08."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A triangle from 0 to 1 and back."""
    return _window("bartlett", M, sym, dtype, layout, device, requires_grad, lambda k, n: 1 - np.abs(2 * k / n - 1))


def nuttall(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``general_cosine`` with Nuttall's minimum 4-term coefficients."""
    return general_cosine(
        M,
        a=[0.3635819, 0.4891775, 0.1365995, 0.0106411],
        sym=sym,
        dtype=dtype,
        device=device,
        requires_grad=requires_grad,
    )
