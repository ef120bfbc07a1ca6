"""Bessel functions and their kin, in float64: a power series near 0 and an asymptotic series further out.

Each series is a product with a vector of coefficients. Source: https://dlmf.nist.gov/10 and https://dlmf.nist.gov/9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..builder import Array, Builder
from ..registry import lowering
from .gamma import NP_FLOAT64, in_float64

EULER = 0.57721566490153286
FAR = 12.0  # from here on the asymptotic series
FAR_K = 9.0  # the same for K, whose power series loses digits sooner
TERMS = 60


def series(b: Builder, x: Array, coefficients: Sequence[float]) -> Array:
    """``c[0] + c[1] x + c[2] x**2 + …``"""
    powers = b.Pow(b.Unsqueeze(x, np.array([-1], np.int64)), b.constant(np.arange(len(coefficients), dtype=np.float64)))
    return b.MatMul(powers, b.constant(np.array(coefficients, np.float64)))


def _harmonic(k: int) -> float:
    return sum(1 / j for j in range(1, k + 1))


def _near(b: Builder, x: Array, order: int, sign: int, weights: Sequence[float] | None = None) -> Array:
    """``(x/2)**order`` times the sum of ``weight (sign x² / 4)**k / (k! (k + order)!)``."""
    w = [1.0] * TERMS if weights is None else weights
    coefficients = [sign**k * w[k] / (math.factorial(k) * math.factorial(k + order)) for k in range(TERMS)]
    y = series(b, b.Mul(b.Mul(x, x), 0.25), coefficients)
    return y if order == 0 else b.Mul(y, b.Mul(x, 0.5))


def _asymptotic(order: int, terms: int) -> list[float]:
    """a_k(order) of DLMF 10.17.1."""
    found = [1.0]
    for k in range(1, terms):
        found.append(found[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (k * 8))
    return found


def _digammas(order: int) -> list[float]:
    """psi(k + 1) + psi(k + order + 1), halved for order 0, where both are the same."""
    both = [-2 * EULER + _harmonic(k) + _harmonic(k + order) for k in range(TERMS)]
    return [v / 2 for v in both] if order == 0 else both


# ---------------------------------------------------------------- I and K


def _scaled_i(b: Builder, x: Array, order: int) -> Array:
    """exp(-|x|) I(x), of |x|."""
    size = b.Abs(x)
    close = b.Less(size, 20.0)
    near, far = b.Min(size, 20.0), b.Max(size, 20.0)
    inside = b.Mul(_near(b, near, order, 1), b.Exp(b.Neg(near)))
    signed = [(-1) ** k * a for k, a in enumerate(_asymptotic(order, 16))]
    outside = b.Div(series(b, b.Reciprocal(far), signed), b.Sqrt(b.Mul(far, 2 * math.pi)))
    return b.Where(close, inside, outside)


def _i(b: Builder, x: Array, order: int, scaled: bool) -> Array:
    y = _scaled_i(b, x, order)
    if order:
        y = b.Mul(y, b.Sign(x))
    return y if scaled else b.Mul(y, b.Exp(b.Abs(x)))


for _name, _order, _scaled in (
    ("i0", 0, False), ("i1", 1, False), ("i0e", 0, True), ("i1e", 1, True), ("modified_bessel_i0", 0, False),
    ("modified_bessel_i1", 1, False),
):  # fmt: skip
    in_float64(_name)(lambda b, x, order=_order, scaled=_scaled: _i(b, x, order, scaled))


def _k(b: Builder, x: Array, order: int, scaled: bool) -> Array:
    near, far = b.Min(x, FAR_K), b.Max(x, FAR_K)
    logarithm = b.Log(b.Mul(near, 0.5))
    if order == 0:
        inside = b.Sub(_near(b, near, 0, 1, _digammas(0)), b.Mul(logarithm, _near(b, near, 0, 1)))
    else:
        inside = b.Add(b.Reciprocal(near), b.Mul(logarithm, _near(b, near, 1, 1)))
        inside = b.Sub(inside, b.Mul(_near(b, near, 1, 1, _digammas(1)), 0.5))
    outside = b.Mul(series(b, b.Reciprocal(far), _asymptotic(order, 18)), b.Sqrt(b.Div(math.pi / 2, far)))
    if scaled:
        inside = b.Mul(inside, b.Exp(near))
    else:
        outside = b.Mul(outside, b.Exp(b.Neg(far)))
    y = b.Where(b.Less(x, FAR_K), inside, outside)
    return _of_positive(b, x, y, math.inf)


def _of_positive(b: Builder, x: Array, y: Array, at_zero: float) -> Array:
    y = b.Where(b.Equal(x, 0), b.constant(at_zero, NP_FLOAT64), y)
    return b.Where(b.Less(x, 0), b.constant(math.nan, NP_FLOAT64), y)


for _name, _order, _scaled in (
    ("modified_bessel_k0", 0, False), ("modified_bessel_k1", 1, False), ("scaled_modified_bessel_k0", 0, True),
    ("scaled_modified_bessel_k1", 1, True),
):  # fmt: skip
    in_float64(_name)(lambda b, x, order=_order, scaled=_scaled: _k(b, x, order, scaled))

# ---------------------------------------------------------------- J and Y


def _waves(b: Builder, x: Array, order: int) -> tuple[Array, Array]:
    """J and Y for large x: two series times the cosine and the sine of the phase."""
    a = _asymptotic(order, 24)
    square = b.Reciprocal(b.Mul(x, x))
    even = series(b, square, [(-1) ** k * a[2 * k] for k in range(12)])
    odd = b.Div(series(b, square, [(-1) ** k * a[2 * k + 1] for k in range(12)]), x)
    phase = b.Sub(x, (order / 2 + 0.25) * math.pi)
    size = b.Sqrt(b.Div(2 / math.pi, x))
    sine, cosine = b.Sin(phase), b.Cos(phase)
    j = b.Mul(size, b.Sub(b.Mul(even, cosine), b.Mul(odd, sine)))
    return j, b.Mul(size, b.Add(b.Mul(even, sine), b.Mul(odd, cosine)))


def _j(b: Builder, x: Array, order: int) -> Array:
    size = b.Abs(x)
    y = b.Where(b.Less(size, FAR), _near(b, b.Min(size, FAR), order, -1), _waves(b, b.Max(size, FAR), order)[0])
    return b.Mul(y, b.Sign(x)) if order else y


def _y(b: Builder, x: Array, order: int) -> Array:
    near, far = b.Min(x, FAR), b.Max(x, FAR)
    logarithm = b.Log(b.Mul(near, 0.5))
    inside = b.Mul(b.Mul(logarithm, _near(b, near, order, -1)), 2 / math.pi)
    if order == 0:
        inside = b.Sub(inside, b.Mul(_near(b, near, 0, -1, _digammas(0)), 2 / math.pi))
    else:
        inside = b.Sub(inside, b.Mul(_near(b, near, 1, -1, _digammas(1)), 1 / math.pi))
        inside = b.Sub(inside, b.Div(2 / math.pi, near))
    y = b.Where(b.Less(x, FAR), inside, _waves(b, far, order)[1])
    return _of_positive(b, x, y, -math.inf)


for _order in (0, 1):
    in_float64(f"bessel_j{_order}")(lambda b, x, order=_order: _j(b, x, order))
    in_float64(f"bessel_y{_order}")(lambda b, x, order=_order: _y(b, x, order))


@lowering("spherical_bessel_j0")
def spherical_j0(b: Builder, x: Array) -> Array:
    y = b.Where(b.Equal(x, 0), b.constant(1, x.dtype), b.Div(b.Sin(x), x))
    return b.Where(b.Equal(b.Abs(x), math.inf), b.constant(0, x.dtype), y)


# ---------------------------------------------------------------- Airy


def _airy_coefficients(start: int) -> list[float]:
    """Of f (start 0) and g (start 1) in powers of x³: DLMF 9.4."""
    found, n = [1.0], start
    for _ in range(40):
        found.append(found[-1] / ((n + 2) * (n + 3)))
        n += 3
    return found


@in_float64("airy_ai")
def airy(b: Builder, x: Array) -> Array:
    limit = 6.0
    near = b.Max(b.Min(x, limit), -limit)
    cube = b.Mul(b.Mul(near, near), near)
    inside = b.Sub(
        b.Mul(series(b, cube, _airy_coefficients(0)), 0.355028053887817239),
        b.Mul(b.Mul(near, series(b, cube, _airy_coefficients(1))), 0.258819403792806798),
    )
    size = b.Max(b.Abs(x), limit)
    root = b.Sqrt(size)
    zeta = b.Mul(b.Mul(size, root), 2 / 3)
    u = [1.0]
    for k in range(1, 16):
        u.append(u[-1] * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1)))
    inverse = b.Reciprocal(zeta)
    falling = b.Mul(series(b, inverse, [(-1) ** k * v for k, v in enumerate(u)]), b.Exp(b.Neg(zeta)))
    above = b.Div(falling, b.Mul(b.Sqrt(root), 2 * math.sqrt(math.pi)))
    square = b.Mul(inverse, inverse)
    even = series(b, square, [(-1) ** k * u[2 * k] for k in range(8)])
    odd = b.Mul(series(b, square, [(-1) ** k * u[2 * k + 1] for k in range(8)]), inverse)
    phase = b.Sub(zeta, math.pi / 4)
    below = b.Div(b.Add(b.Mul(b.Cos(phase), even), b.Mul(b.Sin(phase), odd)), b.Mul(b.Sqrt(root), math.sqrt(math.pi)))
    outside = b.Where(b.Greater(x, 0), above, below)
    y = b.Where(b.Less(b.Abs(x), limit), inside, outside)
    return b.Where(b.Equal(b.Abs(x), math.inf), b.constant(math.nan, NP_FLOAT64), y)  # as PyTorch has it
