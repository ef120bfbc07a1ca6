"""Norms of vectors and matrices, and the condition number."""

from __future__ import annotations

import math
from typing import Any

from tocha._core.tensor import Tensor
from tocha._ops.dims import wrap_dim, wrap_dims
from tocha._ops.ternary import where

from .errors import check_matrix, check_square, given

__all__ = ["cond", "matrix_norm", "norm", "vector_norm"]


def _cast(x: Tensor, dtype: Any, name: str) -> Tensor:
    if dtype is not None:
        return x.to(dtype)
    if x._data.dtype.kind not in "fcV":
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {x.dtype}")
    return x


def vector_norm(
    x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """The ``ord``-norm of the elements along ``dim`` (None: all); 0 counts, ±inf takes the extreme.

    Its gradient at zero is 0 (PyTorch's subgradient).
    """
    x = _cast(x, dtype, "linalg.vector_norm")
    if isinstance(ord, bool) or not isinstance(ord, (int, float)):
        raise TypeError(f"linalg.vector_norm(): argument 'ord' must be Number, not {type(ord).__name__}")
    dims = wrap_dims(dim, len(x._data.shape))
    empty = [d for d in (range(len(x._data.shape)) if dims is None else dims) if x._data.shape[d] == 0]
    if empty and (ord < 0 or ord == math.inf):
        if dims is None or len(empty) == len(dims):
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {float(ord)} norm on an empty tensor because the operation "
                "does not have an identity"
            )
    over: Any = () if dims is None else dims
    half = x._data.dtype.itemsize == 2
    source = x.float() if half else x
    if ord == 0:
        result = (source != 0).to(source.dtype.to_real()).sum(over, keepdim)
        if source.requires_grad:
            result = result + (source * 0).real.sum(over, keepdim)
    elif ord == math.inf:
        result = source.abs().amax(over, keepdim)
    elif ord == -math.inf:
        result = source.abs().amin(over, keepdim)
    elif ord == 1:
        result = source.abs().sum(over, keepdim)
    elif ord == 2:
        result = _euclidean(source, over, keepdim)
    else:
        result = _p_norm(source, float(ord), over, keepdim)
    return given(result.to(x.dtype.to_real()) if half else result, out)


def _euclidean(x: Tensor, over: Any, keepdim: bool) -> Tensor:
    squares = x * x if x._data.dtype.kind != "c" else x.real * x.real + x.imag * x.imag
    total = squares.sum(over, keepdim)
    zero = total == 0
    return where(zero, 0.0, where(zero, 1.0, total).sqrt())


def _p_norm(x: Tensor, p: float, over: Any, keepdim: bool) -> Tensor:
    size = x.abs()
    if p < 1:
        total = size.pow(p).sum(over, keepdim)
        return total.pow(1 / p)
    zero = size == 0
    powers = where(zero, 0.0, where(zero, 1.0, size).pow(p))
    total = powers.sum(over, keepdim)
    none = total == 0
    return where(none, 0.0, where(none, 1.0, total).pow(1 / p))


def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """The norm of matrices: "fro", "nuc", ±2 (singular values), ±1 (columns), ±inf (rows)."""
    A = _cast(A, dtype, "linalg.matrix_norm")
    check_matrix(A, "linalg.matrix_norm")
    ndim = len(A._data.shape)
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {list(dim)}")
    rows, columns = wrap_dim(dim[0], ndim), wrap_dim(dim[1], ndim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim, out=out)
    if ord in (1, -1, math.inf, -math.inf):
        summed, rest = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = vector_norm(A, 1, summed, True)
        result = sums.amax(rest, True) if ord > 0 else sums.amin(rest, True)
        return given(result if keepdim else _dropped(result, rows, columns), out)
    if ord not in ("nuc", 2, -2):
        if isinstance(ord, str):
            raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    from .factorisations import svdvals

    moved = A.movedim((rows, columns), (-2, -1))
    s = svdvals(moved)
    result = s.sum(-1) if ord == "nuc" else s.amax(-1) if ord == 2 else s.amin(-1)
    if keepdim:
        for d in sorted((rows, columns)):
            result = result.unsqueeze(d)
    return given(result, out)


def _dropped(x: Tensor, *dims: int) -> Tensor:
    return x.squeeze(dims)


def norm(
    A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, out: Any = None, dtype: Any = None
) -> Tensor:
    """``vector_norm`` or ``matrix_norm``, as ``dim`` and ``ord`` say (neither: the 2-norm of all elements)."""
    if dim is not None:
        dims = (dim,) if isinstance(dim, int) else tuple(dim)
        if len(dims) == 1 or ord is None:
            return vector_norm(A, 2 if ord is None else ord, dims, keepdim, dtype=dtype, out=out)
        if len(dims) == 2:
            return matrix_norm(A, ord, dims, keepdim, dtype=dtype, out=out)
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if ord is not None:
        ndim = len(A._data.shape)
        if ndim not in (1, 2):
            raise RuntimeError(
                f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {ndim}D"
            )
        if ndim == 2:
            return matrix_norm(A, ord, (-2, -1), keepdim, dtype=dtype, out=out)
    return vector_norm(A, 2 if ord is None else ord, None, keepdim, dtype=dtype, out=out)


def cond(A: Tensor, p: Any = None, *, out: Any = None) -> Tensor:
    """The condition number: norm of the matrix times norm of its inverse; by singular values for None and ±2."""
    from .factorisations import svdvals
    from .solvers import inv_or_infinite

    check_matrix(A, "linalg.cond")
    if p is None or p in (2, -2):
        s = svdvals(A)
        big, small = s[..., 0], s[..., -1]
        return given(small / big if p == -2 else big / small, out)
    check_square(A, "linalg.cond")
    if not A._data.size:
        return A.new_zeros(A._data.shape[:-2]).to(A.dtype.to_real())
    return given(matrix_norm(A, p) * matrix_norm(inv_or_infinite(A), p), out)


