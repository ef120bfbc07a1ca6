"""Elements taken or put along one dimension: gather and scatter, index_select and its kin."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.families import operator

__all__: list[str] = []


def along(xp: Any, index: Any, dim: int) -> tuple:
    """The full index that puts ``index`` at ``dim`` and counts along every other dimension."""
    full = []
    for d, n in enumerate(index.shape):
        if d == dim:
            full.append(index)
        else:
            shape = [1] * index.ndim
            shape[d] = n
            full.append(xp.arange(n).reshape(shape))
    return tuple(full)


def _gather_kernel(xp: Any, x: Any, index: Any, dim: int) -> Any:
    return x[along(xp, index, dim)] if x.ndim else x.reshape(1)[index.reshape(-1)].reshape(index.shape)


def _gather_rule(n: Any, g: Any) -> tuple:
    return scatter_zeros(g, n.saved[0], n.attrs[0], n.shape), None


gather_dim = operator("gather", _gather_kernel, _gather_rule, lambda x, index, dim: (index.shape, x.dtype), arity=2, save=(1,), linear=True)


def _scatter_zeros_kernel(xp: Any, g: Any, index: Any, dim: int, shape: tuple) -> Any:
    out = xp.zeros(shape, g.dtype)
    if not shape:
        return out + g.sum()
    full = along(xp, index, dim)
    if tuple(g.shape) != tuple(index.shape):
        g = g[tuple([slice(0, n) for n in index.shape])]
    if index.shape[dim] == 1:
        out[full] = g
    elif g.dtype.itemsize == 2 and g.dtype.kind == "V":
        wide = out.astype(np.float32)
        xp.add.at(wide, full, g.astype(np.float32))
        out = wide.astype(g.dtype)
    else:
        xp.add.at(out, full, g)
    return out


scatter_zeros = operator(
    "gather_backward",
    _scatter_zeros_kernel,
    lambda n, g: (gather_dim(g, n.saved[0], n.attrs[0]), None),
    lambda g, index, dim, shape: (shape, g.dtype),
    arity=2,
    save=(1,),
    linear=True,
)
