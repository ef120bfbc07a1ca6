"""Largest and smallest elements: values, indices, or both."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.dtypes import NP_INT64
from .._core.families import method, operator
from .._core.inplace import store
from .._core.return_types import named
from .._core.tensor import Tensor
from .constants import mask_as
from .dims import kept_shape, reduced_shape, wrap_dim, wrap_dims
from .pairwise import maximum, minimum
from .reduction import sum_dims
from .selection import scatter_zeros

__all__ = ["amax", "amin", "aminmax", "argmax", "argmin", "max", "min"]

max_result = named("max", "values", "indices")
min_result = named("min", "values", "indices")
aminmax_result = named("aminmax", "min", "max")


def _check_not_empty(name: str, x: Tensor, dims: tuple[int, ...] | None) -> None:
    shape = x._data.shape
    empty = [
        d for d in (range(len(shape)) if dims is None else dims) if shape and type(shape[d]) is int and shape[d] == 0
    ]
    if empty:
        if dims is None:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                "with the 'dim' argument."
            )
        raise IndexError(f"{name}(): Expected reduction dim {empty[0]} to have non-zero size.")


def _check_real(name: str, x: Tensor) -> None:
    if x._data.dtype.kind == "c":
        raise NotImplementedError(f'"{name}" not implemented for \'{x.dtype}\'')


# ---------------------------------------------------------------- values alone: the gradient is shared by equal
# elements


def _extreme_rule(n: Any, g: Any) -> tuple:
    x, y = n.saved
    dims, keepdim = n.attrs
    if not keepdim and n.shape:
        kept = kept_shape(n.shape, dims)
        g, y = operators["view"](g, kept), operators["view"](y, kept)
    mask = mask_as(x == y, x)
    return (mask * (g / sum_dims(mask, dims, True)),)


def _extreme_infer(x: Any, dims: Any, keepdim: bool) -> tuple:
    return reduced_shape(x.shape, dims, keepdim), x.dtype


def _extreme_kernel(name: str) -> Any:
    return lambda xp, x, dims, keepdim: getattr(x, name)(dims, keepdims=keepdim) if x.ndim else x.copy()


amax_op = operator("amax", _extreme_kernel("max"), _extreme_rule, _extreme_infer, save=(0, "y"))
amin_op = operator("amin", _extreme_kernel("min"), _extreme_rule, _extreme_infer, save=(0, "y"))


def amax(input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Any = None) -> Tensor:
    """The largest element over ``dim`` (none given: all); equal ones share the gradient."""
    return _amax(amax_op, "amax", input, dim, keepdim, out)


def amin(input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Any = None) -> Tensor:
    """The smallest element over ``dim`` (none given: all); equal ones share the gradient."""
    return _amax(amin_op, "amin", input, dim, keepdim, out)


def _amax(op: Any, name: str, input: Tensor, dim: Any, keepdim: bool, out: Any) -> Tensor:
    _check_real(name, input)
    dims = wrap_dims(dim, len(input._data.shape))
    _check_not_empty(name, input, dims)
    result = op(input, dims, keepdim)
    return result if out is None else store(out, result)


def aminmax(input: Tensor, *, dim: Any = None, keepdim: bool = False, out: Any = None) -> Any:
    """The smallest and the largest element, as a named tuple ``(min, max)``."""
    d = () if dim is None else dim
    result = aminmax_result(amin(input, d, keepdim), amax(input, d, keepdim))
    return result if out is None else store(out, result)


# ---------------------------------------------------------------- indices


def _arg(xp: Any, x: Any, dim: int | None, name: str) -> Any:
    fn = getattr(xp, name)
    if x.dtype.kind == "V":  # ml_dtypes compares as numbers only through float32
        x = x.astype(np.float32)
    return fn(x, dim)


def _arg_infer(x: Any, dim: Any, keepdim: bool) -> tuple:
    return reduced_shape(x.shape, None if dim is None else (dim,), keepdim), NP_INT64


def _arg_kernel(name: str) -> Any:
    def kernel(xp: Any, x: Any, dim: Any, keepdim: bool) -> Any:
        if not x.ndim:
            return xp.zeros((), NP_INT64)
        r = _arg(xp, x, dim, name)
        if keepdim:
            r = xp.expand_dims(r, dim) if dim is not None else xp.asarray(r).reshape((1,) * x.ndim)
        return xp.asarray(r).astype(NP_INT64)

    return kernel


_argmax = operator("argmax", _arg_kernel("argmax"), None, _arg_infer)
_argmin = operator("argmin", _arg_kernel("argmin"), None, _arg_infer)


def _index_of(op: Any, name: str, input: Tensor, dim: Any, keepdim: bool, out: Any) -> Tensor:
    _check_real(name, input)
    if dim is not None:
        dim = wrap_dim(dim, len(input._data.shape))
        _check_not_empty(name, input, (dim,))
    else:
        _check_not_empty(name, input, None)
    result = op(input, dim, keepdim)
    return result if out is None else store(out, result)


def argmax(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """The index of the largest element along ``dim`` (None: in the flattened tensor), the first of equal ones."""
    return _index_of(_argmax, "argmax", input, dim, keepdim, out)


def argmin(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """The index of the smallest element along ``dim`` (None: in the flattened tensor), the first of equal ones."""
    return _index_of(_argmin, "argmin", input, dim, keepdim, out)


# ---------------------------------------------------------------- values with indices: the gradient goes to the index


def _with_index_kernel(name: str) -> Any:
    def kernel(xp: Any, x: Any, dim: int, keepdim: bool) -> tuple:
        if not x.ndim:
            return x.copy(), xp.zeros((), NP_INT64)
        index = xp.expand_dims(_arg(xp, x, dim, name), dim).astype(NP_INT64)
        values = xp.take_along_axis(x, index, dim)
        if not keepdim:
            values, index = values.squeeze(dim), index.squeeze(dim)
        return values, index

    return kernel


def _with_index_rule(n: Any, g: Any) -> tuple:
    (index,) = n.saved
    dim, keepdim = n.attrs
    value = g.get(0)
    if value is None:
        return (None,)
    if not n.shape:
        return (value * 1,)
    if not keepdim:
        kept = kept_shape(n.shape, (dim,))
        value, index = operators["view"](value, kept), operators["view"](index, kept)
    return (scatter_zeros(value, index, dim, n.shape),)


def _with_index_infer(x: Any, dim: int, keepdim: bool) -> list:
    shape = reduced_shape(x.shape, (dim,) if x.shape else None, keepdim)
    return [(shape, x.dtype), (shape, NP_INT64)]


_max_dim = operator(
    "max_dim", _with_index_kernel("argmax"), _with_index_rule, _with_index_infer, save=("y1",), outputs=2, linear=True
)
_min_dim = operator(
    "min_dim", _with_index_kernel("argmin"), _with_index_rule, _with_index_infer, save=("y1",), outputs=2, linear=True
)


def _extreme(
    name: str, dim_op: Any, all_op: Any, pair: Any, kind: Any, input: Tensor, dim: Any, keepdim: bool, out: Any
) -> Any:
    if isinstance(dim, Tensor):
        result = pair(input, dim)
        return result if out is None else store(out, result)
    _check_real(name, input)
    if dim is None:
        _check_not_empty(name, input, None)
        result = all_op(input, None, False)
    else:
        d = wrap_dim(dim, len(input._data.shape))
        _check_not_empty(name, input, (d,) if input._data.shape else ())
        result = kind(*dim_op(input, d, keepdim))
    return result if out is None else store(out, result)


def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None) -> Any:
    """The largest element; with ``dim`` the named tuple ``(values, indices)``; with a tensor, the elementwise maximum.

    Example:
        >>> import tocha
        >>> tocha.tensor([[1, 5], [7, 2]]).max(1).indices
        tensor([1, 0])
    """
    return _extreme("max", _max_dim, amax_op, maximum, max_result, input, dim if other is None else other, keepdim, out)


def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None) -> Any:
    """The smallest element; with ``dim`` the named tuple ``(values, indices)``; with a tensor, the elementwise
    minimum."""
    return _extreme("min", _min_dim, amin_op, minimum, min_result, input, dim if other is None else other, keepdim, out)


for _fn in (amax, amin, aminmax, argmax, argmin, max, min):
    method(_fn)
