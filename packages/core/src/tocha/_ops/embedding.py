"""Rows of a table by index, and sums of them by bags."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.families import half_as_float, operator
from .indexing import sum_rows

ndarray = np.ndarray
# from this many looked-up numbers on, importing SciPy for its sparse product pays
_MANY = 1 << 14


def _embedding_rule(n: Any, g: Any) -> tuple:
    (index,) = n.saved
    return embedding_backward(g, index, n.shape[0], *n.attrs), None


embedding_op = operator(
    "embedding",
    lambda xp, w, index, padding_idx, by_frequency: xp.take(w, index, 0),
    _embedding_rule,
    lambda w, index, padding_idx, by_frequency: ((*index.shape, w.shape[1]), w.dtype),
    arity=2,
    save=(1,),
    linear=True,
)


def scatter_rows(xp: Any, g: Any, index: Any, rows: int) -> Any:
    """``out[index] += g`` for a table of zeros with ``rows`` rows."""
    if xp is not np:
        out = xp.zeros((rows, g.shape[-1]), g.dtype)
        xp.add.at(out, index, g)
        return out
    if g.size >= _MANY and g.dtype.kind in "f" and g.dtype.itemsize > 2:
        from scipy.sparse import csc_array

        flat = index.reshape(-1)
        columns = np.arange(flat.size + 1, dtype=flat.dtype)
        return csc_array((np.ones(flat.size, g.dtype), flat, columns), (rows, flat.size)) @ g.reshape(flat.size, -1)
    out = np.zeros((rows, g.shape[-1]), g.dtype)
    return sum_rows(out, index, g) if g.size else out


def _backward_kernel(xp: Any, g: Any, index: Any, rows: int, padding_idx: int, by_frequency: bool) -> Any:
    if by_frequency:
        counts = xp.bincount(index.reshape(-1), minlength=rows)
        g = g / counts[index][..., None].astype(g.dtype)
    out = scatter_rows(xp, g, index, rows)
    if padding_idx >= 0:
        out[padding_idx] = 0
    return out


def _backward_rule(n: Any, gg: Any) -> tuple:
    (index,) = n.saved
    rows, padding_idx, by_frequency = n.attrs
    ggout = embedding_op(gg, index, -1, False)
    if padding_idx >= 0 or by_frequency:
        ggout = ggout * operators["view"](
            embedding_weights(gg, index, rows, padding_idx, by_frequency), (*index.shape, 1)
        )
    return ggout, None


embedding_backward = operator(
    "embedding_backward",
    half_as_float(_backward_kernel),
    _backward_rule,
    lambda g, index, rows, padding_idx, by_frequency: ((rows, g.shape[-1]), g.dtype),
    arity=2,
    save=(1,),
    linear=True,
)


def _weights_kernel(xp: Any, g: Any, index: Any, rows: int, padding_idx: int, by_frequency: bool) -> Any:
    """What the gradient of each looked-up row is multiplied by."""
    weights = (index != padding_idx).astype(g.dtype)
    if by_frequency:
        weights /= xp.bincount(index.reshape(-1), minlength=rows)[index].astype(g.dtype)
    return weights


embedding_weights = operator(
    "embedding_weights",
    _weights_kernel,
    None,
    lambda g, index, rows, padding_idx, by_frequency: (index.shape, g.dtype),
    arity=2,
)


def sum_by_bag(rows: Any, bags: Any, count: int) -> Any:
    """Sums of rows (N, D) by the bag (N,) each belongs to: (count, D)."""
    return embedding_backward(rows, bags, count, -1, False)


def _first_largest_kernel(xp: Any, rows: Any, bags: Any, kept: Any, count: int) -> Any:
    """The row that holds each bag's maximum in each column, (count, D); -1 for bags without a kept row."""
    lowest = xp.where(kept[:, None], rows, xp.full((), -np.inf, rows.dtype))
    best = xp.full((count, rows.shape[1]), -np.inf, rows.dtype)
    xp.maximum.at(best, bags, lowest)
    none = rows.shape[0]
    candidates = xp.where((lowest == best[bags]) & kept[:, None], xp.arange(none)[:, None], none)
    first = xp.full((count, rows.shape[1]), none)
    xp.minimum.at(first, bags, candidates)
    return xp.where(first == none, -1, first)


first_largest = operator(
    "bag_argmax",
    half_as_float(_first_largest_kernel),
    None,
    lambda rows, bags, kept, count: ((count, rows.shape[1]), np.dtype("int64")),
    arity=3,
)
