"""Orthogonal polynomials, whose degree is a tensor: a loop over the recurrence, up to the largest degree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..builder import Array, Builder
from ..registry import lowering

NP_FLOAT32, NP_INT64 = np.dtype("float32"), np.dtype("int64")
First = Callable[[Builder, Array], Array]
Step = Callable[[Builder, Array, Array, Array, Array], Array]


def _register(name: str, first: First, step: Step) -> None:
    @lowering(name)
    def lower(b: Builder, x: Array, n: Array) -> Array:
        dtype = x.dtype
        wide = NP_FLOAT32 if dtype.itemsize == 2 else dtype
        degree = b.cast(n, NP_INT64)
        x = b.Add(b.cast(x, wide), b.cast(b.Mul(degree, 0), wide))  # both at the shape of the result
        one = b.Add(b.Mul(x, 0), 1)
        current = first(b, x)
        out = b.Where(b.Equal(degree, 0), one, b.Where(b.Less(degree, 0), b.Mul(x, 0), current))
        last = b.Max(b.Sub(b.reduce("ReduceMax", b.Reshape(degree, b.sizes((-1,))), (0,)), 1), 0)

        def body(c: Builder, i: Array, previous: Array, current: Array, out: Array) -> tuple[Array, ...]:
            k = c.Add(i, 1)
            following = step(c, c.cast(k, wide), x, current, previous)
            return current, following, c.Where(c.Equal(degree, c.Add(k, 1)), following, out)

        return b.cast(b.loop(last, (one, current, out), body)[2], dtype)


def _twice(b: Builder, x: Array) -> Array:
    return b.Mul(x, 2)


def _chebyshev(b: Builder, k: Array, x: Array, p: Array, q: Array) -> Array:
    return b.Sub(b.Mul(_twice(b, x), p), q)


def _shift(b: Builder, x: Array) -> Array:
    return b.Sub(_twice(b, x), 1)


def _shifted(b: Builder, k: Array, x: Array, p: Array, q: Array) -> Array:
    return b.Sub(b.Mul(_twice(b, _shift(b, x)), p), q)


def _more(b: Builder, x: Array) -> Array:
    return b.Add(_twice(b, x), 1)


_FIRST: dict[str, First] = {"t": lambda b, x: x, "u": _twice, "v": _shift, "w": _more}


def _of_shifted(first: First) -> First:
    return lambda b, x: first(b, _shift(b, x))


for _kind, _first in _FIRST.items():
    _register(f"chebyshev_polynomial_{_kind}", _first, _chebyshev)
    _register(f"shifted_chebyshev_polynomial_{_kind}", _of_shifted(_first), _shifted)

_register("hermite_polynomial_h", _twice, lambda b, k, x, p, q: b.Sub(b.Mul(_twice(b, x), p), b.Mul(_twice(b, k), q)))
_register("hermite_polynomial_he", lambda b, x: x, lambda b, k, x, p, q: b.Sub(b.Mul(x, p), b.Mul(k, q)))


def _odd(b: Builder, k: Array) -> Array:
    return b.Add(_twice(b, k), 1)


_register(
    "laguerre_polynomial_l", lambda b, x: b.Sub(1, x),
    lambda b, k, x, p, q: b.Div(b.Sub(b.Mul(b.Sub(_odd(b, k), x), p), b.Mul(k, q)), b.Add(k, 1)),
)  # fmt: skip
_register(
    "legendre_polynomial_p", lambda b, x: x,
    lambda b, k, x, p, q: b.Div(b.Sub(b.Mul(b.Mul(_odd(b, k), x), p), b.Mul(k, q)), b.Add(k, 1)),
)  # fmt: skip
