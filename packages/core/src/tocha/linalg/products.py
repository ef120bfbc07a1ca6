"""Products of matrices and vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tocha._core.tensor import Tensor
from tocha._ops import products as base
from tocha._ops.contraction import matmul
from tocha._ops.splitting import diagonal as _diagonal

from .errors import check_floating, check_square, given

__all__ = ["cross", "diagonal", "matmul", "matrix_exp", "matrix_power", "multi_dot", "vander", "vecdot"]


def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Any = None) -> Tensor:
    """The cross product of vectors of 3 elements along ``dim``."""
    if len(input._data.shape) != len(other._data.shape):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    return base.cross(input, other, dim, out=out)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A diagonal of the matrices in the last two dimensions, as a view."""
    return _diagonal(A, offset, dim1, dim2)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Any = None) -> Tensor:
    """Dot products of vectors along ``dim``, the first one conjugated."""
    check_floating(x, "linalg.vecdot") if x._data.dtype.kind not in "fcV" else None
    return given((x.conj() * y).sum(dim), out)


def matrix_power(A: Tensor, n: int, *, out: Any = None) -> Tensor:
    """The ``n``-th power of square matrices; negative powers are of the inverse."""
    from .solvers import inv

    check_square(A, "linalg.matrix_power")
    if n < 0:
        A, n = inv(A), -n
    if n == 0:
        import tocha

        eye = tocha.eye(A._data.shape[-1], dtype=A.dtype, device=A.device)
        return given((A * 0 + eye) if A.requires_grad else eye.expand(A._data.shape).clone(), out)
    result = None
    square = A
    while n:
        if n & 1:
            result = square if result is None else matmul(result, square)
        n >>= 1
        if n:
            square = matmul(square, square)
    assert result is not None
    return given(result.clone() if result is A else result, out)


def multi_dot(tensors: Any, *, out: Any = None) -> Tensor:
    """The product of several matrices in the cheapest order (the first and last may be vectors)."""
    parts = list(tensors)
    if len(parts) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(parts)}")
    first, last = len(parts[0]._data.shape) == 1, len(parts[-1]._data.shape) == 1
    if first:
        parts[0] = parts[0].unsqueeze(0)
    if last:
        parts[-1] = parts[-1].unsqueeze(-1)
    for i, t in enumerate(parts):
        if len(t._data.shape) != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {len(t._data.shape)}D")
    sizes = [parts[0]._data.shape[0]] + [t._data.shape[1] for t in parts]
    result = _ordered(parts, _cheapest(sizes), 0, len(parts) - 1)
    if first:
        result = result.squeeze(0)
    return given(result.squeeze(-1) if last else result, out)


def _cheapest(sizes: list[int]) -> list[list[int]]:
    """Where to split each run of matrices (the textbook dynamic programme)."""
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            cost[i][j] = min(options)
            split[i][j] = i + options.index(cost[i][j])
    return split


def _ordered(parts: list, split: list[list[int]], i: int, j: int) -> Tensor:
    if i == j:
        return parts[i]
    k = split[i][j]
    return matmul(_ordered(parts, split, i, k), _ordered(parts, split, k + 1, j))


def vander(x: Tensor, N: int | None = None) -> Tensor:
    """Vandermonde matrices: the powers 0 … N - 1 of each element along a new last dimension."""
    import tocha

    x = tocha.atleast_1d(x)
    n = x._data.shape[-1] if N is None else N
    if n <= 1 and N is not None and N <= 1:
        raise RuntimeError("N must be greater than 1.")
    wide = x.unsqueeze(-1).expand(*x._data.shape, n - 1)
    ones = tocha.ones(*x._data.shape, 1, dtype=x.dtype, device=x.device)
    powers = tocha.cumprod(wide, -1) if n > 1 else wide
    return tocha.cat([ones.to(powers.dtype), powers], -1)


def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices: scaled, a Taylor polynomial of degree 18, squared back.

    Source: Bader, Blanes, Casas, "Computing the matrix exponential with an optimized Taylor polynomial approximation"
        (2019).
    """
    import tocha

    check_square(A, "linalg.matrix_exp")
    if not A._data.size:
        return A.clone()
    size = float(np.abs(np.asarray(A.detach().cpu().numpy())).sum(-2).max())
    squarings = max(0, int(np.ceil(np.log2(size)))) if size > 1 and np.isfinite(size) else 0
    x = A / 2**squarings
    eye = tocha.eye(A._data.shape[-1], dtype=A.dtype, device=A.device)
    total = term = eye.expand(A._data.shape)
    for k in range(1, 19):
        term = matmul(term, x) / k
        total = total + term
    for _ in range(squarings):
        total = matmul(total, total)
    return total
