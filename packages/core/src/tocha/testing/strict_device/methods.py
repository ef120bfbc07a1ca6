"""The operators and the methods of arrays that are NumPy's, checked against the table."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import indexing
from .array import ndarray
from .boundary import check_bound, on_host, wrap
from .namespace import xp
from .table import class_table, signature

__all__: list[str] = []

# Methods that give views whatever the current device is.
_VIEWS = {"diagonal", "ravel", "reshape", "squeeze", "swapaxes", "transpose"}
_COMPUTING = (
    "all any argmax argmin argpartition argsort byteswap choose clip compress conj conjugate cumprod cumsum dot "
    "flatten max mean min nonzero partition prod put repeat round searchsorted sort std sum trace var"
).split()
_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "lshift": "left_shift", "rshift": "right_shift", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "matmul": "matmul", "divmod": "divmod",
}  # fmt: skip
_COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}  # fmt: skip
_SCALARS = bool | int | float | complex | np.generic


def _operand(other: Any, symbol: str) -> bool:
    """Whether an operator may take `other`; a host array or a list is an error, not a case for its own operator."""
    if isinstance(other, np.ndarray | list | tuple):
        raise TypeError(f"Unsupported type {type(other)} for {symbol} with a cupy.ndarray")
    return isinstance(other, ndarray) or isinstance(other, _SCALARS)


def _binary(name: str, function: str) -> None:
    def forward(self: ndarray, other: Any) -> Any:
        return getattr(xp, function)(self, other) if _operand(other, name) else NotImplemented

    def reflected(self: ndarray, other: Any) -> Any:
        return getattr(xp, function)(other, self) if _operand(other, name) else NotImplemented

    def in_place(self: ndarray, other: Any) -> Any:
        return getattr(xp, function)(self, other, out=self) if _operand(other, name) else NotImplemented

    setattr(ndarray, f"__{name}__", forward)
    setattr(ndarray, f"__r{name}__", reflected)
    if name not in ("matmul", "divmod"):
        setattr(ndarray, f"__i{name}__", in_place)


def _comparison(name: str, function: str) -> None:
    def compare(self: ndarray, other: Any) -> Any:
        if _operand(other, name):
            return getattr(xp, function)(self, other)
        if other is None and name in ("eq", "ne"):
            return xp.full(self.shape, name == "ne", dtype=bool)
        return NotImplemented

    setattr(ndarray, f"__{name}__", compare)


def _unary(name: str, function: str) -> None:
    setattr(ndarray, f"__{name}__", lambda self: getattr(xp, function)(self))


def _delegate(name: str, call: Callable[..., Any]) -> None:
    """Attach a method that takes what the table says."""
    expected = signature(class_table("ndarray")["methods"][name])

    def method(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        check_bound(f"ndarray.{name}", expected.bind(*args, **kwargs))
        return call(self, *args, **kwargs)

    method.__name__ = name
    setattr(ndarray, name, method)


def _view_method(name: str) -> Callable[..., Any]:
    def call(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        result = getattr(self._host, name)(*args, **kwargs)
        shares = np.may_share_memory(result, self._host)
        return self._view(result) if shares else ndarray._of(result, self._device)

    return call


def _computing_method(name: str) -> Callable[..., Any]:
    def call(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        if name == "nonzero":
            return xp.nonzero(self)
        return wrap(on_host(getattr(np.ndarray, name), self, *args, **kwargs), self, *args, *kwargs.values())

    return call


for _name, _function in _BINARY.items():
    _binary(_name, _function)
for _name, _function in _COMPARISONS.items():
    _comparison(_name, _function)
for _name, _function in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}.items():
    _unary(_name, _function)
for _name in _VIEWS:
    _delegate(_name, _view_method(_name))
for _name in _COMPUTING:
    _delegate(_name, _computing_method(_name))
_delegate("take", indexing.take)
_delegate("ptp", lambda self, *args, **kwargs: xp.ptp(self, *args, **kwargs))
for _name, _function in {"scatter_add": "add", "scatter_max": "maximum", "scatter_min": "minimum"}.items():
    _delegate(_name, functools.partial(indexing.scatter, _function))
