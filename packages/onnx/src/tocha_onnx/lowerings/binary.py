"""Pointwise operators of two or three tensors: arithmetic, comparison, logic, powers, division that rounds,
choosing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..builder import Array, Builder
from ..registry import Unsupported, lowering, unsupported
from .pointwise import isnan, log1p, signbit, trunc


def _arithmetic(name: str, for_bool: str | None) -> Callable:
    return lambda b, x, y: b.add(for_bool if for_bool and x.dtype.kind == "b" else name, x, y)


for _name, _onnx, _bool in (
    ("add", "Add", "Or"), ("sub", "Sub", None), ("mul", "Mul", "And"), ("maximum", "Max", "Or"), ("minimum", "Min",
    "And"),
    ("eq", "Equal", None), ("lt", "Less", None), ("le", "LessOrEqual", None), ("gt", "Greater", None),
    ("ge", "GreaterOrEqual", None),
):  # fmt: skip
    lowering(_name)(_arithmetic(_onnx, _bool))


@lowering("div")
def div(b: Builder, x: Array, y: Array) -> Array:
    return b.Div(x, y)


@lowering("ne")
def ne(b: Builder, x: Array, y: Array) -> Array:
    return b.Not(b.Equal(x, y))


# ---------------------------------------------------------------- logic


def _logical(name: str) -> Callable:
    return lambda b, x, y: b.add(name, b.cast(x, np.bool_), b.cast(y, np.bool_))


def _bitwise(name: str, logical: str) -> Callable:
    def lower(b: Builder, x: Array, y: Array) -> Array:
        if x.dtype.kind == "b":
            return b.add(logical, x, y)
        if b.opset < 18:
            raise Unsupported(f"ONNX has {name} from opset 18 on")
        return b.add(name, x, y)

    return lower


for _name, _logic, _bits in (("and", "And", "BitwiseAnd"), ("or", "Or", "BitwiseOr"), ("xor", "Xor", "BitwiseXor")):
    lowering(f"logical_{_name}")(_logical(_logic))
    lowering(f"bitwise_{_name}")(_bitwise(_bits, _logic))


def _power_of_two(b: Builder, y: Array) -> Array:
    return b.cast(b.Pow(b.constant(2, np.int64), b.cast(y, np.int64)), np.int64)


@lowering("bitwise_left_shift")
def left_shift(b: Builder, x: Array, y: Array) -> Array:
    wide = b.Mul(b.cast(x, np.int64), _power_of_two(b, y))
    return b.cast(wide, x.dtype)


@lowering("bitwise_right_shift")
def right_shift(b: Builder, x: Array, y: Array) -> Array:
    return b.cast(_floor_quotient(b, b.cast(x, np.int64), _power_of_two(b, y)), x.dtype)


# ---------------------------------------------------------------- division that rounds


def _floor_quotient(b: Builder, x: Array, y: Array) -> Array:
    # ONNX divides integers towards zero; without the remainder the quotient is exact.
    return b.Div(b.Sub(x, b.Mod(x, y)), y)


def _float_remainder(b: Builder, x: Array, y: Array) -> Array:
    """The remainder with the sign of the divisor."""
    rest = b.Mod(x, y, fmod=1)
    wrong = b.And(b.Not(b.Equal(rest, 0)), b.Xor(b.Less(rest, 0), b.Less(y, 0)))
    return b.Where(wrong, b.Add(rest, y), rest)


@lowering("floor_divide")
def floor_divide(b: Builder, x: Array, y: Array) -> Array:
    if not x.is_float:
        return _floor_quotient(b, x, y)
    quotient = b.Div(b.Sub(x, _float_remainder(b, x, y)), y)
    below = b.Floor(quotient)
    rounded = b.Where(b.Greater(b.Sub(quotient, below), 0.5), b.Add(below, 1), below)
    return b.Where(b.Equal(y, 0), b.Div(x, y), rounded)


@lowering("trunc_divide")
def trunc_divide(b: Builder, x: Array, y: Array) -> Array:
    return trunc(b, b.Div(x, y)) if x.is_float else b.Div(x, y)


@lowering("remainder")
def remainder(b: Builder, x: Array, y: Array) -> Array:
    return _float_remainder(b, x, y) if x.is_float else b.Mod(x, y)


@lowering("fmod")
def fmod(b: Builder, x: Array, y: Array) -> Array:
    return b.Mod(x, y, fmod=1)


# ---------------------------------------------------------------- powers


@lowering("pow")
def power(b: Builder, x: Array, y: Array) -> Array:
    if x.is_float:
        return b.Pow(x, y)
    exponent = b.data(y)
    if exponent is not None and exponent.shape == () and 0 <= int(exponent) <= 64:
        return _repeated(b, x, int(exponent))
    return _integer_power(b, x, y)


def _repeated(b: Builder, x: Array, n: int) -> Array:
    """Squaring and multiplying: onnxruntime's Pow of integers goes through float64 and loses digits."""
    if n == 0:
        return b.same_shape(b.constant(1, x.dtype), x)
    result, square = None, x
    while n:
        if n & 1:
            result = square if result is None else b.Mul(result, square)
        n >>= 1
        if n:
            square = b.Mul(square, square)
    assert result is not None
    return result


def _integer_power(b: Builder, x: Array, y: Array) -> Array:
    one = b.constant(1, x.dtype)
    result: Any = None
    square, rest = x, b.Max(y, 0)
    two = b.constant(2, y.dtype)
    for _ in range(6):
        odd = b.Equal(b.Mod(rest, two), b.constant(1, y.dtype))
        factor = b.Where(odd, square, one)
        result = factor if result is None else b.Mul(result, factor)
        square, rest = b.Mul(square, square), b.Div(rest, two)
    if y.dtype.kind == "u":
        return result
    even = b.Equal(b.Mod(y, two), b.constant(0, y.dtype))
    minus = b.Where(even, one, b.constant(-1, x.dtype)) if x.dtype.kind == "i" else b.Where(even, one, one)
    inverse = b.Where(b.Equal(x, 1), one, b.Where(b.Equal(b.Add(x, 1), 0), minus, b.constant(0, x.dtype)))
    return b.Where(b.Less(y, 0), inverse, result)


# ---------------------------------------------------------------- extrema, angles, logarithms of sums


@lowering("fmax")
def fmax(b: Builder, x: Array, y: Array) -> Array:
    return _without_nan(b, "Max", x, y)


@lowering("fmin")
def fmin(b: Builder, x: Array, y: Array) -> Array:
    return _without_nan(b, "Min", x, y)


def _without_nan(b: Builder, op: str, x: Array, y: Array) -> Array:
    if not x.is_float:
        return b.add({"Max": "Or", "Min": "And"}[op] if x.dtype.kind == "b" else op, x, y)
    return b.Where(b.IsNaN(x), y, b.Where(b.IsNaN(y), x, b.add(op, x, y)))


@lowering("atan2")
def atan2(b: Builder, y: Array, x: Array) -> Array:
    down, left = signbit(b, y), signbit(b, x)
    half = b.Where(down, b.constant(-math.pi, x.dtype), b.constant(math.pi, x.dtype))
    angle = b.Atan(b.Div(y, x))
    angle = b.Where(left, b.Add(angle, half), angle)
    upright = b.Where(b.Equal(y, 0), b.Where(left, half, b.Mul(y, 0)), b.Mul(half, 0.5))
    return b.Where(b.Equal(x, 0), upright, angle)


@lowering("hypot")
def hypot(b: Builder, x: Array, y: Array) -> Array:
    x, y = b.Abs(x), b.Abs(y)
    big, small = b.Max(x, y), b.Min(x, y)
    ratio = b.Where(b.Equal(big, 0), b.constant(0, x.dtype), b.Div(small, big))
    return b.Mul(big, b.Sqrt(b.Add(b.Mul(ratio, ratio), 1)))


@lowering("logaddexp")
def logaddexp(b: Builder, x: Array, y: Array) -> Array:
    rest = log1p(b, b.Exp(b.Neg(b.Abs(b.Sub(x, y)))))
    same = b.Equal(x, y)  # infinities of one sign have no difference
    return b.Where(same, b.Add(x, math.log(2)), b.Add(b.Max(x, y), rest))


@lowering("logaddexp2")
def logaddexp2(b: Builder, x: Array, y: Array) -> Array:
    rest = log1p(b, b.Pow(b.constant(2, x.dtype), b.Neg(b.Abs(b.Sub(x, y)))))
    return b.Where(b.Equal(x, y), b.Add(x, 1), b.Add(b.Max(x, y), b.Mul(rest, 1 / math.log(2))))


@lowering("xlogy")
def xlogy(b: Builder, x: Array, y: Array) -> Array:
    nothing = b.And(b.Equal(x, 0), b.Not(isnan(b, y)))
    return b.Where(nothing, b.constant(0, x.dtype), b.Mul(x, b.Log(y)))


@lowering("heaviside")
def heaviside(b: Builder, x: Array, y: Array) -> Array:
    step = b.cast(b.Greater(x, 0), y.dtype)
    return b.Where(b.Equal(x, 0), y, step)


@lowering("copysign")
def copysign(b: Builder, x: Array, y: Array) -> Array:
    size = b.Abs(x)
    return b.Where(signbit(b, y), b.Neg(size), size)


unsupported("ONNX cannot reach the bits of a floating-point number", "nextafter")


@lowering("gcd")
def gcd(b: Builder, x: Array, y: Array) -> Array:
    # Lamé: 64-bit numbers need at most 92 divisions; one Loop that ends when every remainder is 0.
    return _euclid(b, x, y)


@lowering("lcm")
def lcm(b: Builder, x: Array, y: Array) -> Array:
    divisor = _euclid(b, x, y)
    safe = b.Where(b.Equal(divisor, 0), b.constant(1, x.dtype), divisor)
    return b.Abs(b.Mul(b.Div(x, safe), y))


def _euclid(b: Builder, x: Array, y: Array) -> Array:
    zero = b.Mul(b.Mul(x, y), 0)
    big, small = b.cast(b.Add(b.Abs(x), zero), np.int64), b.cast(b.Add(b.Abs(y), zero), np.int64)
    for _ in range(_divisions(x.dtype)):
        safe = b.Where(b.Equal(small, 0), b.constant(1, np.int64), small)
        rest = b.Mod(big, safe)
        big, small = b.Where(b.Equal(small, 0), big, small), b.Where(b.Equal(small, 0), small, rest)
    return b.cast(big, x.dtype)


def _divisions(dtype: np.dtype) -> int:
    return {1: 13, 2: 24, 4: 47, 8: 92}[dtype.itemsize]


# ---------------------------------------------------------------- choosing


@lowering("where")
def where(b: Builder, condition: Array, x: Array, y: Array, *shapes: tuple) -> Array:
    return b.Where(condition, x, y)


@lowering("clamp")
def clamp(b: Builder, x: Array, low: Array | None, high: Array | None) -> Array:
    bounds: list[Any] = [None if v is None else b.data(v) for v in (low, high)]
    scalars = all(v is None or (d is not None and d.shape == ()) for v, d in zip((low, high), bounds))
    ordered = any(d is None for d in bounds) or bool(bounds[0] <= bounds[1])
    if scalars and ordered and x.dtype.kind != "b":
        return b.Clip(x, low, high)
    y = x
    if low is not None:
        y = b.Max(y, low)
    if high is not None:
        y = b.Min(y, high)
    return y
