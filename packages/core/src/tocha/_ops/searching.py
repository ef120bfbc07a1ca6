"""Sorted searches, distinct elements, counts and histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import arrays, dtypes
from .._core.broadcast import operators
from .._core.dtypes import NP_INT64
from .._core.families import method, operator
from .._core.inplace import store
from .._core.return_types import named
from .._core.tensor import Tensor, wrap
from .dims import wrap_dim
from .sorting import comparable

__all__ = ["bincount", "bucketize", "histc", "histogram", "histogramdd", "searchsorted", "unique", "unique_consecutive"]

histogram_result = named("histogram", "hist", "bin_edges")
histogramdd_result = named("histogramdd", "hist", "bin_edges")

# ---------------------------------------------------------------- searches


def _search_kernel(xp: Any, ordered: Any, values: Any, right: bool) -> Any:
    ordered, values = comparable(xp, ordered), comparable(xp, values)
    side = "right" if right else "left"
    if ordered.ndim == 1:
        return xp.searchsorted(ordered, values, side).astype(NP_INT64)
    if not values.size or not ordered.size:
        return xp.zeros(values.shape, NP_INT64)
    rows, wanted = ordered.reshape(-1, ordered.shape[-1]), values.reshape(-1, values.shape[-1])
    found = [xp.searchsorted(r, v, side) for r, v in zip(rows, wanted)]
    return (xp.stack(found) if found else xp.zeros((0, values.shape[-1]))).reshape(values.shape).astype(NP_INT64)


search_op = operator("searchsorted", _search_kernel, None, lambda o, v, right: (v.shape, NP_INT64), arity=2)


def searchsorted(
    sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Tensor | None = None, out: Any = None,
) -> Tensor:  # fmt: skip
    """Where each of ``input`` would go in the sorted last dimension; before equal elements, or after them
    (``right``)."""
    if side is not None:
        if side not in ("left", "right"):
            raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
        if right and side == "left":
            raise RuntimeError(
                "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
            )
        right = side == "right"
    values = input if isinstance(input, Tensor) else operators["tensor_like"](input, sorted_sequence)
    if sorter is not None:
        if sorter._data.dtype != NP_INT64:
            raise RuntimeError(
                f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter.dtype}"
            )
        if tuple(sorter._data.shape) != tuple(sorted_sequence._data.shape):
            raise RuntimeError("torch.searchsorted(): boundary and sorter must have the same size")
        sorted_sequence = operators["gather_last"](sorted_sequence, sorter)
    lead = sorted_sequence._data.shape[:-1]
    if len(sorted_sequence._data.shape) != 1 and tuple(lead) != tuple(values._data.shape[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor "
            f"{list(sorted_sequence._data.shape)} and input value tensor {list(values._data.shape)}"
        )
    result = search_op(sorted_sequence, values, right)
    if out_int32:
        result = result.int()
    return result if out is None else store(out, result)


def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False, out: Any = None
) -> Tensor:
    """The bucket of each element between sorted 1-d ``boundaries``."""
    if len(boundaries._data.shape) != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({len(boundaries._data.shape)})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


# ---------------------------------------------------------------- distinct elements


def _host(t: Tensor) -> np.ndarray:
    return arrays.to_host(t._data)


def _back(raw: np.ndarray, like: Tensor) -> Tensor:
    return wrap(raw if type(like._data) is np.ndarray else arrays.to_device(raw, like.device))


def _results(parts: list, flags: list) -> Any:
    kept = [p for p, f in zip(parts, flags) if f]
    return kept[0] if len(kept) == 1 else tuple(kept)


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (slices of ``dim``), sorted; with them the place of each element and the counts, if
    asked."""
    x = _host(input)
    wide = x.astype(np.float32) if x.dtype.kind == "V" else x
    axis = None if dim is None else wrap_dim(dim, x.ndim)
    if axis is not None and x.ndim and x.shape[axis] == 0:
        values, inverse, counts = wide, np.zeros(0, NP_INT64), np.zeros(0, NP_INT64)
    else:
        values, inverse, counts = np.unique(wide, return_inverse=True, return_counts=True, axis=axis, equal_nan=False)
    shape = x.shape if axis is None else (-1,)
    parts = [
        _back(np.ascontiguousarray(values.astype(x.dtype)), input),
        _back(inverse.reshape(shape).astype(NP_INT64), input),
        _back(counts.astype(NP_INT64), input),
    ]
    return _results(parts, [True, return_inverse, return_counts])


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (slices of ``dim``) that differ from the one before; places and counts, if asked."""
    x = _host(input)
    axis = 0 if dim is None else wrap_dim(dim, x.ndim)
    flat = x.reshape(-1) if dim is None else np.moveaxis(x, axis, 0)
    n = flat.shape[0]
    if n:
        rows = flat.reshape(n, -1)
        new = np.concatenate([[True], (rows[1:] != rows[:-1]).any(1)])
    else:
        new = np.zeros(0, bool)
    starts = np.flatnonzero(new)
    values = flat[starts]
    inverse = np.cumsum(new) - 1
    counts = np.diff(np.append(starts, n))
    values = values if dim is None else np.moveaxis(values, 0, axis)
    shape = x.shape if dim is None else (-1,)
    parts = [
        _back(np.ascontiguousarray(values), input),
        _back(inverse.reshape(shape).astype(NP_INT64), input),
        _back(counts.astype(NP_INT64), input),
    ]
    return _results(parts, [True, return_inverse, return_counts])


# ---------------------------------------------------------------- counts


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each non-negative integer occurs (or the sum of its ``weights``), from 0 up.

    Raises:
        RuntimeError: not 1-d non-negative integers, or weights of another size.
    """
    x = _host(input)
    if x.ndim != 1 or x.dtype.kind not in "iub" or (x.size and x.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and weights._data.shape != x.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    counted = np.bincount(x.astype(NP_INT64), None if weights is None else _host(weights).astype(np.float64), minlength)
    if weights is None:
        return _back(counted.astype(NP_INT64), input)
    d = weights._data.dtype
    return _back(counted.astype(d if d == dtypes.NP_FLOAT32 else np.float64), input)


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0, *, out: Any = None) -> Tensor:
    """Counts in ``bins`` equal bins between ``min`` and ``max`` (both 0: the data's own range)."""
    if bins <= 0:
        raise RuntimeError("bins must be > 0")
    x = _host(input).reshape(-1)
    low, high = float(min), float(max)
    if low == high and x.size:
        low, high = float(x.min()), float(x.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError("max must be larger than min")
    inside = x[(x >= low) & (x <= high)].astype(np.float64)
    place = np.minimum(((inside - low) * bins / (high - low)).astype(NP_INT64), bins - 1)
    result = _back(np.bincount(place, minlength=bins).astype(x.dtype), input)
    return result if out is None else store(out, result)


def histogram(
    input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: bool = False, out: Any = None
) -> Any:
    """Counts (or weights, or densities) in bins: a number of equal ones over ``range``, or the given edges."""
    x = _host(input).reshape(-1)
    w = None if weight is None else _host(weight).reshape(-1)
    edges = _host(bins) if isinstance(bins, Tensor) else bins
    if not isinstance(bins, Tensor) and range is None and not x.size:
        range = (0.0, 1.0)
    hist, edges = np.histogram(x, edges, None if isinstance(bins, Tensor) else range, weights=w, density=density)
    result = histogram_result(_back(hist.astype(x.dtype), input), _back(np.asarray(edges).astype(x.dtype), input))
    return result if out is None else store(out, result)


def histogramdd(
    input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """A histogram over the last dimension's coordinates; see ``histogram``."""
    x = _host(input)
    points = x.reshape(-1, x.shape[-1])
    w = None if weight is None else _host(weight).reshape(-1)
    if isinstance(bins, int):
        bins = [bins] * points.shape[1]
    edges = [_host(b) if isinstance(b, Tensor) else b for b in bins]
    pairs = None if range is None else [tuple(range[2 * i : 2 * i + 2]) for i in np.arange(points.shape[1])]
    hist, found = np.histogramdd(points, edges, pairs, weights=w, density=density)
    return histogramdd_result(
        _back(hist.astype(x.dtype), input), tuple([_back(e.astype(x.dtype), input) for e in found])
    )


def _gather_last(x: Tensor, index: Tensor) -> Tensor:
    return x.gather(-1, index)


operators["searchsorted"], operators["gather_last"] = searchsorted, _gather_last
for _fn in (unique, unique_consecutive, bincount, histc, histogram):
    method(_fn)
