"""Running sums and products along a dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.dtypes import NP_FLOAT32, NP_INT64
from .._core.families import inplace_method, method, operator
from .._core.inplace import store
from .._core.return_types import named
from .._core.tensor import Tensor
from .constants import number_dtype, ones_as
from .dims import product, wrap_dim
from .reduction import as_dtype

__all__ = ["cummax", "cummin", "cumprod", "cumsum", "logcumsumexp"]


def _running_dtype(x: Any) -> np.dtype:
    return NP_INT64 if x.dtype.kind in "biu" else x.dtype


def _running_infer(x: Any, dim: int, reverse: bool) -> tuple:
    return x.shape, _running_dtype(x)


def _running(name: str) -> Any:
    def kernel(xp: Any, x: Any, dim: int, reverse: bool) -> Any:
        if not x.ndim:
            return x.astype(_running_dtype(x))
        half = x.dtype.itemsize == 2 and x.dtype.kind in "fV"
        source = x.astype(NP_FLOAT32) if half else x.astype(_running_dtype(x), copy=False)
        if reverse:
            r = xp.flip(getattr(xp, name)(xp.flip(source, dim), dim), dim)
        else:
            r = getattr(xp, name)(source, dim)
        return r.astype(x.dtype) if half else r

    return kernel


cumsum_op: Callable = operator(
    "cumsum", _running("cumsum"), lambda n, g: (cumsum_op(g, n.attrs[0], not n.attrs[1]),), _running_infer, linear=True
)


def _cumprod_rule(n: Any, g: Any) -> tuple:
    (x,) = n.saved
    dim, reverse = n.attrs
    assert not reverse
    if not n.shape:
        return (g * 1,)
    return (_cumprod_gradient(x, g, dim),)


def _cumprod_gradient(x: Any, g: Any, dim: int) -> Any:
    """``sum over j >= i of g[j] * (product of x up to j, without x[i])``, right at zeros too.

    Where no element is zero this is ``reverse_cumsum(g * y) / x``; with zeros, one product a position.
    """
    size = x.shape[dim]
    view, expand = operators["view"], operators["expand"]
    before = x.shape[:dim]
    after = x.shape[dim + 1 :]
    wide = (*before, size, size, *after)
    column = expand(view(x, (*before, 1, size, *after)), wide)  # [i, k] = x[k]
    i = np.arange(size).reshape((1,) * dim + (size, 1) + (1,) * len(after))
    k = np.arange(size).reshape((1,) * dim + (1, size) + (1,) * len(after))
    diagonal = constant_like(i == k, x)
    one = constant_like(np.ones((1,) * len(wide), np.int8), x, cast=True)
    others = operators["where"](diagonal, one, column)
    products = cumprod_op(others, dim + 1, False)  # [i, j] = product up to j without x[i]
    later = constant_like((k >= i).astype(np.int8), x, cast=True)
    from .reduction import sum_dims

    return sum_dims(products * later * view(g, (*before, 1, size, *after)), (dim + 1,), False)


def constant_like(array: np.ndarray, like: Any, cast: bool = False) -> Any:
    """A host array as what ``like`` is (raw array of its module, tensor, traced value), cast to its dtype if asked."""
    from .._core import arrays
    from .._core.record import ABSTRACT
    from .._core.tensor import wrap

    raw = like._data if isinstance(like, Tensor) else like
    if cast:
        array = array.astype(raw.dtype)
    if type(raw) is not np.ndarray and type(raw) not in ABSTRACT:
        array = arrays.to_device(array, arrays.device_of(raw))
    return wrap(array) if isinstance(like, Tensor) else array


cumprod_op = operator("cumprod", _running("cumprod"), _cumprod_rule, _running_infer, save=(0,))


def exclusive_products(x: Any, dims: Any) -> Any:
    """For each element, the product over ``dims`` (None: all) of all the others."""
    view, permute = operators["view"], operators["permute"]
    shape = x.shape
    reduced = tuple(range(len(shape))) if dims is None else tuple(dims)
    others = tuple([d for d in range(len(shape)) if d not in reduced])
    order = others + reduced
    moved = permute(x, order)
    rows, columns = product([shape[d] for d in others]), product([shape[d] for d in reduced])
    flat = view(moved, (rows, columns))
    one = (
        flat[:, :1] * 0 + 1
        if not isinstance(flat, Tensor)
        else operators["slice"](flat, (slice(None), slice(0, 1))) * 0 + 1
    )
    left = cumprod_op(_joined(one, _columns(flat, 0, -1)), 1, False)
    right = _flip(cumprod_op(_joined(one, _flip(_columns(flat, 1, None))), 1, False))
    result = view(left * right, tuple([shape[d] for d in order]))
    inverse = [0] * len(order)
    for position, d in enumerate(order):
        inverse[d] = position
    return permute(result, tuple(inverse))


def _columns(x: Any, start: int, stop: Any) -> Any:
    return operators["slice"](x, (slice(None), slice(start, stop)))


def _joined(a: Any, b: Any) -> Any:
    from .movement import cat_op

    return cat_op((a, b), 1, (a.shape[1], b.shape[1]))


def _flip(x: Any) -> Any:
    return operators["flip"](x, (1,))


def cumsum(input: Tensor, dim: Any, *, dtype: Any = None, out: Any = None) -> Tensor:
    """Sums of the elements up to each one along ``dim``; integers are summed in int64."""
    input = as_dtype(input, dtype)
    result = cumsum_op(input, wrap_dim(dim, len(input._data.shape)), False)
    return result if out is None else store(out, result)


def cumprod(input: Tensor, dim: Any, *, dtype: Any = None, out: Any = None) -> Tensor:
    """Products of the elements up to each one along ``dim``; integers are multiplied in int64."""
    input = as_dtype(input, dtype)
    result = cumprod_op(input, wrap_dim(dim, len(input._data.shape)), False)
    return result if out is None else store(out, result)


cummax_result, cummin_result = named("cummax", "values", "indices"), named("cummin", "values", "indices")


def accumulated(xp: Any, x: Any, largest: bool) -> Any:
    """Running maxima or minima along the first dimension; NaN wins."""
    if xp is np:
        return (np.maximum if largest else np.minimum).accumulate(x, 0)
    choose = xp.maximum if largest else xp.minimum  # CuPy has no accumulate of these: doubling steps
    step = 1
    while step < x.shape[0]:
        x = xp.concatenate([x[:step], choose(x[step:], x[:-step])])
        step *= 2
    return x


def _running_extreme_kernel(xp: Any, x: Any, dim: int, largest: bool) -> tuple:
    """Values and the last index at which each was met; NaN wins from where it occurs."""
    if not x.ndim or not x.size:
        return x.copy(), xp.zeros(x.shape, NP_INT64)
    source = x.astype(NP_FLOAT32) if x.dtype.kind == "V" else x
    moved = xp.moveaxis(source, dim, 0)
    values = accumulated(xp, moved, largest)
    place = xp.arange(moved.shape[0]).reshape(-1, *(1,) * (moved.ndim - 1))
    met = (moved == values) | (moved != moved)
    index = accumulated(xp, xp.where(met, place, xp.zeros_like(place)), True)
    return xp.moveaxis(values, 0, dim).astype(x.dtype), xp.moveaxis(index, 0, dim).astype(NP_INT64)


def _running_extreme_rule(n: Any, g: Any) -> tuple:
    from .selection import scatter_zeros

    (index,) = n.saved
    value = g.get(0)
    if value is None:
        return (None,)
    return (scatter_zeros(value, index, n.attrs[0], n.shape) if n.shape else value * 1,)


_running_extreme = operator(
    "cummax", _running_extreme_kernel, _running_extreme_rule,
    lambda x, dim, largest: [(x.shape, x.dtype), (x.shape, NP_INT64)], save=("y1",), outputs=2, linear=True,
)  # fmt: skip


def cummax(input: Tensor, dim: int, *, out: Any = None) -> Any:
    """The largest elements up to each one along ``dim``, as ``(values, indices)``."""
    result = cummax_result(*_running_extreme(input, wrap_dim(dim, len(input._data.shape)), True))
    return result if out is None else store(out, result)


def cummin(input: Tensor, dim: int, *, out: Any = None) -> Any:
    """The smallest elements up to each one along ``dim``, as ``(values, indices)``."""
    result = cummin_result(*_running_extreme(input, wrap_dim(dim, len(input._data.shape)), False))
    return result if out is None else store(out, result)


def _logcumsumexp_kernel(xp: Any, x: Any, dim: int, reverse: bool) -> Any:
    if not x.ndim:
        return x.copy()
    source = x if x.dtype.kind == "c" else x.astype(np.float64)  # PyTorch accumulates in float64
    source = xp.flip(source, dim) if reverse else source
    if x.dtype.kind == "c":
        top = source.real.max(dim, keepdims=True) if source.size else 0
        r = xp.log(xp.cumsum(xp.exp(source - top), dim)) + top
    elif xp is np:
        r = np.logaddexp.accumulate(source, dim)
    else:
        top = source.max(dim, keepdims=True)
        r = xp.log(xp.cumsum(xp.exp(source - top), dim)) + top
    return (xp.flip(r, dim) if reverse else r).astype(x.dtype)


def _logcumsumexp_rule(n: Any, g: Any) -> tuple:
    """``exp(x) * reverse_cumsum(g * exp(-y))``, shifted so that nothing overflows."""
    from .unary import exp

    x, y = n.saved
    dim = n.attrs[0]
    if not n.shape:
        return (g * 1,)
    from .complex import is_complex_value

    if is_complex_value(x):
        return (cumsum_op(g * exp(-y), dim, not n.attrs[1]) * exp(x),)
    back = not n.attrs[1]
    plus = exp(logcumsumexp_op(_log_where(g > 0, g) - y, dim, back) + x)
    minus = exp(logcumsumexp_op(_log_where(g < 0, -g) - y, dim, back) + x)
    return (plus - minus,)


def _log_where(kept: Any, g: Any) -> Any:
    """``log(g)`` where ``kept``, elsewhere the lowest number, so that derivatives stay finite."""
    from .unary import log

    lowest = float(np.finfo(number_dtype(g)).min)
    one = ones_as(g)
    return operators["where"](kept, log(operators["where"](kept, g, one)), one * lowest)


logcumsumexp_op = operator(
    "logcumsumexp", _logcumsumexp_kernel, _logcumsumexp_rule, lambda x, dim, reverse: (x.shape, x.dtype), save=(0, "y")
)


def logcumsumexp(input: Tensor, dim: int, *, out: Any = None) -> Tensor:
    """``log(cumsum(exp(x)))`` along ``dim``, without overflow."""
    if input._data.dtype.kind in "biu":
        from .._core.templates import scalar_type_name

        raise NotImplementedError(
            f"\"logcumsumexp_out_cpu\" not implemented for '{scalar_type_name(input._data.dtype)}'"
        )
    result = logcumsumexp_op(input, wrap_dim(dim, len(input._data.shape)), False)
    return result if out is None else store(out, result)


for _fn in (cummax, cummin, logcumsumexp):
    method(_fn)
operators["cumsum"] = cumsum
for _fn in (cumsum, cumprod):
    method(_fn)
    inplace_method(_fn)
