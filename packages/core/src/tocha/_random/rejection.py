"""Distributions that are drawn until accepted: poisson, gamma, dirichlet and binomial, number for number as PyTorch's.

How many draws an element takes depends on the draws, so these run element by element in Python's floats, which are the
C++ code's doubles; float32 steps of that code are rounded as there.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from . import checks
from .filling import narrow
from .generator import Generator, normal_pair


class _Draws:
    """Doubles one at a time for ``remaining`` elements, each of which takes one or more.

    A block holds no more than are certain to be taken, so that nothing drawn is thrown away.
    """

    def __init__(self, gen: Generator, remaining: int) -> None:
        self.gen, self.remaining = gen, remaining
        self._block: list[float] = []

    def __call__(self) -> float:
        if not self._block:
            self._block = self.gen.doubles(max(self.remaining, 1)).tolist()
            self._block.reverse()
        return self._block.pop()

    def normal(self) -> float:
        waiting = self.gen.next_normal
        if waiting is not None:
            self.gen.next_normal = None
            return waiting
        first, self.gen.next_normal = normal_pair(self(), self())
        return first


def poisson(gen: Generator, rates: np.ndarray) -> np.ndarray:
    """``torch.poisson``: counts of the shape and dtype of ``rates``.

    From a rate of 10 on by transformed rejection (Hörmann 1993, doi:10.1016/0167-6687(93)90997-4), below by products.

    Raises:
        NotImplementedError: ``rates`` is not floating.
        RuntimeError: a rate is negative or not a number.
    """
    checks.implemented("poisson_cpu", rates.dtype, checks.FLOATS)
    if rates.size and not rates.min() >= 0:
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    flat = rates.astype(np.float64).reshape(-1)
    draws = _Draws(gen, int((flat > 0).sum()))
    values = []
    for rate in flat.tolist():
        values.append(_poisson_large(rate, draws) if rate >= 10 else _poisson_small(rate, draws) if rate > 0 else 0)
        draws.remaining -= rate > 0
    return narrow(np.array(values, np.float64), rates.dtype).reshape(rates.shape)


def _poisson_small(rate: float, draws: Callable[[], float]) -> int:
    end, product, count = math.exp(-rate), 1.0, 0
    while (product := product * draws()) > end:
        count += 1
    return count


def _poisson_large(rate: float, draws: Callable[[], float]) -> int:
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = math.log(1.1239 + 1.1328 / (b - 3.4))
    edge = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = draws() - 0.5, draws()
        us = 0.5 - abs(u)
        if us == 0:
            continue
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= edge:
            return k
        if k < 0 or us < 0.013 and v > us:
            continue
        if _log(v) + log_inverse_alpha - math.log(a / (us * us) + b) <= -rate + k * log_rate - math.lgamma(k + 1):
            return k


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


_THIRD, _SQUEEZE = float(np.float32(1) / np.float32(3)), float(np.float32(0.0331))


def standard_gamma(gen: Generator, alpha: np.ndarray) -> np.ndarray:
    """``torch._standard_gamma``: gamma numbers of scale 1, of the shape and dtype of ``alpha``.

    By Marsaglia and Tsang (2000), doi:10.1145/358407.358414.

    Raises:
        NotImplementedError: ``alpha`` is not float32 or float64.
        RuntimeError: an ``alpha`` is negative or not a number.
    """
    checks.implemented("gamma_cpu", alpha.dtype, ("float32", "float64"))
    values = narrow(_gammas(gen, alpha, alpha.dtype == np.float32), alpha.dtype)
    return np.maximum(values, np.array(checks.smallest_normal(alpha.dtype), alpha.dtype))


def _gammas(gen: Generator, alpha: np.ndarray, single: bool) -> np.ndarray:
    if alpha.size and not alpha.min() >= 0:  # PyTorch would draw without end
        raise RuntimeError("invalid gamma concentration, expected concentration to be non-negative")
    draws = _Draws(gen, int(np.count_nonzero(alpha)))
    values = []
    for shape in alpha.reshape(-1).tolist():
        values.append(_gamma(shape, draws, single))
        draws.remaining -= shape != 0
    return np.array(values, np.float64).reshape(alpha.shape)


def _gamma(alpha: float, draws: _Draws, single: bool) -> float:
    scale = 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        inverse = float(np.float32(1) / np.float32(alpha)) if single else 1.0 / alpha
        scale = math.pow(1.0 - draws(), inverse)
        alpha = float(np.float32(alpha) + np.float32(1)) if single else alpha + 1.0
    d = float(np.float32(alpha) - np.float32(_THIRD)) if single else alpha - _THIRD
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        while (y := 1.0 + c * (x := draws.normal())) <= 0:
            pass
        v = y * y * y
        u = 1.0 - draws()
        xx = x * x
        if u < 1.0 - _SQUEEZE * xx * xx or math.log(u) < 0.5 * xx + d * (1.0 - v + math.log(v)):
            return scale * d * v


def dirichlet(gen: Generator, alpha: np.ndarray) -> np.ndarray:
    """``torch._sample_dirichlet``: gamma numbers of ``alpha`` divided by their sum along the last dimension.

    Raises:
        NotImplementedError: ``alpha`` is not float32 or float64.
        RuntimeError: an ``alpha`` is negative or not a number.
    """
    checks.implemented("dirichlet", alpha.dtype, ("float32", "float64"))
    gammas = np.maximum(_gammas(gen, alpha.astype(np.float64), False), checks.smallest_normal(np.dtype(np.float64)))
    total = gammas.sum(-1, keepdims=True) if alpha.ndim else gammas
    values = (gammas / total).astype(alpha.dtype)
    below_one = np.nextafter(alpha.dtype.type(1), alpha.dtype.type(0))
    return np.minimum(below_one, np.maximum(alpha.dtype.type(checks.smallest_normal(alpha.dtype)), values))


def binomial(gen: Generator, count: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """``torch.binomial``: successes in ``count`` trials of probability ``prob``, which broadcast.

    From a mean of 10 on by transformed rejection (Hörmann 1993, doi:10.1080/00949659308811496), below by inversion.

    Raises:
        NotImplementedError: the dtype is not float32 or float64.
        RuntimeError: the dtypes differ.
    """
    if count.dtype != prob.dtype:
        found, expected = checks.scalar_type(prob.dtype), checks.scalar_type(count.dtype)
        raise RuntimeError(f"Found dtype {found} but expected {expected}")
    checks.implemented("binomial_cpu", count.dtype, ("float32", "float64"))
    shape = np.broadcast_shapes(count.shape, prob.shape)
    counts, probs = (np.broadcast_to(x, shape).reshape(-1) for x in (count, prob))
    takes = (counts > 0) & (probs > 0) & (probs < 1)
    draws = _Draws(gen, int(takes.sum()))
    values = []
    for n, p, taken in zip(counts, probs, takes.tolist()):
        values.append(_binomial(n, p, draws))
        draws.remaining -= taken
    return np.array(values, count.dtype).reshape(shape)


def _binomial(n: np.floating, p: np.floating, draws: Callable[[], float]) -> np.floating:
    """One number; ``n`` and ``p`` are NumPy scalars, whose arithmetic is that of their type as in C++."""
    zero, one = n.dtype.type(0), n.dtype.type(1)
    if n <= 0 or p <= 0:
        return zero
    if p >= 1:
        return n
    if np.isnan(p) or np.isnan(n):
        return n + p
    if p > 0.5:
        return n - _binomial_half(n, one - p, draws)
    return _binomial_half(n, p, draws)


def _binomial_half(n: np.floating, p: np.floating, draws: Callable[[], float]) -> np.floating:
    kind = n.dtype.type
    return kind(_binomial_large(n, p, draws) if n * p >= 10 else _binomial_small(float(n), p, draws))


def _binomial_small(n: float, p: np.floating, draws: Callable[[], float]) -> int:
    log_failure, total, successes = float(np.log1p(-p)), 0.0, 0
    while True:
        u = draws()
        total += math.ceil(math.log(u) / log_failure) if u > 0 else math.inf
        if total > n:
            return successes
        successes += 1


def _binomial_large(n: np.floating, p: np.floating, draws: Callable[[], float]) -> float:
    kind = n.dtype.type
    deviation = float(np.sqrt(n * p * (kind(1) - p)))
    mean, mode = float(n * p), float(np.floor((n + kind(1)) * p))
    ratio = float(p / (kind(1) - p))
    trials = float(n)
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * float(p)
    edge = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * deviation
    while True:
        u, v = draws() - 0.5, draws()
        us = 0.5 - abs(u)
        if us == 0:
            continue
        k = float(kind(math.floor((2 * a / us + b) * u + mean + 0.5)))
        if k < 0 or k > trials:
            continue
        if us >= 0.07 and v <= edge:
            return k
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (ratio * (trials - mode + 1)))
            + (trials + 1) * math.log((trials - mode + 1) / (trials - k + 1))
            + (k + 0.5) * math.log(ratio * (trials - k + 1) / (k + 1))
            + _stirling_tail(mode) + _stirling_tail(trials - mode) - _stirling_tail(k) - _stirling_tail(trials - k)
        )  # fmt: skip
        if _log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


_TAILS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _stirling_tail(k: float) -> float:
    """What Stirling's approximation of log k! lacks."""
    if k < len(_TAILS):
        return _TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
