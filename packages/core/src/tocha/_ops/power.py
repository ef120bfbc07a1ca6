"""Powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dtypes
from .._core.families import binary, inplace_method, method
from .._core.inplace import store
from .._core.tensor import Tensor
from .constants import zeros_as
from .ternary import where
from .unary import log, sqrt, square

__all__ = ["float_power", "pow"]


def _dx(g: Any, x: Any, y: Any) -> Any:
    if not hasattr(y, "shape"):  # a number, where the array module takes no arrays for them
        return zeros_as(g) if y == 0 else g * (_pow(x, y - 1) * y)
    zero = y == 0
    return where(zero, zeros_as(g), g * (y * _pow(x, y - 1)))


def _dy(g: Any, x: Any, y: Any) -> Any:
    from .complex import is_complex_value, real_part

    if not hasattr(x, "shape"):
        x = zeros_as(y) + x
    power = _pow(x, y)
    positive = real_part(y) >= 0 if is_complex_value(y) else y >= 0
    nothing = (x == 0) & positive
    return where(nothing, zeros_as(g), g * (power * log(x)))


def _power_kernel(xp: Any, x: Any, y: Any) -> Any:
    kind = x.dtype.kind if hasattr(x, "dtype") else y.dtype.kind
    if kind in "iu" and xp is np:
        return _integer_power(x, y)
    return xp.power(x, y)


def _integer_power(x: Any, y: Any) -> Any:
    """Integers to negative powers: 0, but 1 for 1 and ±1 for -1, as in PyTorch."""
    x, y = np.asarray(x), np.asarray(y)
    if not (y < 0).any():
        return np.power(x, y)
    safe = np.power(x, np.where(y < 0, 0, y))
    negative = np.where(x == 1, 1, np.where(x == -1, np.where(y % 2 == 0, 1, -1), 0)).astype(safe.dtype)
    return np.where(y < 0, negative, safe)


_power = binary("pow", _power_kernel, _dx, _dy, ("xy", "xy"), unsupported="b", attach=False)


def _pow(x: Any, y: Any) -> Any:
    return _power(x, y)


def pow(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """``input`` to the power ``exponent``, tensors or numbers.

    Raises:
        RuntimeError: an integer tensor to a negative integer number.
    """
    if isinstance(input, Tensor) and isinstance(exponent, (int, float)) and not isinstance(exponent, bool):
        kind = input._data.dtype.kind
        if exponent == 2 and kind != "b" and (kind in "fcV" or isinstance(exponent, int)):
            result = square(input)
        elif exponent == 1 and kind in "fcV":
            result = input * 1
        elif exponent == 0.5 and kind in "fcV":
            result = sqrt(input)
        elif kind in "iu" and isinstance(exponent, int) and exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        else:
            result = _power(input, exponent)
    elif isinstance(input, Tensor) and isinstance(exponent, bool) and input._data.dtype.kind == "b":
        result = input | (not exponent)
    else:
        result = _power(input, exponent)
    return result if out is None else store(out, result)


def _special(a: Any, b: Any) -> Any:
    if isinstance(a, Tensor):
        if (
            not isinstance(b, Tensor)
            and not isinstance(b, (int, float, complex, np.generic))
            and not hasattr(b, "scalar_category")
        ):
            return NotImplemented
        return pow(a, b)
    return _power(a, b)


def float_power(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """The power computed in float64, or in complex128 where an operand is complex."""
    values = [input, exponent]
    is_complex = any((v._data.dtype.kind == "c") if isinstance(v, Tensor) else isinstance(v, complex) for v in values)
    d = dtypes.complex128 if is_complex else dtypes.float64
    a, b = [v.to(d) if isinstance(v, Tensor) else v for v in values]
    result = pow(a, b)
    return result if out is None else store(out, result)


def _float_power_(self: Tensor, exponent: Any) -> Tensor:
    """In-place ``float_power``; the tensor must be float64 or complex128."""
    wanted = "complex128" if self._data.dtype.kind == "c" or isinstance(exponent, complex) else "float64"
    if self._data.dtype.name != wanted:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype} but the operation's result requires dtype "
            f"tocha.{wanted}"
        )
    return pow_(self, exponent)


method(pow)
pow_ = inplace_method(pow)
method(float_power)
method(_float_power_, "float_power_")
method(_special, "__pow__")
method(lambda a, b: _power(b, a), "__rpow__")
method(lambda a, b: pow_(a, b), "__ipow__")
