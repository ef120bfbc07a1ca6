"""Rows of a table by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.families import operator
from .indexing import sum_rows


def _embedding_rule(n: Any, g: Any) -> tuple:
    (index,) = n.saved
    return embedding_backward(g, index, n.shape[0], n.attrs[0]), None


embedding_op = operator(
    "embedding",
    lambda xp, w, index, padding_idx: xp.take(w, index, 0),
    _embedding_rule,
    lambda w, index, padding_idx: ((*index.shape, w.shape[1]), w.dtype),
    arity=2,
    save=(1,),
    linear=True,
)


def _backward_kernel(xp: Any, g: Any, index: Any, rows: int, padding_idx: int) -> Any:
    out = xp.zeros((rows, g.shape[-1]), g.dtype)
    if xp is np:
        if g.size:
            sum_rows(out, index, g)
    else:
        xp.add.at(out, index, g)
    if padding_idx >= 0:
        out[padding_idx] = 0
    return out


embedding_backward = operator(
    "embedding_backward",
    _backward_kernel,
    lambda n, gg: (_masked(embedding_op(gg, n.saved[0], -1), n.saved[0], n.attrs[1]), None),
    lambda g, index, rows, padding_idx: ((rows, g.shape[-1]), g.dtype),
    arity=2,
    save=(1,),
    linear=True,
)


def _masked(gg: Any, index: Any, padding_idx: int) -> Any:
    """Rows of the padding index get no gradient, to second order neither."""
    if padding_idx < 0:
        return gg
    from .._core.broadcast import operators

    kept = operators["cast"](index != padding_idx, gg.dtype if isinstance(gg.dtype, np.dtype) else gg._data.dtype)
    return gg * operators["view"](kept, (*index.shape, 1))
