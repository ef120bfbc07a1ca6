"""Where elements are: nonzero and argwhere. Their shapes depend on the values, so they cannot be traced symbolically."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.families import method, operator
from .._core.inplace import store
from .._core.tensor import Tensor

__all__ = ["argwhere", "nonzero"]

nonzero_op = operator("nonzero", lambda xp, x: xp.stack(xp.nonzero(x.reshape(1) if not x.ndim else x), 1).astype(np.int64))


def nonzero(input: Tensor, *, as_tuple: bool = False, out: Any = None) -> Any:
    """The indices of the elements that are not zero: (n, ndim), or with ``as_tuple`` one vector a dimension."""
    ndim = len(input._data.shape)
    if as_tuple:
        found = nonzero_op(input)
        return tuple([found[:, d] for d in range(ndim or 1)])
    found = nonzero_op(input)
    result = found if ndim else found[:, :0]
    return result if out is None else store(out, result)


def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, (n, ndim)."""
    return nonzero(input)


operators["nonzero"] = lambda mask: nonzero(mask, as_tuple=True)
method(nonzero)
method(argwhere)
