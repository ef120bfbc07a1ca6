"""The gamma function's family and the error function's inverse, in float64 arithmetic.

Sources: Lanczos' approximation (https://dlmf.nist.gov/5.10), Euler-Maclaurin sums of Hurwitz' zeta function
(https://dlmf.nist.gov/25.11), series and continued fractions of incomplete gamma functions (https://dlmf.nist.gov/8),
Wichura-style rational approximations of the normal quantile as in Cephes (https://www.netlib.org/cephes/).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ..builder import Array, Builder
from ..registry import lowering
from .pointwise import log1p

NP_FLOAT64 = np.dtype("float64")
LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
)  # fmt: skip
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def in_float64(name: str) -> Callable:
    """Register a lowering that computes in float64 and casts its result back."""

    def register(fn: Callable) -> Callable:
        @lowering(name)
        def lower(b: Builder, *args: object) -> Array:
            dtype = next(a.dtype for a in args if isinstance(a, Array))
            wide = [b.cast(a, NP_FLOAT64) if isinstance(a, Array) else a for a in args]
            return b.cast(fn(b, *wide), dtype)

        return fn

    return register


def horner(b: Builder, x: Array, coefficients: Sequence[float]) -> Array:
    """A polynomial, the highest power's coefficient first."""
    y = b.constant(coefficients[0], NP_FLOAT64)
    for c in coefficients[1:]:
        y = b.Add(b.Mul(y, x), c)
    return y


def whole(b: Builder, x: Array) -> Array:
    return b.Equal(x, b.Floor(x))


def pole(b: Builder, x: Array) -> Array:
    """True at 0, -1, -2, …"""
    return b.And(b.LessOrEqual(x, 0), whole(b, x))


def _nan(b: Builder) -> Array:
    return b.constant(math.nan, NP_FLOAT64)


def _inf(b: Builder) -> Array:
    return b.constant(math.inf, NP_FLOAT64)


@in_float64("lgamma")
def lgamma(b: Builder, x: Array) -> Array:
    reflected = b.Less(x, 0.5)
    z = b.Sub(b.Where(reflected, b.Sub(1, x), x), 1)
    total = b.constant(LANCZOS[0], NP_FLOAT64)
    for i, c in enumerate(LANCZOS[1:], 1):
        total = b.Add(total, b.Div(c, b.Add(z, i)))
    t = b.Add(z, 7.5)
    y = b.Add(b.Sub(b.Mul(b.Add(z, 0.5), b.Log(t)), t), b.Add(b.Log(total), 0.5 * math.log(2 * math.pi)))
    sine = b.Abs(b.Sin(b.Mul(b.Sub(x, b.Round(x)), math.pi)))
    y = b.Where(reflected, b.Sub(b.Sub(math.log(math.pi), b.Log(sine)), y), y)
    return b.Where(b.Or(pole(b, x), b.Equal(b.Abs(x), math.inf)), _inf(b), y)


@in_float64("digamma")
def digamma(b: Builder, x: Array) -> Array:
    reflected = b.Less(x, 0)
    z = b.Where(reflected, b.Sub(1, x), x)
    total = b.constant(0.0, NP_FLOAT64)
    for k in range(8):
        total = b.Add(total, b.Reciprocal(b.Add(z, k)))
    a = b.Add(z, 8)
    square = b.Reciprocal(b.Mul(a, a))
    series = horner(b, square, [-c / (2 * k) for k, c in reversed(list(enumerate(BERNOULLI, 1)))])
    y = b.Add(b.Sub(b.Log(a), b.Div(0.5, a)), b.Mul(series, square))
    y = b.Sub(y, total)
    fraction = b.Mul(b.Sub(x, b.Round(x)), math.pi)
    y = b.Where(reflected, b.Sub(y, b.Div(b.Mul(b.Cos(fraction), math.pi), b.Sin(fraction))), y)
    at_zero = b.Where(b.Less(b.Reciprocal(x), 0), _inf(b), b.constant(-math.inf, NP_FLOAT64))
    return b.Where(b.Equal(x, 0), at_zero, b.Where(pole(b, x), _nan(b), y))


def hurwitz(b: Builder, s: Array, q: Array) -> Array:
    """Sums of ``(q + k)**-s`` up to where the rest is an Euler-Maclaurin sum; as many as the smallest ``q`` needs."""
    zero = b.Mul(b.Add(s, q), 0)
    lowest = b.reduce("ReduceMin", b.Reshape(b.Where(b.IsNaN(q), b.constant(0.0, NP_FLOAT64), q), b.sizes((-1,))), (0,))
    count = b.cast(b.Max(b.Sub(10.0, b.Floor(b.Max(lowest, -1e4))), 10.0), np.int64)

    def body(c: Builder, i: Array, total: Array) -> tuple[Array]:
        return (c.Add(total, c.Pow(c.Add(q, c.cast(i, NP_FLOAT64)), c.Neg(s))),)

    (total,) = b.loop(count, (zero,), body)
    a = b.Add(q, b.cast(count, NP_FLOAT64))
    power = b.Pow(a, b.Neg(s))
    total = b.Add(total, b.Add(b.Div(b.Mul(power, a), b.Sub(s, 1)), b.Mul(power, 0.5)))
    factor, over = s, b.Div(power, a)
    for k, c in enumerate(BERNOULLI, 1):
        total = b.Add(total, b.Mul(b.Mul(factor, over), c / math.factorial(2 * k)))
        factor = b.Mul(factor, b.Mul(b.Add(s, 2 * k - 1), b.Add(s, 2 * k)))
        over = b.Div(over, b.Mul(a, a))
    return total


@in_float64("zeta")
def zeta(b: Builder, s: Array, q: Array) -> Array:
    y = hurwitz(b, s, q)
    y = b.Where(b.And(b.Less(q, 0), b.Not(whole(b, s))), _nan(b), y)
    y = b.Where(pole(b, q), _inf(b), y)
    return b.Where(b.Equal(s, 1), _inf(b), b.Where(b.Less(s, 1), _nan(b), y))


@lowering("polygamma")
def polygamma(b: Builder, x: Array, n: int) -> Array:
    wide = b.cast(x, NP_FLOAT64)
    if n == 1:
        return b.cast(_trigamma(b, x, wide), x.dtype)
    return b.cast(digamma(b, wide) if n == 0 else _polygamma(b, wide, n), x.dtype)


def _polygamma(b: Builder, x: Array, n: int) -> Array:
    y = b.Mul(hurwitz(b, b.constant(float(n + 1), NP_FLOAT64), x), (-1) ** (n + 1) * float(math.factorial(n)))
    y = b.Where(b.Equal(x, math.inf), b.constant(0.0, NP_FLOAT64), y)
    return b.Where(pole(b, x), b.constant((-1) ** (n + 1) * math.inf, NP_FLOAT64), y)


def _trigamma(b: Builder, x: Array, wide: Array) -> Array:
    """Reflected below 0.5, with the sine in the input's own type: PyTorch's poles at negative integers are finite."""
    reflected = b.Less(wide, 0.5)
    y = _polygamma(b, b.Where(reflected, b.Sub(1, wide), wide), 1)
    sine = b.cast(b.Sin(b.Mul(x, math.pi)), NP_FLOAT64)
    of_sine = b.Div(math.pi**2, b.Mul(sine, sine))
    return b.Where(reflected, b.Sub(of_sine, y), y)


# ---------------------------------------------------------------- incomplete gamma functions

STEPS = 400


def _lower_series(b: Builder, a: Array, x: Array, scale: Array) -> Array:
    """P(a, x) where x is at most about a."""
    zero = b.Mul(b.Add(a, x), 0)
    first = b.Add(zero, b.Reciprocal(a))

    def body(c: Builder, i: Array, term: Array, total: Array) -> tuple[Array, Array]:
        term = c.Mul(term, c.Div(x, c.Add(a, c.cast(c.Add(i, 1), NP_FLOAT64))))
        return term, c.Add(total, term)

    return b.Mul(b.loop(STEPS, (first, first), body)[1], scale)


def _upper_fraction(b: Builder, a: Array, x: Array, scale: Array) -> Array:
    """Q(a, x) where x is larger than a, by Lentz' method."""
    tiny = 1e-300
    zero = b.Mul(b.Add(a, x), 0)
    start = b.Add(b.Add(b.Sub(x, a), 1), zero)
    d = b.Reciprocal(start)

    def safe(c: Builder, v: Array) -> Array:
        return c.Where(c.Less(c.Abs(v), tiny), c.constant(tiny, NP_FLOAT64), v)

    def body(k: Builder, i: Array, base: Array, c: Array, d: Array, h: Array) -> tuple[Array, ...]:
        n = k.cast(k.Add(i, 1), NP_FLOAT64)
        an = k.Neg(k.Mul(n, k.Sub(n, a)))
        base = k.Add(base, 2)
        d = k.Reciprocal(safe(k, k.Add(k.Mul(an, d), base)))
        c = safe(k, k.Add(base, k.Div(an, c)))
        return base, c, d, k.Mul(h, k.Mul(c, d))

    made = b.loop(STEPS, (start, b.Add(zero, 1 / tiny), d, d), body)
    return b.Mul(made[3], scale)


def _incomplete(b: Builder, a: Array, x: Array, upper: bool) -> Array:
    small = b.Less(x, b.Add(a, 1))
    one = b.constant(1.0, NP_FLOAT64)
    low_x, high_x = b.Where(small, x, b.Mul(a, 0.5)), b.Where(small, b.Add(b.Abs(a), 2), x)
    scale = lambda x: b.Exp(b.Sub(b.Sub(b.Mul(a, b.Log(x)), x), lgamma(b, a)))  # noqa: E731
    series = b.Where(b.Equal(low_x, 0), b.constant(0.0, NP_FLOAT64), _lower_series(b, a, low_x, scale(low_x)))
    fraction = _upper_fraction(b, a, high_x, scale(high_x))
    fraction = b.Where(b.Equal(x, math.inf), b.constant(0.0, NP_FLOAT64), fraction)
    y = b.Where(small, b.Sub(one, series), fraction) if upper else b.Where(small, series, b.Sub(one, fraction))
    y = b.Where(b.Equal(a, 0), b.constant(0.0 if upper else 1.0, NP_FLOAT64), y)
    bad = b.Or(b.Or(b.Less(a, 0), b.Less(x, 0)), b.And(b.Equal(a, 0), b.Equal(x, 0)))
    return b.Where(bad, _nan(b), y)


@in_float64("igamma")
def igamma(b: Builder, a: Array, x: Array) -> Array:
    return _incomplete(b, a, x, False)


@in_float64("igammac")
def igammac(b: Builder, a: Array, x: Array) -> Array:
    return _incomplete(b, a, x, True)


# ---------------------------------------------------------------- the normal distribution

# Numerator and denominator in the middle, and for the tails up to and beyond exp(-32).
P0 = (
    -59.9633501014107895267,
    98.0010754185999661536,
    -56.6762857469070293439,
    13.9312609387279679503,
    -1.23916583867381258016,
)
Q0 = (1.0, 1.95448858338141759834, 4.67627912898881538453, 86.3602421390890590575, -225.462687854119370527,
      200.260212380060660359, -82.0372256168333339912, 15.9056225126211695515, -1.18331621121330003142)  # fmt: skip
P1 = (4.05544892305962419923, 31.5251094599893866154, 57.1628192246421288162, 44.0805073893200834700,
      14.6849561928858024014,
      2.18663306850790267539, -0.140256079171354495875, -0.0350424626827848203418,
      -8.57456785154685413611e-4)  # fmt: skip
Q1 = (1.0, 15.7799883256466749731, 45.3907635128879210584, 41.3172038254672030440, 15.0425385692907503408,
      2.50464946208309415979, -0.142182922854787788574, -0.0380806407691578277194,
      -9.33259480895457427372e-4)  # fmt: skip
P2 = (3.23774891776946035970, 6.91522889068984211695, 3.93881025292474443415, 1.33303460815807542389,
      0.201485389549179081538,
      0.0123716634817820021358, 3.01581553508235416007e-4, 2.65806974686737550832e-6,
      6.23974539184983293730e-9)  # fmt: skip
Q2 = (1.0, 6.02427039364742014255, 3.67983563856160859403, 1.37702099489081330271, 0.216236993594496635890,
      0.0134204006088543189037, 3.28014464682127739104e-4, 2.89247864745380683936e-6,
      6.79019408009981274425e-9)  # fmt: skip
EXP_MINUS_2 = 0.13533528323661269189


@in_float64("ndtri")
def ndtri(b: Builder, p: Array) -> Array:
    upper = b.Greater(p, 1 - EXP_MINUS_2)
    low = b.Where(upper, b.Sub(1, p), p)
    middle = b.Greater(low, EXP_MINUS_2)
    centred = b.Sub(p, 0.5)
    square = b.Mul(centred, centred)
    inner = b.Mul(b.Div(b.Mul(square, horner(b, square, P0)), horner(b, square, Q0)), centred)
    inner = b.Mul(b.Add(centred, inner), math.sqrt(2 * math.pi))
    inside = b.And(b.Greater(low, 0), b.LessOrEqual(low, EXP_MINUS_2))
    x = b.Sqrt(b.Mul(b.Log(b.Where(inside, low, b.constant(0.1, NP_FLOAT64))), -2))
    z = b.Reciprocal(x)
    tail = b.Where(
        b.Less(x, 8),
        b.Div(b.Mul(z, horner(b, z, P1)), horner(b, z, Q1)),
        b.Div(b.Mul(z, horner(b, z, P2)), horner(b, z, Q2)),
    )
    outer = b.Sub(b.Sub(x, b.Div(b.Log(x), x)), tail)
    y = b.Where(middle, inner, b.Where(upper, outer, b.Neg(outer)))
    y = b.Where(b.Equal(p, 0), b.constant(-math.inf, NP_FLOAT64), b.Where(b.Equal(p, 1), _inf(b), y))
    return b.Where(b.Or(b.Or(b.Less(p, 0), b.Greater(p, 1)), b.IsNaN(p)), _nan(b), y)


@in_float64("erfinv")
def erfinv(b: Builder, x: Array) -> Array:
    return b.Mul(ndtri(b, b.Mul(b.Add(x, 1), 0.5)), math.sqrt(0.5))


# W. H. Press et al., Numerical Recipes: erfc by a Chebyshev fit, with a relative error below 1.2e-7 everywhere.
ERFC = (
    0.17087277,
    -0.82215223,
    1.48851587,
    -1.13520398,
    0.27886807,
    -0.18628806,
    0.09678418,
    0.37409196,
    1.00002368,
    -1.26551223,
)


def _scaled_complement(b: Builder, x: Array) -> Array:
    """``exp(x**2) * erfc(x)`` for x of at least 0."""
    t = b.Reciprocal(b.Add(b.Mul(x, 0.5), 1))
    return b.Mul(t, b.Exp(horner(b, t, ERFC)))


@in_float64("erfcx")
def erfcx(b: Builder, x: Array) -> Array:
    b.note("erfcx is exact to seven digits")
    y = _scaled_complement(b, b.Abs(x))
    return b.Where(b.Less(x, 0), b.Sub(b.Mul(b.Exp(b.Mul(x, x)), 2), y), y)


@in_float64("log_ndtr")
def log_ndtr(b: Builder, x: Array) -> Array:
    b.note("log_ndtr is exact to seven digits")
    scaled = _scaled_complement(b, b.Mul(b.Abs(x), math.sqrt(0.5)))
    half_square = b.Mul(b.Mul(x, x), 0.5)
    below = b.Sub(b.Log(b.Mul(scaled, 0.5)), half_square)
    above = log1p(b, b.Mul(b.Mul(scaled, b.Exp(b.Neg(half_square))), -0.5))
    return b.Where(b.Less(x, 0), below, above)
