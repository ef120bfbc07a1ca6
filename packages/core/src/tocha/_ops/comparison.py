"""Whole-tensor comparison: equality, closeness, membership."""

from __future__ import annotations

from typing import Any

from .._core.broadcast import operators
from .._core.families import method
from .._core.tensor import Tensor
from .logic import isfinite

__all__ = ["allclose", "equal", "is_nonzero", "is_same_size", "isclose", "isin"]


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape and the same elements.

    Raises:
        RuntimeError: they are on different devices.
    """
    if tuple(input._data.shape) != tuple(other._data.shape):
        return False
    if not input._data.size:
        return True
    return bool((input == other).all())


def _check_same_dtype(name: str, a: Tensor, b: Tensor) -> None:
    if a._data.dtype != b._data.dtype:
        raise RuntimeError(
            f"{a.dtype} did not match {b.dtype}"
            if name == "isclose"
            else f"{name}: dtypes differ: {a.dtype} and {b.dtype}"
        )


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Where ``|input - other| <= atol + rtol * |other|``, elementwise; infinities are close to themselves only."""
    _check_same_dtype("isclose", input, other)
    if rtol < 0:
        raise RuntimeError(f"rtol must be greater than or equal to zero, but got {rtol}")
    if atol < 0:
        raise RuntimeError(f"atol must be greater than or equal to zero, but got {atol}")
    close = input == other
    if equal_nan and input._data.dtype.kind in "fcV":
        close = close | ((input != input) & (other != other))
    if rtol == 0 and atol == 0:
        return close
    a, b = input.detach(), other.detach()
    if a._data.dtype.kind == "b":
        a, b = a.long(), b.long()
    if a._data.dtype.kind in "iu":
        a, b = a.double(), b.double()
    difference = (a - b).abs()
    return close | (isfinite(difference) & (difference <= b.abs() * rtol + atol))


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether ``isclose`` holds everywhere."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Which of ``elements`` are among ``test_elements`` (either may be a number)."""
    from .from_data import tensor

    x = elements if isinstance(elements, Tensor) else tensor(elements)
    among = test_elements if isinstance(test_elements, Tensor) else tensor(test_elements)
    flat = among.reshape(-1)
    if flat._data.size * x._data.size <= 1 << 20:
        found = (x.unsqueeze(-1) == flat).any(-1)
    else:
        ordered = flat.sort().values
        place = operators["searchsorted"](ordered, x).clamp(max=ordered._data.size - 1)
        found = ordered[place] == x
    return ~found if invert else found


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero.

    Raises:
        RuntimeError: there is not exactly one element.
    """
    return bool(input)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape."""
    return tuple(input._data.shape) == tuple(other._data.shape)


for _fn in (equal, isclose, allclose, is_nonzero, is_same_size):
    method(_fn)
