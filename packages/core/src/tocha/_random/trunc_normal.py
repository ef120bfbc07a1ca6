"""The truncated normal numbers of ``torch.nn.init.trunc_normal_``, which PyTorch 2.13 makes by rejection."""

from __future__ import annotations

import math
import warnings

import numpy as np

from .continuous import normal, uniform
from .generator import Generator


def trunc_normal(
    gen: Generator, out: np.ndarray, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0
) -> np.ndarray:
    """Overwrite ``out`` with normal numbers of [a, b]; all are drawn anew while one is to be rejected.

    Where [a, b] has more than 0.3 of the probability the candidates are normal, otherwise uniform.

    Warns:
        UserWarning: ``mean`` is more than two ``std`` outside of [a, b].
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=3,
        )
    if _cdf((b - mean) / std) - _cdf((a - mean) / std) > 0.3:
        return _of_normal_candidates(gen, out, mean, std, a, b)
    return _of_uniform_candidates(gen, out, mean, std, a, b)


def _of_normal_candidates(gen: Generator, out: np.ndarray, mean: float, std: float, a: float, b: float) -> np.ndarray:
    low, high = (np.array(bound).astype(out.dtype) for bound in (a, b))
    normal(gen, out, mean, std)
    while (rejected := (out < low) | (out > high)).any():
        np.copyto(out, normal(gen, np.empty_like(out), mean, std), where=rejected)
    return out


def _of_uniform_candidates(gen: Generator, out: np.ndarray, mean: float, std: float, a: float, b: float) -> np.ndarray:
    log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    uniform(gen, out, a, b)
    pending = _rejected(gen, out, mean, std, log_peak)
    while pending.any():
        candidates = uniform(gen, np.empty_like(out), a, b)
        np.copyto(out, candidates, where=pending)
        pending &= _rejected(gen, candidates, mean, std, log_peak)
    return out


def _rejected(gen: Generator, candidates: np.ndarray, mean: float, std: float, log_peak: float) -> np.ndarray:
    """Whether a uniform number's logarithm is above the density's, each step rounded to the dtype."""
    dtype = candidates.dtype
    inner = np.float64 if dtype == np.float64 else np.float32
    # PyTorch's sums take a number in the dtype, its quotients in float32 at least.
    density = candidates - np.array(mean).astype(dtype)
    density = (density.astype(inner) / inner(std)).astype(dtype)
    density = density * density * np.array(-0.5).astype(dtype) - np.array(log_peak).astype(dtype)
    accept = np.log(uniform(gen, np.empty_like(candidates)).astype(inner)).astype(dtype)
    return accept > density


def _cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0
