"""Pointwise operators of two floating tensors beyond arithmetic: extrema, angles, logarithms of sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._core.families import binary, half_as_float, inplace_method, method
from .constants import ones_as, zeros_as
from .ternary import where
from .unary import exp, log

__all__ = ["arctan2", "atan2", "copysign", "fmax", "fmin", "gcd", "heaviside", "hypot", "lcm", "ldexp", "logaddexp",
           "logaddexp2", "maximum", "minimum", "nextafter", "xlogy"]  # fmt: skip


def _halved(g: Any, chosen: Any, equal: Any) -> Any:
    """The gradient of the chosen side; where both are equal each gets half."""
    return where(equal, g * 0.5, where(chosen, g, zeros_as(g)))


def _refuse_complex(name: str) -> Any:
    def refuse(a: Any, b: Any) -> None:
        if any(hasattr(v, "_data") and v._data.dtype.kind == "c" or isinstance(v, complex) for v in (a, b)):
            raise RuntimeError(f"{name} not implemented for complex tensors.")

    return refuse


maximum = binary(
    "maximum",
    "maximum",
    lambda g, x, y: _halved(g, x > y, x == y),
    lambda g, x, y: _halved(g, y > x, x == y),
    ("xy", "xy"),
    inplace=False,
    refuse=_refuse_complex("maximum"),
)
minimum = binary(
    "minimum",
    "minimum",
    lambda g, x, y: _halved(g, x < y, x == y),
    lambda g, x, y: _halved(g, y < x, x == y),
    ("xy", "xy"),
    inplace=False,
    refuse=_refuse_complex("minimum"),
)


def _first_for_fmax(x: Any, y: Any) -> Any:
    return (x >= y) | (y != y)


fmax = binary(
    "fmax",
    "fmax",
    lambda g, x, y: where(_first_for_fmax(x, y), g, zeros_as(g)),
    lambda g, x, y: where(_first_for_fmax(x, y), zeros_as(g), g),
    ("xy", "xy"),
    inplace=False,
    refuse=_refuse_complex("fmax"),
)
fmin = binary(
    "fmin",
    "fmin",
    lambda g, x, y: where((x <= y) | (y != y), g, zeros_as(g)),
    lambda g, x, y: where((x <= y) | (y != y), zeros_as(g), g),
    ("xy", "xy"),
    inplace=False,
    refuse=_refuse_complex("fmin"),
)
atan2 = binary(
    "atan2",
    half_as_float(lambda xp, x, y: xp.arctan2(x, y)),
    lambda g, x, y: g * (y / (x * x + y * y)),
    lambda g, x, y: g * (-x / (x * x + y * y)),
    ("xy", "xy"),
    result="float",
)
hypot: Callable = binary(
    "hypot",
    half_as_float(lambda xp, x, y: xp.hypot(x, y)),
    lambda g, x, y: g * (x / hypot(x, y)),
    lambda g, x, y: g * (y / hypot(x, y)),
    ("xy", "xy"),
)
copysign: Callable = binary(
    "copysign", lambda xp, x, y: xp.copysign(x, y), lambda g, x, y: where(x == 0, zeros_as(g),
                                                                          g * (copysign(x, y) / where(x == 0,
                                                                                                      ones_as(x), x))),
                                                                                                      lambda g, x,
                                                                                                      y: zeros_as(g),
    ("xy", ""), result="float",
)  # fmt: skip
nextafter = binary("nextafter", lambda xp, x, y: xp.nextafter(x, y), lambda g, x, y: g, lambda g, x, y: zeros_as(g))


def _logaddexp_kernel(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind != "c":
        return xp.logaddexp(x, y)
    first = x.real >= y.real
    big, small = xp.where(first, x, y), xp.where(first, y, x)
    return big + xp.log1p(xp.exp(small - big))


logaddexp = binary(
    "logaddexp",
    half_as_float(_logaddexp_kernel),
    lambda g, x, y: g / (exp(y - x) + 1),
    lambda g, x, y: g / (exp(x - y) + 1),
    ("xy", "xy"),
    inplace=False,
)
logaddexp2 = binary(
    "logaddexp2", half_as_float(lambda xp, x, y: xp.logaddexp2(x, y)), lambda g, x,
    y: g / (exp((y - x) * math.log(2)) + 1), lambda g, x, y: g / (exp((x - y) * math.log(2)) + 1), ("xy", "xy"),
    inplace=False,
)  # fmt: skip


def _xlogy_kernel(xp: Any, x: Any, y: Any) -> Any:
    product = x * xp.log(y)
    return xp.where((x == 0) & ~(y != y), xp.zeros_like(product), product)


xlogy = binary(
    "xlogy",
    half_as_float(_xlogy_kernel),
    lambda g, x, y: where((x == 0) & (y <= 0), zeros_as(g), g * log(y)),
    lambda g, x, y: g * (x / y),
    ("xy", "xy"),
    result="float",
)
heaviside = binary(
    "heaviside", lambda xp, x, y: xp.where(x == 0, y, xp.where(x > 0, xp.ones_like(y), xp.zeros_like(y))), None, None
)
gcd = binary("gcd", "gcd", None, None)
lcm = binary("lcm", lambda xp, x, y: xp.abs(xp.lcm(x, y)), None, None)


def ldexp(input: Any, other: Any, *, out: Any = None) -> Any:
    """``input * 2**other``."""
    from .._core.inplace import store
    from .power import pow

    result = input * pow(2.0, other)
    return result if out is None else store(out, result)


method(ldexp)
inplace_method(ldexp)
arctan2 = atan2
method(atan2, "arctan2")
inplace_method(atan2, "arctan2_")
