"""Dimensions as arguments: negative ones, tuples of them, shapes given as one tuple or as many numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def wrap_dim(dim: Any, ndim: int) -> int:
    """``dim`` counted from 0.

    Raises:
        IndexError: it is outside of ``[-ndim, ndim - 1]`` (0-d tensors count as 1-d, as in PyTorch).
    """
    limit = ndim or 1
    if dim < -limit or dim >= limit:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return dim + limit if dim < 0 else dim


def wrap_dims(dim: Any, ndim: int) -> tuple[int, ...] | None:
    """``dim`` (an int, several, or None for all) as a tuple counted from 0; None where it means all."""
    if dim is None:
        return None
    if isinstance(dim, int):
        dim = wrap_dim(dim, ndim)
        return (dim,) if ndim else None
    dims = tuple([wrap_dim(d, ndim) for d in dim])
    if not dims:
        return None
    if not ndim and len(dims) == 1:
        return None
    if len(set(dims)) != len(dims):
        twice = next(d for d in dims if dims.count(d) > 1)
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return dims


def sizes_of(args: Sequence, name: str = "size") -> tuple:
    """Sizes given as ``f(2, 3)``, ``f((2, 3))`` or ``f(tensor_shape)``, as a tuple."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = args[0]
    for a in args:
        if type(a) is not int:
            break
    else:
        return tuple(args)
    out = []
    for a in args:
        if isinstance(a, bool) or isinstance(a, float):
            raise TypeError(f"{name}(): argument must be tuple of ints, but found element of type {type(a).__name__}")
        out.append(a if hasattr(a, "scalar_category") else a.__index__())
    return tuple(out)


def product(sizes: Any) -> Any:
    """The product of sizes, symbolic ones included."""
    n: Any = 1
    for s in sizes:
        n = n * s
    return n


def reduced_shape(shape: Sequence, dims: tuple[int, ...] | None, keepdim: bool) -> tuple:
    """The shape after reducing ``dims`` (None: all)."""
    if dims is None:
        return (1,) * len(shape) if keepdim else ()
    if keepdim:
        return tuple([1 if i in dims else s for i, s in enumerate(shape)])
    return tuple([s for i, s in enumerate(shape) if i not in dims])


def kept_shape(shape: Sequence, dims: tuple[int, ...] | None) -> tuple:
    """The shape of a reduction's result as if ``keepdim`` had been given."""
    return reduced_shape(shape, dims, True)
