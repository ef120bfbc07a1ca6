"""Reductions over dimensions."""

from __future__ import annotations

from typing import Any


from .._core import dtypes
from .._core.broadcast import operators
from .._core.dtypes import NP_FLOAT32, NP_INT64
from .._core.families import method, operator
from .._core.inplace import store
from .._core.tensor import Tensor
from .dims import kept_shape, product, reduced_shape, wrap_dims

__all__ = ["mean", "sum"]


def _sum_kernel(xp: Any, x: Any, dims: Any, keepdim: bool) -> Any:
    dtype = x.dtype
    kind = dtype.kind
    if kind == "f" and dtype.itemsize > 2 or kind == "c":
        return xp.add.reduce(x, dims, None, None, keepdim)
    if kind in "biu":
        return xp.add.reduce(x, dims, NP_INT64, None, keepdim)
    return xp.asarray(xp.add.reduce(x.astype(NP_FLOAT32), dims, None, None, keepdim)).astype(dtype)


def _sum_infer(x: Any, dims: Any, keepdim: bool) -> tuple:
    return reduced_shape(x.shape, dims, keepdim), NP_INT64 if x.dtype.kind in "biu" else x.dtype


def _sum_rule(n: Any, g: Any) -> tuple:
    dims, keepdim = n.attrs
    if not keepdim and n.shape:
        g = operators["view"](g, kept_shape(n.shape, dims))
    return (operators["expand"](g, n.shape),)


sum_dims = operator("sum", _sum_kernel, _sum_rule, _sum_infer, linear=True)
operators["sum"] = sum_dims


def as_dtype(input: Tensor, dtype: Any) -> Tensor:
    """``input`` cast to ``dtype`` where one is given."""
    return input if dtype is None else operators["cast"](input, dtypes.as_numpy(dtype))


def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None, axis: Any = None) -> Any:
    """The sum over ``dim`` (an int, a tuple, or None for all).

    Integers and booleans are summed in int64. ``keepdim`` keeps the reduced dimensions with size 1.

    Example:
        >>> import tocha
        >>> tocha.ones(2, 3).sum(1)
        tensor([3., 3.])
    """
    if dim is None:
        dim = axis
    if dtype is not None:
        input = as_dtype(input, dtype)
    result = sum_dims(input, None if dim is None else wrap_dims(dim, len(input._data.shape)), keepdim)
    return result if out is None else store(out, result)


def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None, axis: Any = None) -> Any:
    """The mean over ``dim`` (an int, a tuple, or None for all).

    Raises:
        RuntimeError: ``input`` is not floating or complex, and no ``dtype`` is given.
    """
    if dim is None:
        dim = axis
    if dtype is not None:
        input = as_dtype(input, dtype)
    x = input._data
    if x.dtype.kind in "biu":
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {dtypes.of(x.dtype)}"
        )
    dims = wrap_dims(dim, len(x.shape))
    count = x.size if dims is None else product([x.shape[d] for d in dims] if x.shape else ())
    if x.dtype.itemsize == 2:
        result = as_dtype(sum_dims(as_dtype(input, dtypes.float32), dims, keepdim) / count, dtypes.of(x.dtype))
    else:
        result = sum_dims(input, dims, keepdim) / count
    return result if out is None else store(out, result)


method(sum)
method(mean)
