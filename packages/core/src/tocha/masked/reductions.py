"""Masked reductions."""

from __future__ import annotations

import math
from typing import Any

from tocha._core import dtypes
from tocha._core.tensor import Tensor
from tocha._ops import cumulative, extremes, reduction
from tocha._ops.dims import wrap_dims
from tocha._ops.pairwise import logaddexp as _logaddexp
from tocha._ops.ternary import where

from .filling import expanded, filled, highest, integers_widened, lowest, with_dtype

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "prod",
    "std",
    "sum",
    "var",
]


def _dims(dim: Any, x: Tensor) -> Any:
    """PyTorch's masked reductions take None and () for all dimensions."""
    return tuple(range(len(x._data.shape))) if dim is None or dim == () else dim


def _counts(x: Tensor, mask: Tensor | None, dim: Any, keepdim: bool) -> Tensor:
    """How many elements of each slice count."""
    ones = (x == x) | True if mask is None else mask
    return reduction.sum(ones, _dims(dim, x), keepdim)


def sum(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The sum of the kept elements; 0 where none is."""
    x = integers_widened(with_dtype(input, dtype)) if dtype is None else with_dtype(input, dtype)
    return reduction.sum(filled(x, expanded(mask, x), 0), _dims(dim, x), keepdim)


def prod(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The product of the kept elements; 1 where none is."""
    x = integers_widened(input) if dtype is None else with_dtype(input, dtype)
    return reduction.prod(filled(x, expanded(mask, x), 1), _dims(dim, x), keepdim)


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Running sums of the kept elements."""
    x = integers_widened(input) if dtype is None else with_dtype(input, dtype)
    return cumulative.cumsum(filled(x, expanded(mask, x), 0), dim)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Running products of the kept elements."""
    x = integers_widened(input) if dtype is None else with_dtype(input, dtype)
    return cumulative.cumprod(filled(x, expanded(mask, x), 1), dim)


def amax(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The largest kept element; the dtype's lowest value where none is."""
    x = with_dtype(input, dtype)
    return extremes.amax(filled(x, expanded(mask, x), lowest(x._data.dtype)), _dims(dim, x), keepdim)


def amin(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The smallest kept element; the dtype's highest value where none is."""
    x = with_dtype(input, dtype)
    return extremes.amin(filled(x, expanded(mask, x), highest(x._data.dtype)), _dims(dim, x), keepdim)


def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The index of the largest kept element, in the input's dtype as PyTorch gives it."""
    x = with_dtype(input, dtype)
    return extremes.argmax(filled(x, expanded(mask, x), lowest(x._data.dtype)), dim, keepdim).to(x.dtype)


def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The index of the smallest kept element."""
    x = with_dtype(input, dtype)
    return extremes.argmin(filled(x, expanded(mask, x), highest(x._data.dtype)), dim, keepdim).to(x.dtype)


def mean(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The mean of the kept elements; NaN where none is."""
    x = with_dtype(input, dtype)
    m = expanded(mask, x)
    total = sum(x, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _counts(x, m, dim, keepdim)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The lower median of the kept elements; NaN where none is."""
    from tocha._ops.sorting import nanmedian

    x = with_dtype(input, dtype)
    if x._data.dtype.kind not in "fV":
        raise ValueError(f"input expected to be a floating point tensor, got {x.dtype}")
    if bool((x != x).any()):
        raise ValueError("masked median expected no NaNs in the input")
    return nanmedian(filled(x, expanded(mask, x), math.nan), dim, keepdim).values


def norm(
    input: Tensor,
    ord: Any = 2.0,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm of the kept elements."""
    from tocha.linalg import vector_norm

    x = with_dtype(input, dtype)
    neutral: Any = math.inf if ord == -math.inf or (isinstance(ord, (int, float)) and ord < 0) else 0
    return vector_norm(filled(x, expanded(mask, x), neutral), float(ord), _dims(dim, x), keepdim)


def _spread(
    input: Tensor,
    dim: Any,
    unbiased: bool | None,
    correction: Any,
    keepdim: bool,
    dtype: Any,
    mask: Tensor | None,
    root: bool,
) -> Tensor:
    if unbiased is not None and correction is not None:
        raise ValueError("Only one of unbiased and correction may be given")
    less = (1 if unbiased is None or unbiased else 0) if correction is None else correction
    d = dtype
    if d is None and input._data.dtype.kind in "biu":
        d = dtypes.float32
    x = with_dtype(input, d)
    m = expanded(mask, x)
    count = _counts(x, m, dim, True)
    average = sum(x, dim, keepdim=True, dtype=d, mask=mask) / count
    centred = x - average
    squares = centred * centred.conj() if x._data.dtype.kind == "c" else centred * centred
    total = sum(squares, dim, keepdim=keepdim, mask=mask)
    count = _counts(x, m, dim, keepdim)
    divisor = where(count - less > 0, count - less, 0)
    result = (total / divisor).to(x.dtype)
    return result.sqrt() if root else result


def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of the kept elements."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask, False)


def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The standard deviation of the kept elements."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask, True)


def logsumexp(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """``log(sum(exp(x)))`` of the kept elements; -inf where none is."""
    d = dtypes.get_default_dtype() if dtype is None and input._data.dtype.kind in "biu" else dtype
    x = with_dtype(input, d)
    return reduction.logsumexp(
        filled(x, expanded(mask, x), -math.inf), wrap_dims(_dims(dim, x), len(x._data.shape)), keepdim
    )


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """``log(exp(x) + exp(y))``, where a masked-out element counts as -inf."""
    a, b = with_dtype(input, dtype), with_dtype(other, dtype)
    return _logaddexp(filled(a, expanded(input_mask, a), -math.inf), filled(b, expanded(other_mask, b), -math.inf))
