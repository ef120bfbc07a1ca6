"""Reductions over dimensions."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.broadcast import operators
from .._core.dtypes import NP_BOOL, NP_FLOAT32, NP_INT64
from .._core.families import method, operator
from .._core.inplace import store
from .._core.tensor import Tensor
from .dims import kept_shape, product, reduced_shape, wrap_dims

__all__ = [
    "all",
    "any",
    "count_nonzero",
    "logsumexp",
    "mean",
    "nanmean",
    "nansum",
    "prod",
    "std",
    "std_mean",
    "sum",
    "var",
    "var_mean",
]


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


def _sum_backward(n: Any, g: Any) -> tuple:
    """The same on NumPy arrays, where a small result is written out faster than broadcast."""
    shape = n.shape
    if not isinstance(g, (np.ndarray, np.generic)) or math.prod(shape) > 4096:
        return _sum_rule(n, g)
    dims, keepdim = n.attrs
    if dims is not None and not keepdim:
        g = g.reshape(kept_shape(shape, dims))
    out = np.empty(shape, g.dtype)
    out[...] = g
    return (out,)


sum_dims = operator("sum", _sum_kernel, _sum_rule, _sum_infer, linear=True)
sum_dims.op.backward = _sum_backward  # type: ignore[attr-defined]
operators["sum"] = sum_dims


def as_dtype(input: Tensor, dtype: Any) -> Tensor:
    """``input`` cast to ``dtype`` where one is given."""
    return input if dtype is None else operators["cast"](input, dtypes.as_numpy(dtype))


def sum(
    input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None, axis: Any = None
) -> Any:
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


def mean(
    input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None, axis: Any = None
) -> Any:
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


# ---------------------------------------------------------------- products


def _prod_kernel(xp: Any, x: Any, dims: Any, keepdim: bool) -> Any:
    dtype = NP_INT64 if x.dtype.kind in "biu" else None
    if not x.ndim:
        return x.astype(dtype or x.dtype)
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":
        return xp.asarray(xp.multiply.reduce(x.astype(NP_FLOAT32), dims, None, None, keepdim)).astype(x.dtype)
    return xp.multiply.reduce(x, dims, dtype, None, keepdim)


def _prod_rule(n: Any, g: Any) -> tuple:
    """The product of the others, without dividing: products from the left times products from the right."""
    from .cumulative import exclusive_products

    (x,) = n.saved
    dims, keepdim = n.attrs
    shape = n.shape
    kept = kept_shape(shape, dims)
    if not keepdim and shape:
        g = operators["view"](g, kept)
    if not shape:
        return (g * 1,)
    return (exclusive_products(x, dims) * operators["expand"](g, shape),)


prod_dims = operator("prod", _prod_kernel, _prod_rule, _sum_infer, save=(0,))


def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
    """The product over ``dim`` (None: all); integers are multiplied in int64."""
    if dtype is not None:
        input = as_dtype(input, dtype)
    result = prod_dims(input, wrap_dims(dim, len(input._data.shape)), keepdim)
    return result if out is None else store(out, result)


# ---------------------------------------------------------------- truth


def _truth_infer(x: Any, dims: Any, keepdim: bool) -> tuple:
    return reduced_shape(x.shape, dims, keepdim), np.dtype(np.uint8) if x.dtype == np.uint8 else NP_BOOL


def _truth(name: str) -> Any:
    def kernel(xp: Any, x: Any, dims: Any, keepdim: bool) -> Any:
        r = getattr(xp, name)(x != 0 if x.dtype.kind != "b" else x, axis=dims, keepdims=keepdim)
        return xp.asarray(r).astype(np.uint8) if x.dtype == np.uint8 else r

    return operator(name, kernel, None, _truth_infer)


_all, _any = _truth("all"), _truth("any")


def all(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """Whether every element along ``dim`` (None: of all) is true or not zero."""
    result = _all(input, wrap_dims(dim, len(input._data.shape)), keepdim)
    return result if out is None else store(out, result)


def any(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """Whether some element along ``dim`` (None: of all) is true or not zero."""
    result = _any(input, wrap_dims(dim, len(input._data.shape)), keepdim)
    return result if out is None else store(out, result)


def count_nonzero(input: Any, dim: Any = None) -> Any:
    """The number of elements that are not zero, int64."""
    return sum(input != 0, dim)


# ---------------------------------------------------------------- spread


def _correction(unbiased: Any, correction: Any) -> Any:
    if correction is None:
        return 1 if unbiased is None or unbiased else 0
    return correction


def _moments(input: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any, name: str) -> tuple:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    x = input._data
    if x.dtype.kind in "biu":
        raise RuntimeError(
            f"{name} and std only support floating point and complex dtypes"
            if name == "var"
            else f"{name}(): only support floating point and complex dtypes"
        )
    dims = wrap_dims(dim, len(x.shape))
    half = x.dtype.itemsize == 2
    if half:
        input = as_dtype(input, dtypes.float32)
    count = product(x.shape) if dims is None else product([x.shape[d] for d in dims] if x.shape else ())
    average = sum_dims(input, dims, True) / count
    centred = input - average
    squares = centred * centred if x.dtype.kind != "c" else _squared_size(centred)
    divisor = count - _correction(unbiased, correction)
    if type(divisor) in (int, float) and divisor <= 0:
        if type(count) is int and count:
            warnings.warn(
                f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
                "(input numel divided by output numel).",
                stacklevel=3,
            )
        divisor = 0
    spread = sum_dims(squares, dims, keepdim) / divisor
    if not keepdim:
        average = operators["view"](average, tuple(spread._data.shape))
    if half:
        spread, average = as_dtype(spread, dtypes.of(x.dtype)), as_dtype(average, dtypes.of(x.dtype))
    return spread, average


def _squared_size(z: Any) -> Any:
    from .complex import imag, real

    return real(z) * real(z) + imag(z) * imag(z)


def _sqrt(x: Any) -> Any:
    from .unary import sqrt

    return sqrt(x)


def var(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None, out: Any = None
) -> Any:
    """The variance over ``dim``; ``correction`` is subtracted from the count (1 by default, Bessel's)."""
    result = _moments(input, dim, unbiased, keepdim, correction, "var")[0]
    return result if out is None else store(out, result)


def std(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None, out: Any = None
) -> Any:
    """The standard deviation over ``dim``; see ``var``."""
    result = _sqrt(_moments(input, dim, unbiased, keepdim, correction, "std")[0])
    return result if out is None else store(out, result)


def var_mean(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Any:
    """``(var, mean)``."""
    return _moments(input, dim, unbiased, keepdim, correction, "var_mean")


def std_mean(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Any:
    """``(std, mean)``."""
    spread, average = _moments(input, dim, unbiased, keepdim, correction, "std_mean")
    return _sqrt(spread), average


# ---------------------------------------------------------------- compositions


def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
    """The sum of the elements that are not NaN."""
    if input._data.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    kept = operators["where"](input != input, 0, input) if input._data.dtype.kind in "fV" else input
    return sum(kept, dim, keepdim, dtype=dtype, out=out)


def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
    """The mean of the elements that are not NaN."""
    if input._data.dtype.kind not in "fVc":
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype}")
    count = sum(input == input, dim, keepdim)
    kept = operators["where"](input != input, 0, input)
    result = sum(kept, dim, keepdim, dtype=dtype) / count
    return result if out is None else store(out, result)


def logsumexp(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """``log(sum(exp(x)))`` over ``dim``, without overflow."""
    from .extremes import amax
    from .unary import exp, log

    if input._data.dtype.kind in "biu":
        input = operators["cast"](input, dtypes.default_np())
    dims = wrap_dims(dim, len(input._data.shape))
    if type(input._data.size) is int and input._data.size == 0:
        result = log(sum_dims(exp(input), dims, keepdim))
        return result if out is None else store(out, result)
    size = input.detach()
    top = amax(size.real if input._data.dtype.kind == "c" else size, () if dims is None else dims, keepdim=True)
    top = operators["where"](top.isfinite(), top, 0)
    total = log(sum_dims(exp(input - top), dims, True)) + top
    result = total if keepdim else operators["view"](total, reduced_shape(input._data.shape, dims, False))
    return result if out is None else store(out, result)


for _fn in (sum, mean, prod, all, any, count_nonzero, var, std, nansum, nanmean, logsumexp):
    method(_fn)
