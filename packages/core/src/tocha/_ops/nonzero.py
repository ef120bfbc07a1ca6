"""Where elements are: nonzero and argwhere. Their shapes depend on the values, so that a trace gives them a size of
their own."""

from __future__ import annotations

from typing import Any

from .._core import tracing
from .._core.broadcast import operators
from .._core.dtypes import NP_INT64
from .._core.families import method, operator
from .._core.inplace import store
from .._core.tensor import Tensor

__all__ = ["argwhere", "nonzero", "nonzero_static"]



def _infer(x: Any) -> tuple:
    if tracing.active is None:
        raise NotImplementedError(
            "nonzero: its shape depends on the values, which a tensor on the meta device does not have"
        )
    return (tracing.active.unknown(x), max(1, len(x.shape))), NP_INT64


nonzero_op = operator(
    "nonzero", lambda xp, x: xp.stack(xp.nonzero(x.reshape(1) if not x.ndim else x), 1).astype(NP_INT64), None, _infer
)


def nonzero(input: Tensor, *, as_tuple: bool = False, out: Any = None) -> Any:
    """The indices of the elements that are not zero: (n, ndim), or with ``as_tuple`` one vector a dimension."""
    ndim = len(input._data.shape)
    if as_tuple:
        found = nonzero_op(input)
        return tuple([found[:, d] for d in range(ndim or 1)])
    found = nonzero_op(input)
    result = found if ndim else found[:, :0]
    return result if out is None else store(out, result)


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Any = None) -> Tensor:
    """The first ``size`` rows of ``nonzero``; missing ones are ``fill_value``."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = nonzero(input)
    rows, ndim = found._data.shape
    result = found[:size]
    if rows < size:
        from .movement import cat

        result = cat([result, found.new_full((size - rows, ndim), fill_value)])
    return result if out is None else store(out, result)


def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, (n, ndim)."""
    return nonzero(input)


operators["nonzero"] = lambda mask: nonzero(mask, as_tuple=True)
method(nonzero)
method(nonzero_static)
method(argwhere)
