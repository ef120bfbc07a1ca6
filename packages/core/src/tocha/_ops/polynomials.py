"""Orthogonal polynomials of degree ``n`` at each ``x``, by their recurrences (https://dlmf.nist.gov/18.9)."""

from __future__ import annotations

from typing import Any

from .._core.families import binary, half_as_float


def _recurrence(first: Any, step: Any) -> Any:
    """A kernel of ``p[0] = 1``, ``p[1] = first(x)``, ``p[k+1] = step(k, x, p[k], p[k-1])``; 0 for negative degrees."""

    def kernel(xp: Any, x: Any, n: Any) -> Any:
        x, n = xp.broadcast_arrays(xp.asarray(x), xp.asarray(n))
        degree = n.astype("int64")
        previous, current = xp.ones_like(x), first(x)
        out = xp.where(degree == 0, previous, xp.where(degree < 0, xp.zeros_like(x), current))
        for k in range(1, int(degree.max()) if degree.size else 0):
            previous, current = current, step(k, x, current, previous)
            out = xp.where(degree == k + 1, current, out)
        return out

    return half_as_float(kernel)


def _polynomial(name: str, first: Any, step: Any) -> Any:
    return binary(name, _recurrence(first, step), result="float", attach=False)


def _chebyshev(k: int, x: Any, p: Any, q: Any) -> Any:
    return 2 * x * p - q


def _shifted(k: int, x: Any, p: Any, q: Any) -> Any:
    return 2 * (2 * x - 1) * p - q


chebyshev_polynomial_t = _polynomial("chebyshev_polynomial_t", lambda x: x, _chebyshev)
chebyshev_polynomial_u = _polynomial("chebyshev_polynomial_u", lambda x: 2 * x, _chebyshev)
chebyshev_polynomial_v = _polynomial("chebyshev_polynomial_v", lambda x: 2 * x - 1, _chebyshev)
chebyshev_polynomial_w = _polynomial("chebyshev_polynomial_w", lambda x: 2 * x + 1, _chebyshev)
shifted_chebyshev_polynomial_t = _polynomial("shifted_chebyshev_polynomial_t", lambda x: 2 * x - 1, _shifted)
shifted_chebyshev_polynomial_u = _polynomial("shifted_chebyshev_polynomial_u", lambda x: 2 * (2 * x - 1), _shifted)
shifted_chebyshev_polynomial_v = _polynomial("shifted_chebyshev_polynomial_v", lambda x: 2 * (2 * x - 1) - 1, _shifted)
shifted_chebyshev_polynomial_w = _polynomial("shifted_chebyshev_polynomial_w", lambda x: 2 * (2 * x - 1) + 1, _shifted)
hermite_polynomial_h = _polynomial("hermite_polynomial_h", lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q)
hermite_polynomial_he = _polynomial("hermite_polynomial_he", lambda x: x, lambda k, x, p, q: x * p - k * q)
laguerre_polynomial_l = _polynomial(
    "laguerre_polynomial_l", lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)
)
legendre_polynomial_p = _polynomial(
    "legendre_polynomial_p", lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)
)
