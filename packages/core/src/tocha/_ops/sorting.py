"""Sorting and order statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.dtypes import NP_INT64
from .._core.families import method, operator
from .._core.inplace import store
from .._core.return_types import named
from .._core.tensor import Tensor
from .dims import kept_shape, reduced_shape, wrap_dim
from .selection import scatter_zeros

__all__ = ["argsort", "kthvalue", "median", "mode", "msort", "nanmedian", "sort", "topk"]

sort_result = named("sort", "values", "indices")
topk_result = named("topk", "values", "indices")
kthvalue_result = named("kthvalue", "values", "indices")
median_result, nanmedian_result = named("median", "values", "indices"), named("nanmedian", "values", "indices")
mode_result = named("mode", "values", "indices")


def comparable(xp: Any, x: Any) -> Any:
    """bfloat16 sorts through float32."""
    return x.astype(np.float32) if x.dtype.kind == "V" else x


def _order(xp: Any, x: Any, dim: int, descending: bool, stable: bool) -> Any:
    """Indices that sort along ``dim``; NaN counts as the largest."""
    x = comparable(xp, x)
    if not descending:
        return xp.argsort(x, dim, kind="stable") if xp is np else xp.argsort(x, dim)
    reverse = xp.flip(x, dim)  # a stable descending order is the reverse of the stable order of the reverse
    order = xp.argsort(reverse, dim, kind="stable") if xp is np else xp.argsort(reverse, dim)
    return x.shape[dim] - 1 - xp.flip(order, dim)


def _sort_kernel(xp: Any, x: Any, dim: int, descending: bool, stable: bool) -> tuple:
    if not x.ndim:
        return x.copy(), xp.zeros((), NP_INT64)
    index = _order(xp, x, dim, descending, stable).astype(NP_INT64)
    return xp.take_along_axis(x, index, dim), index


def _picked_rule(n: Any, g: Any) -> tuple:
    """The gradient of values picked by index goes back to where they were."""
    (index,) = n.saved
    value = g.get(0)
    if value is None:
        return (None,)
    return (scatter_zeros(value, index, n.attrs[0], n.shape),) if n.shape else (value * 1,)


def _same(x: Any, *attrs: Any) -> list:
    return [(x.shape, x.dtype), (x.shape, NP_INT64)]


sort_op = operator("sort", _sort_kernel, _picked_rule, _same, save=("y1",), outputs=2, linear=True)


def sort(
    input: Tensor, *args: Any, dim: Any = None, descending: Any = None, stable: bool = False, out: Any = None
) -> Any:
    """Sorted along ``dim`` (last by default), as the named tuple ``(values, indices)``; NaN sorts last.

    Example:
        >>> import tocha
        >>> tocha.tensor([3, 1, 2]).sort().values
        tensor([1, 2, 3])
    """
    rest = list(args)
    if rest and isinstance(rest[0], bool) and len(rest) > 1 and not isinstance(rest[1], bool):
        stable = rest.pop(0)
    if rest:
        dim = rest.pop(0)
    if rest:
        descending = rest.pop(0)
    if input._data.dtype.kind == "c":
        raise RuntimeError("Sort does not support complex dtypes on CPU")
    d = wrap_dim(-1 if dim is None else dim, len(input._data.shape))
    result = sort_result(*sort_op(input, d, bool(descending), bool(stable)))
    return result if out is None else store(out, result)


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort along ``dim``."""
    return sort(input, dim=dim, descending=descending, stable=stable).indices


def msort(input: Tensor, *, out: Any = None) -> Tensor:
    """Sorted along the first dimension."""
    result = sort(input, dim=0).values
    return result if out is None else store(out, result)


def _topk_kernel(xp: Any, x: Any, dim: int, k: int, largest: bool, ordered: bool) -> tuple:
    if not x.ndim:
        return (x.copy(), xp.zeros((), NP_INT64)) if k else (x.reshape(1)[:0], xp.zeros(0, NP_INT64))
    size = x.shape[dim]
    lead = (slice(None),) * dim
    if xp is np and 0 < k < size // 8 and x.dtype.kind in "fiu" and not (x.dtype.kind == "f" and np.isnan(x).any()):
        # only the best k are sorted; ties are broken by position afterwards
        part = (
            np.argpartition(-x if largest and x.dtype.kind != "u" else x, k - 1, dim)[lead + (slice(0, k),)]
            if not (largest and x.dtype.kind == "u")
            else None
        )
        if part is not None:
            part = np.sort(part, dim)
            values = np.take_along_axis(x, part, dim)
            order = _order(xp, values, dim, largest, True)
            index = np.take_along_axis(part, order, dim)
            return np.take_along_axis(x, index, dim), index.astype(NP_INT64)
    index = _order(xp, x, dim, largest, True)[lead + (slice(0, k),)].astype(NP_INT64)
    return xp.take_along_axis(x, index, dim), index


def _topk_infer(x: Any, dim: int, k: Any, largest: bool, ordered: bool) -> list:
    shape = tuple([k if d == dim else n for d, n in enumerate(x.shape)])
    return [(shape, x.dtype), (shape, NP_INT64)]


topk_op = operator("topk", _topk_kernel, _picked_rule, _topk_infer, save=("y1",), outputs=2, linear=True)


def topk(input: Tensor, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True, *, out: Any = None) -> Any:
    """The ``k`` largest (or smallest) elements along ``dim``, as the named tuple ``(values, indices)``."""
    d = wrap_dim(dim, len(input._data.shape))
    if k < 0 or not (k <= (input._data.shape[d] if input._data.shape else 1)):
        raise RuntimeError("selected index k out of range")
    if isinstance(k, Tensor):
        k = int(k.item())
    result = topk_result(*topk_op(input, d, k, largest, sorted))
    return result if out is None else store(out, result)


# ---------------------------------------------------------------- one element a row


def _kept_rule(n: Any, g: Any) -> tuple:
    (index,) = n.saved
    dim, keepdim = n.attrs[:2]
    value = g.get(0)
    if value is None:
        return (None,)
    if not n.shape:
        return (value * 1,)
    if not keepdim:
        kept = kept_shape(n.shape, (dim,))
        value, index = operators["view"](value, kept), operators["view"](index, kept)
    return (scatter_zeros(value, index, dim, n.shape),)


def _kept_infer(x: Any, dim: int, keepdim: bool, *rest: Any) -> list:
    shape = reduced_shape(x.shape, (dim,) if x.shape else None, keepdim)
    return [(shape, x.dtype), (shape, NP_INT64)]


def _one_a_row(name: str, choose: Any) -> Any:
    """An operator that picks one element a row: ``choose(xp, x, dim, *rest)`` gives its index with ``keepdim``."""

    def kernel(xp: Any, x: Any, dim: int, keepdim: bool, *rest: Any) -> tuple:
        if not x.ndim:
            return x.copy(), xp.zeros((), NP_INT64)
        index = choose(xp, x, dim, *rest).astype(NP_INT64)
        values = xp.take_along_axis(x, index, dim)
        return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))

    return operator(name, kernel, _kept_rule, _kept_infer, save=("y1",), outputs=2, linear=True)


def _kth(xp: Any, x: Any, dim: int, k: int) -> Any:
    if xp is np:  # NaN counts as the largest here too
        return np.argpartition(comparable(xp, x), k - 1, dim)[(slice(None),) * dim + (slice(k - 1, k),)]
    return _order(xp, x, dim, False, True)[(slice(None),) * dim + (slice(k - 1, k),)]


def _median_index(xp: Any, x: Any, dim: int, ignore_nan: bool) -> Any:
    size = x.shape[dim]
    if xp is np and (x.dtype.kind not in "fV" or not np.isnan(comparable(xp, x)).any()):
        return _kth(xp, x, dim, (size - 1) // 2 + 1)
    order = _order(xp, x, dim, False, True)
    lead = (slice(None),) * dim
    middle = order[lead + (slice((size - 1) // 2, (size - 1) // 2 + 1),)]
    if x.dtype.kind not in "fV":
        return middle
    nan = comparable(xp, x) != comparable(xp, x)
    count = nan.sum(dim, keepdims=True)
    if ignore_nan:
        at = xp.maximum((size - count - 1) // 2, 0)
        return xp.take_along_axis(order, at, dim)
    first = xp.expand_dims(xp.argmax(nan, dim), dim)
    return xp.where(count > 0, first, middle)


def _mode_index(xp: Any, x: Any, dim: int) -> Any:
    """The last place of the smallest of the most frequent values."""
    moved = np.moveaxis(x, dim, -1) if xp is np else xp.moveaxis(x, dim, -1)
    order = _order(xp, moved, moved.ndim - 1, False, True)
    values = xp.take_along_axis(moved, order, -1)
    size = values.shape[-1]
    position = xp.arange(size)
    starts = xp.concatenate([xp.ones((*values.shape[:-1], 1), bool), values[..., 1:] != values[..., :-1]], -1)
    begin = (
        xp.maximum.accumulate(xp.where(starts, position, 0), -1)
        if xp is np
        else _running_max(xp, xp.where(starts, position, 0))
    )
    length = position - begin + 1
    best = xp.argmax(length, -1)  # the first place where the longest run is complete
    index = xp.take_along_axis(order, best[..., None], -1)
    return xp.moveaxis(index, -1, dim)


def _running_max(xp: Any, x: Any) -> Any:
    for k in range(1, x.shape[-1]):
        x[..., k] = xp.maximum(x[..., k], x[..., k - 1])
    return x


_kthvalue, _mode = _one_a_row("kthvalue", _kth), _one_a_row("mode", _mode_index)
_median = _one_a_row("median", _median_index)


def _along(name: str, op: Any, kind: Any, input: Tensor, dim: int, keepdim: bool, rest: tuple, out: Any) -> Any:
    d = wrap_dim(dim, len(input._data.shape))
    if input._data.shape and type(input._data.shape[d]) is int and input._data.shape[d] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    result = kind(*op(input, d, keepdim, *rest))
    return result if out is None else store(out, result)


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The ``k``-th smallest element along ``dim`` (from 1), as the named tuple ``(values, indices)``."""
    d = wrap_dim(dim, len(input._data.shape))
    if not 1 <= k <= (input._data.shape[d] if input._data.shape else 1):
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(d))
    return _along("kthvalue", _kthvalue, kthvalue_result, input, dim, keepdim, (k,), out)


def mode(input: Tensor, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The most frequent element along ``dim`` (the smallest of equal ones), as ``(values, indices)``."""
    return _along("mode", _mode, mode_result, input, dim, keepdim, (), out)


def median(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The lower median; along ``dim`` the named tuple ``(values, indices)``. NaN wins."""
    return _median_of("median", median_result, False, input, dim, keepdim, out)


def nanmedian(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """``median`` of the elements that are not NaN."""
    return _median_of("nanmedian", nanmedian_result, True, input, dim, keepdim, out)


def _median_of(name: str, kind: Any, ignore_nan: bool, input: Tensor, dim: Any, keepdim: bool, out: Any) -> Any:
    if dim is not None:
        return _along(name, _median, kind, input, dim, keepdim, (ignore_nan,), out)
    flat = operators["view"](input, (input._data.size,))
    if not input._data.size:
        if input._data.dtype.kind in "fV":
            return input.new_full((), float("nan"))
        return input.new_full((), np.iinfo(input._data.dtype).min)
    return _median(flat, 0, False, ignore_nan)[0]


for _fn in (sort, argsort, msort, topk, kthvalue, mode, median, nanmedian):
    method(_fn)
