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
# exp() of numbers within ±this neither overflows nor vanishes in float32, summed over any dimension
_SAFE = 60.0
# and within ±this their logarithms lose no more than a millionth
SAFE_LOGARITHM = 16.0


def exponentials(x: ndarray, dim: int, limit: float = _SAFE, out: ndarray | None = None) -> tuple[ndarray, ndarray | None]:
    """``exp(x - m)`` and ``m`` (None for 0), where ``m`` is the maximum along ``dim`` unless all numbers are small.

    One maximum and one minimum of the whole array are much cheaper than a maximum for each row.
    """
    if x.dtype.itemsize > 2 and x.size and x.max() < limit and x.min() > -limit:
        return np.exp(x, out=out), None
    m = x.max(dim, keepdims=True)
    y = np.subtract(x, m, out=out)
    return np.exp(y, out=y), m


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
        y, _ = exponentials(x, dim)
        y *= 1 / sums(y, dim)
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
        e, m = exponentials(x, dim, SAFE_LOGARITHM)
        shift = np.log(sums(e, dim))
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


log_softmax_op = operator("log_softmax", half_as_float(_log_softmax_kernel), _log_softmax_rule, shape_like_first, save=("y",))
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
