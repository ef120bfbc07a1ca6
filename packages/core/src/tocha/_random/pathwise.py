"""How a gamma or beta number moves with its parameter while its quantile stays: d x / d a = -(d F / d a) / (d F / d x).

Figurnov, Mohamed and Mnih, Implicit Reparameterization Gradients, 2018 (arXiv:1805.08498). The cumulative functions are
expanded in series whose terms are differentiated one by one, in float64; https://dlmf.nist.gov/8.7 and 8.17.
"""

from __future__ import annotations

import numpy as np

_LARGE = 1000.0  # from here on the normal expansion of the quantile is as exact as the series
_STOP = 1e-17
_TERMS = 200_000


def gamma_slope(alpha: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``d x / d alpha`` of gamma numbers ``x`` of scale 1; ``alpha`` and ``x`` of one shape, the result float64."""
    a, x = (np.asarray(v, np.float64) for v in np.broadcast_arrays(alpha, x))
    slope = np.empty(a.shape)
    large = a > _LARGE
    tail = ~large & (x > a + 1 + 3 * np.sqrt(a))
    below = ~large & ~tail
    slope[large] = _gamma_large(a[large], x[large])
    slope[tail] = _gamma_tail(a[tail], x[tail])
    slope[below] = _gamma_below(a[below], x[below])
    return slope


def _gamma_below(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """From P(a, x) / density = x * sum t_n, where t_n = x^n / (a (a+1) ... (a+n))."""
    from scipy.special import digamma

    term, harmonic = 1 / a, 1 / a
    total, weighted = term.copy(), term * harmonic
    for n in range(1, _TERMS):
        term = term * x / (a + n)
        harmonic = harmonic + 1 / (a + n)
        total += term
        weighted += term * harmonic
        if not np.any(term * harmonic > _STOP * weighted):
            break
    return x * ((digamma(a) - np.log(x)) * total + weighted)


def _gamma_tail(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """From Q(a, x) / density = x * fraction, Legendre's continued fraction, evaluated from its far end with its
    slope."""
    from scipy.special import digamma

    value, slope = np.zeros_like(a), np.zeros_like(a)
    for n in range(200, 0, -1):
        below = x + 2 * n + 1 - a + value
        numerator = n * (n - a)
        value, slope = -numerator / below, n / below + numerator * (slope - 1) / below**2
    below = x + 1 - a + value
    fraction, fraction_slope = 1 / below, (1 - slope) / below**2
    return x * ((np.log(x) - digamma(a)) * fraction + fraction_slope)


def _gamma_large(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """From the Cornish-Fisher expansion of the quantile in the normal quantile ``z``."""
    root = np.sqrt(a)
    z = (x - a) / root
    for _ in range(12):
        z = (x - a - (z * z - 1) / 3 - (z**3 - 7 * z) / (36 * root) + (3 * z**4 + 7 * z * z - 16) / (810 * a)) / root
    return 1 + z / (2 * root) - (z**3 - 7 * z) / (72 * a * root) + (3 * z**4 + 7 * z * z - 16) / (810 * a * a)


def beta_slope(x: np.ndarray, alpha: np.ndarray, total: np.ndarray) -> np.ndarray:
    """``d x / d alpha / (1 - x)`` of numbers ``x`` of Beta(alpha, total - alpha) whose second parameter is held.

    The rest of a Dirichlet vector shrinks in proportion, so this is all that its gradient needs.
    """
    x, a, total = (np.asarray(v, np.float64) for v in np.broadcast_arrays(x, alpha, total))
    b = total - a
    slope = np.empty(a.shape)
    low = x <= 0.5
    slope[low] = _beta_low(x[low], a[low], b[low])
    slope[~low] = _beta_high(1 - x[~low], a[~low], b[~low])
    return slope


def _beta_low(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """From I_x(a, b) / density = x (1 - x) / a * F(a + b, 1; a + 1; x)."""
    from scipy.special import digamma

    term, grown = np.ones_like(x), np.zeros_like(x)
    series, series_slope = term.copy(), grown.copy()
    for n in range(_TERMS):
        term = term * x * (a + b + n) / (a + 1 + n)
        grown = grown + 1 / (a + b + n) - 1 / (a + 1 + n)
        series += term
        series_slope += term * grown
        if not np.any(term * (1 + np.abs(grown)) > _STOP * series):
            break
    slope = (np.log(x) - digamma(a) + digamma(a + b) - 1 / a) * series + series_slope
    return -x / a * slope


def _beta_high(y: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """From 1 - I_x(a, b) = I_y(b, a), y = 1 - x."""
    from scipy.special import digamma

    term, grown = np.ones_like(y), np.zeros_like(y)
    series, series_slope = term.copy(), grown.copy()
    for n in range(_TERMS):
        term = term * y * (a + b + n) / (b + 1 + n)
        grown = grown + 1 / (a + b + n)
        series += term
        series_slope += term * grown
        if not np.any(term * (1 + grown) > _STOP * series):
            break
    slope = (np.log1p(-y) - digamma(a) + digamma(a + b)) * series + series_slope
    return (1 - y) / b * slope
