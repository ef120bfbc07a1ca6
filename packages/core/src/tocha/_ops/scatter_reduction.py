"""``scatter_reduce``: sums, products, means and extrema of the elements that fall on one place."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.families import operator
from .._core.tensor import Tensor
from .constants import mask_as, ones_as, zeros_as
from .selection import _window, along, gather_dim, scatter_add_op, scatter_op
from .ternary import where

_UFUNCS = {"prod": "multiply", "amax": "maximum", "amin": "minimum"}


def _kernel(xp: Any, x: Any, index: Any, src: Any, dim: int, kind: str, shape: tuple) -> Any:
    half = x.dtype.kind == "V" or x.dtype == np.float16
    out = x.astype(np.float32) if half else x.copy()
    values = src.astype(out.dtype)
    if not x.ndim:
        out, index, values, dim = out.reshape(1), index.reshape(-1), values.reshape(-1), 0
    full, values = along(xp, index, dim), _window(xp, values, index)
    if kind == "prod" and xp is not np:
        _multiply_at(xp, out, full, values)
    else:
        getattr(xp, _UFUNCS[kind]).at(out, full, values)
    return out.reshape(x.shape).astype(x.dtype)


def _multiply_at(xp: Any, out: Any, full: tuple, values: Any) -> None:
    """``multiply.at``, which CuPy lacks: the first factor of every place, then the second, and so on."""
    numbers = xp.arange(out.size).reshape(out.shape)[full].reshape(-1)
    order = xp.argsort(numbers)
    places, factors = numbers[order], values.reshape(-1)[order]
    starts = xp.searchsorted(places, places, "left")
    turn = xp.arange(places.size) - starts
    flat = out.reshape(-1)
    for k in range(int(turn.max()) + 1 if places.size else 0):
        chosen = turn == k
        flat[places[chosen]] *= factors[chosen]
    out[...] = flat.reshape(out.shape)


def _rule(n: Any, g: Any) -> tuple:
    x, index, src, y = n.saved
    dim, kind, shape = n.attrs
    from .selection import pad_to

    view = (
        src
        if tuple(src.shape) == tuple(index.shape)
        else operators["slice"](src, tuple([slice(0, s) for s in index.shape]))
    )
    if kind == "prod":
        return _product_rule(n, g, x, index, view, y, dim, shape)
    chosen_x = mask_as(x == y, x)
    chosen_src = mask_as(view == gather_dim(y, index, dim), view)
    count = scatter_add_op(chosen_x, index, chosen_src, dim, tuple(index.shape))
    share = g / count
    return chosen_x * share, None, pad_to(chosen_src * gather_dim(share, index, dim), shape)


def _product_rule(n: Any, g: Any, x: Any, index: Any, src: Any, y: Any, dim: int, shape: tuple) -> tuple:
    """Products of the others: division where nothing is zero.

    A zero among the factors is kept as a sum of the zeros, whose value is 0 and whose derivative is 1, so that second
    derivatives through it are right: the product of the others is that sum times the other factors.
    """
    from .selection import pad_to

    window = tuple(index.shape)
    zero_x, zero_src = mask_as(x == 0, x), mask_as(src == 0, src)
    zeros = scatter_add_op(zero_x, index, zero_src, dim, window)
    null = scatter_add_op(x * zero_x, index, src * zero_src, dim, window)
    x1, src1 = where(x == 0, ones_as(x), x), where(src == 0, ones_as(src), src)
    rest = reduce_op(x1, index, src1, dim, "prod", window)
    others = _product_of_others(x, x1, rest, zeros, null)
    others_src = _product_of_others(src, src1, *[gather_dim(t, index, dim) for t in (rest, zeros, null)])
    return g * others, None, pad_to(gather_dim(g, index, dim) * others_src, shape)


def _product_of_others(x: Any, x1: Any, rest: Any, zeros: Any, null: Any) -> Any:
    """For each factor ``x`` (``x1`` with 1 for 0): ``rest`` is the product of what is not zero, ``null`` the sum of the
    rest."""
    nothing = zeros_as(rest)
    of_zero = where(zeros == 1, rest, where(zeros == 2, (null - x) * rest, nothing))
    of_other = where(zeros == 0, rest, where(zeros == 1, null * rest, nothing)) / x1
    return where(x == 0, of_zero, of_other)


reduce_op = operator(
    "scatter_reduce", _kernel, _rule, lambda x, *rest: (x.shape, x.dtype), arity=3, save=(0, 1, 2, "y")
)


def scatter_reduced(input: Tensor, dim: int, index: Tensor, src: Tensor, kind: str, include_self: bool) -> Tensor:
    """The public function's work, after its checks."""
    if kind not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {kind}")
    shape = tuple(src._data.shape)
    window = src if shape == tuple(index._data.shape) else src[tuple([slice(0, n) for n in index._data.shape])]
    start = input
    if not include_self:
        neutral = _neutral(kind, input)
        start = scatter_op(
            input, index, operators["expand"](neutral, tuple(index._data.shape)), dim, tuple(index._data.shape)
        )
    if kind in ("sum", "mean"):
        total = scatter_add_op(start, index, window, dim, tuple(index._data.shape))
        if kind == "sum":
            return total
        ones = ones_as(window)
        count = scatter_add_op(
            ones_as(input) if include_self else zeros_as(input), index, ones, dim, tuple(index._data.shape)
        )
        count = where(count == 0, ones_as(count), count)
        return total / count if input._data.dtype.kind in "fcV" else total.div(count, rounding_mode="floor")
    return reduce_op(start, index, window, dim, kind, tuple(index._data.shape))


def _neutral(kind: str, input: Tensor) -> Tensor:
    from .ternary import number_like

    d = input._data.dtype
    if kind in ("sum", "mean", "prod"):
        value: Any = 1 if kind == "prod" else 0
    elif d.kind in "fV":
        value = -np.inf if kind == "amax" else np.inf
    elif d.kind == "b":
        value = kind == "amin"
    else:
        info = np.iinfo(d)
        value = info.min if kind == "amax" else info.max
    return number_like(value, input, d)
