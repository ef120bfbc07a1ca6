"""Softmax and its logarithm."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.families import half_as_float, method, operator, shape_like_first
from .._core.inplace import store
from .._core.tensor import Tensor
from .activation import NUMPY, not_implemented
from .dims import wrap_dim
from .reduction import as_dtype, sum_dims
from .unary import exp

__all__ = ["log_softmax", "softmax"]

ndarray = np.ndarray
# exp() of numbers below this does not overflow in float32, summed over any dimension,
SAFE = 60.0
# and a sum above this owes nothing to terms that vanished
_LEAST = 1e-20
# limits within which a logarithm of the sum loses no more than a millionth
SAFE_LOGARITHM, _LEAST_LOGARITHM = 16.0, 1e-7


def exponentials(x: ndarray, dim: int, logarithm: bool = False) -> tuple[ndarray, ndarray, ndarray | None]:
    """``exp(x - m)``, its sums along ``dim`` (kept), and ``m``: the maxima along ``dim``, or None for 0.

    One maximum of the whole array is much cheaper than one for each row, and shows in most cases that none is needed.
    """
    limit, least = (SAFE_LOGARITHM, _LEAST_LOGARITHM) if logarithm else (SAFE, _LEAST)
    if x.max() < limit:
        y = np.exp(x)
        s = sums(y, dim)
        if s.min() > least:
            return y, s, None
    m = x.max(dim, keepdims=True)
    y = x - m
    np.exp(y, out=y)
    return y, sums(y, dim), m


def sums(y: ndarray, dim: int) -> ndarray:
    """Sums along ``dim``, which is kept; rows of a contiguous array by BLAS."""
    if dim == y.ndim - 1 and y.flags.c_contiguous and y.size:
        n = y.shape[-1]
        return (y.reshape(-1, n) @ np.ones(n, y.dtype)).reshape(*y.shape[:-1], 1)
    return y.sum(dim, keepdims=True)


def _softmax_kernel(xp: Any, x: Any, dim: int) -> Any:
    if not x.size:
        return x.copy()
    if xp is np:
        y, s, _ = exponentials(x, dim)
        y *= 1 / s
        return y
    y = xp.exp(x - x.max(dim, keepdims=True))
    y /= y.sum(dim, keepdims=True)
    return y


def _softmax_rule(n: Any, g: Any) -> tuple:
    (y,) = n.saved
    gy = g * y
    return (gy - y * sum_dims(gy, (n.attrs[0],), True),)


def _softmax_backward(n: Any, g: Any) -> tuple:
    (y,) = n.saved
    if type(g) not in NUMPY or y.dtype.itemsize == 2:
        return _softmax_rule(n, g)
    gy = g * y
    total = sums(gy, n.attrs[0])
    np.subtract(g, total, out=gy)
    gy *= y
    return (gy,)


softmax_op = operator("softmax", half_as_float(_softmax_kernel), _softmax_rule, shape_like_first, save=("y",))
softmax_op.op.backward = _softmax_backward  # type: ignore[attr-defined]


def _log_softmax_kernel(xp: Any, x: Any, dim: int) -> Any:
    if not x.size:
        return x.copy()
    if xp is np:
        e, s, m = exponentials(x, dim, True)
        shift = np.log(s)
        if m is not None:
            shift += m
        return np.subtract(x, shift, out=e)
    y = x - x.max(dim, keepdims=True)
    y -= xp.log(xp.exp(y).sum(dim, keepdims=True))
    return y


def _log_softmax_rule(n: Any, g: Any) -> tuple:
    (y,) = n.saved
    return (g - exp(y) * sum_dims(g, (n.attrs[0],), True),)


def _log_softmax_backward(n: Any, g: Any) -> tuple:
    (y,) = n.saved
    if type(g) not in NUMPY or y.dtype.itemsize == 2:
        return _log_softmax_rule(n, g)
    p = np.exp(y)
    p *= sums(g, n.attrs[0])
    np.subtract(g, p, out=p)
    return (p,)


log_softmax_op = operator(
    "log_softmax", half_as_float(_log_softmax_kernel), _log_softmax_rule, shape_like_first, save=("y",)
)
log_softmax_op.op.backward = _log_softmax_backward  # type: ignore[attr-defined]


def implicit_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dimension that PyTorch takes where none is given, with its warning."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def apply(op: Any, name: str, input: Tensor, dim: int, dtype: Any) -> Tensor:
    """Run ``op`` (softmax or its logarithm) along ``dim``, after a cast to ``dtype`` where one is given."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if dtype is not None:
        input = as_dtype(input, dtype)
    x = input._data
    if x.dtype.kind not in "fV":
        raise not_implemented(f"{name}_lastdim_kernel_impl", x.dtype)
    shape = x.shape
    if not shape:
        return operators["view"](op(operators["view"](input, (1,)), wrap_dim(dim, 0)), ())
    return op(input, wrap_dim(dim, len(shape)))


def softmax(input: Tensor, dim: int, dtype: Any = None, *, out: Any = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along ``dim``; ``dtype`` casts first.

    Example:
        >>> import tocha
        >>> tocha.softmax(tocha.zeros(2, 4), 1)
        tensor([[0.2500, 0.2500, 0.2500, 0.2500],
                [0.2500, 0.2500, 0.2500, 0.2500]])
    """
    result = apply(softmax_op, "softmax", input, dim, dtype)
    return result if out is None else store(out, result)


def log_softmax(input: Tensor, dim: int, dtype: Any = None, *, out: Any = None) -> Tensor:
    """The logarithm of ``softmax``, computed without overflow."""
    result = apply(log_softmax_op, "log_softmax", input, dim, dtype)
    return result if out is None else store(out, result)


method(softmax)
method(log_softmax)
