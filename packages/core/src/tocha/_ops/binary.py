"""Arithmetic and comparison: pointwise operators of two tensors."""

from __future__ import annotations

from typing import Any

from .._core.families import binary, inplace_method, method
from .._core.inplace import store
from .unary import reciprocal

__all__ = ["add", "div", "divide", "eq", "ge", "greater", "greater_equal", "gt", "le", "less", "less_equal", "lt",
           "mul", "multiply", "ne", "not_equal", "rsub", "sub", "subtract", "true_divide"]  # fmt: skip

_add = binary(
    "add", "add", lambda g, x, y: g, lambda g, x, y: g, operators=("__add__", "__radd__", "__iadd__"), linear=True
)


def _refuse_booleans(a: Any, b: Any) -> None:
    kinds = [v._data.dtype.kind if hasattr(v, "_data") else "b" if isinstance(v, bool) else "" for v in (a, b)]
    if kinds == ["b", "b"]:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if "b" in kinds:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )


_sub = binary(
    "sub",
    "subtract",
    lambda g, x, y: g,
    lambda g, x, y: -g,
    refuse=_refuse_booleans,
    operators=("__sub__", "__rsub__", "__isub__"),
    linear=True,
)
mul = binary(
    "mul",
    "multiply",
    lambda g, x, y: g * y,
    lambda g, x, y: g * x,
    ("y", "x"),
    operators=("__mul__", "__rmul__", "__imul__"),
)
_div = binary("div", "true_divide", lambda g, x, y: g / y, lambda g, x, y: -g * x / (y * y), ("y", "xy"),
              result="float", operators=("__truediv__", "__rtruediv__", "__itruediv__"))  # fmt: skip
eq = binary("eq", "equal", result="bool", operators=("__eq__",))
ne = binary("ne", "not_equal", result="bool", operators=("__ne__",))
lt = binary("lt", "less", result="bool", unsupported="c", operators=("__lt__",))
le = binary("le", "less_equal", result="bool", unsupported="c", operators=("__le__",))
gt = binary("gt", "greater", result="bool", unsupported="c", operators=("__gt__",))
ge = binary("ge", "greater_equal", result="bool", unsupported="c", operators=("__ge__",))


def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """``input + alpha * other`` with broadcasting and type promotion.

    Example:
        >>> import tocha
        >>> tocha.add(tocha.tensor([1, 2]), 10)
        tensor([11, 12])
    """
    result = _add(input, other if alpha == 1 else mul(other, alpha) if hasattr(other, "shape") else other * alpha)
    return result if out is None else store(out, result)


def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """``input - alpha * other`` with broadcasting and type promotion."""
    result = _sub(input, other if alpha == 1 else mul(other, alpha) if hasattr(other, "shape") else other * alpha)
    return result if out is None else store(out, result)


def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """``other - alpha * input``."""
    return sub(other, input, alpha=alpha)


def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Any:
    """True division; ``rounding_mode`` "trunc" or "floor" rounds the quotient."""
    if rounding_mode is not None:
        from .rounding import rounded_division

        result = rounded_division(input, other, rounding_mode)
    else:
        result = _div(input, other)
    return result if out is None else store(out, result)


true_divide = divide = div
multiply, subtract = mul, sub
greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne
for _fn, _names in ((add, ("add",)), (sub, ("sub", "subtract")), (div, ("div", "divide")), (mul, ("multiply",))):
    method(_fn, *_names)
for _fn in (add, sub):
    inplace_method(_fn)
method(div, "true_divide")
method(lambda a, b: div(b, a) if hasattr(b, "shape") else reciprocal(a) * b, "__rdiv__")
for _name, _fn in (("greater", gt), ("greater_equal", ge), ("less", lt), ("less_equal", le), ("not_equal", ne)):
    method(_fn, _name)
    inplace_method(_fn, _name + "_")
for _name, _fn in (("subtract_", sub), ("multiply_", mul), ("divide_", div), ("true_divide_", div), ("div_", div)):
    inplace_method(_fn, _name)
