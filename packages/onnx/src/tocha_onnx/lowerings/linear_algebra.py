"""Solving and inverting: elimination in a loop over the columns, the matrices of a batch side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from tocha.onnx.tracing import broadcast_shapes

from ..builder import Array, Builder
from ..registry import lowering, unsupported

NP_INT64 = np.dtype("int64")


def _swapped(b: Builder, x: Array, rank: int) -> Array:
    """The matrices transposed."""
    return b.transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def _row(c: Builder, x: Array, i: Array, rank: int) -> Array:
    """Row ``i`` of each matrix, (…, 1, m)."""
    at = c.unsqueeze(i, (0,))
    return c.Slice(x, at, c.Add(at, 1), c.constant(np.array([rank - 2], np.int64)))


def _column(c: Builder, x: Array, i: Array, rank: int) -> Array:
    at = c.unsqueeze(i, (0,))
    return c.Slice(x, at, c.Add(at, 1), c.constant(np.array([rank - 1], np.int64)))


@lowering("linalg_det")
def det(b: Builder, x: Array) -> Array:
    return b.Det(x)


@lowering("linalg_slogdet")
def slogdet(b: Builder, x: Array) -> tuple[Array, Array]:
    value = b.Det(x)
    return b.Sign(value), b.Log(b.Abs(value))


def gauss_jordan(b: Builder, a: Array, right: Array, rank: int) -> Array:
    """``a⁻¹ right``, with the largest element of each column as its pivot. A singular matrix gives infinities or
    NaN."""
    n = a.shape[-1]
    joined = b.Concat(a, right, axis=rank - 1)
    rows = b.unsqueeze(b.range(n), (1,))

    def body(c: Builder, i: Array, m: Array) -> tuple[Array]:
        column = c.Abs(_column(c, m, i, rank))
        below = c.Where(c.GreaterOrEqual(rows, i), column, c.constant(-1, a.dtype))
        pivot = c.ArgMax(below, axis=rank - 2, keepdims=1)  # (…, 1, 1)
        is_pivot, is_i = c.Equal(rows, pivot), c.Equal(rows, i)
        zero = c.constant(0, a.dtype)
        chosen = c.reduce("ReduceSum", c.Where(is_pivot, m, zero), (rank - 2,), True)
        m = c.Where(is_i, chosen, c.Where(is_pivot, _row(c, m, i, rank), m))
        scaled = c.Div(chosen, _column(c, chosen, i, rank))
        return (c.Where(is_i, scaled, c.Sub(m, c.Mul(_column(c, m, i, rank), scaled))),)

    (done,) = b.loop(n, (joined,), body)
    return b.slice(done, rank - 1, n, np.iinfo(np.int64).max)


def _identity(b: Builder, a: Array) -> Array:
    n = a.shape[-1]
    eye = b.cast(b.Equal(b.unsqueeze(b.range(n), (1,)), b.unsqueeze(b.range(n), (0,))), a.dtype)
    return b.expand(eye, a.shape)


@lowering("linalg_inv")
def inv(b: Builder, a: Array, *_: Any) -> Array:
    return gauss_jordan(b, a, _identity(b, a), a.rank)


def _broadcast(b: Builder, x: Array, batch: tuple) -> Array:
    return b.expand(x, (*batch, *x.shape[-2:]))


def _common(b: Builder, x: Array, y: Array) -> tuple[Array, Array]:
    """Two stacks of matrices with their batches broadcast."""
    batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return _broadcast(b, x, batch), _broadcast(b, y, batch)


@lowering("linalg_solve")
def solve(b: Builder, a: Array, right: Array, *_: Any) -> Array:
    a, right = _common(b, a, right)
    return gauss_jordan(b, a, right, a.rank)


# ---------------------------------------------------------------- triangles


def forward_substitution(b: Builder, a: Array, right: Array, rank: int, unit: bool) -> Array:
    """``a⁻¹ right`` for lower triangular ``a``."""
    rows = b.unsqueeze(b.range(a.shape[-1]), (1,))
    start = b.Mul(right, 0)

    def body(c: Builder, i: Array, x: Array) -> tuple[Array]:
        of_a = _row(c, a, i, rank)
        value = c.Sub(_row(c, right, i, rank), c.MatMul(of_a, x))
        if not unit:
            value = c.Div(value, _column(c, of_a, i, rank))
        return (c.Where(c.Equal(rows, i), value, x),)

    return b.loop(a.shape[-1], (start,), body)[0]


def _reversed(b: Builder, x: Array, axes: tuple[int, ...]) -> Array:
    k = len(axes)
    fill = lambda v: b.constant(np.full(k, v, np.int64))  # noqa: E731
    made = b.Slice(x, fill(-1), fill(-(2**63) + 1), b.constant(np.array(axes, np.int64)), fill(-1))
    return Array(made.name, made.dtype, x.shape)


def triangular(b: Builder, a: Array, right: Array, upper: bool, unit: bool) -> Array:
    """``a⁻¹ right`` for a triangle; an upper one is a lower one read from the end."""
    rank = a.rank
    if upper:
        a, right = _reversed(b, a, (rank - 2, rank - 1)), _reversed(b, right, (rank - 2,))
    zero = b.constant(0, a.dtype)
    rows, columns = b.unsqueeze(b.range(a.shape[-1]), (1,)), b.unsqueeze(b.range(a.shape[-1]), (0,))
    lower = Array(b.Where(b.LessOrEqual(columns, rows), a, zero).name, a.dtype, a.shape)
    x = forward_substitution(b, lower, right, rank, unit)
    return _reversed(b, Array(x.name, x.dtype, right.shape), (rank - 2,)) if upper else x


@lowering("linalg_solve_triangular")
def solve_triangular(b: Builder, a: Array, right: Array, upper: bool, unit: bool, *_: Any) -> Array:
    a, right = _common(b, a, right)
    return triangular(b, a, right, upper, unit)


def _triangle_inverse(b: Builder, factor: Array, upper: bool) -> Array:
    return triangular(b, factor, _identity(b, factor), upper, False)


@lowering("cholesky_inverse")
def cholesky_inverse(b: Builder, factor: Array, upper: bool) -> Array:
    half = _triangle_inverse(b, factor, upper)
    other = _swapped(b, half, factor.rank)
    return b.MatMul(half, other) if upper else b.MatMul(other, half)


@lowering("cholesky_solve")
def cholesky_solve(b: Builder, right: Array, factor: Array, upper: bool, *_: Any) -> Array:
    factor, right = _common(b, factor, right)
    other = _swapped(b, factor, factor.rank)
    other = Array(other.name, other.dtype, factor.shape)
    first, second = (other, factor) if upper else (factor, other)
    x = triangular(b, first, right, False, False)
    return triangular(b, second, Array(x.name, x.dtype, right.shape), True, False)


@lowering("linalg_cholesky")
def cholesky(b: Builder, a: Array, *_: Any) -> Array:
    """Column by column: what is left of the column, over the root of its diagonal element."""
    rank, n = a.rank, a.shape[-1]
    rows = b.unsqueeze(b.range(n), (1,))
    columns = b.unsqueeze(b.range(n), (0,))

    def body(c: Builder, i: Array, out: Array) -> tuple[Array]:
        seen = _row(c, out, i, rank)  # (…, 1, n): columns before i are done, the others 0
        rest = c.Sub(_column(c, a, i, rank), c.MatMul(out, _swapped(c, seen, rank)))
        scaled = c.Div(rest, c.Sqrt(_row(c, rest, i, rank)))
        inside = c.And(c.Equal(columns, i), c.GreaterOrEqual(rows, i))
        return (c.Where(inside, scaled, out),)

    return b.loop(n, (b.Mul(a, 0),), body)[0]


unsupported(
    "ONNX has no operator for matrix factorisations, and the iteration that finds it has no fixed length",
    "linalg_eig", "linalg_eigh", "linalg_pinv", "linalg_svd",
)  # fmt: skip
unsupported(
    "ONNX has no operator for matrix factorisations",
    "linalg_lu", "linalg_qr",
)  # fmt: skip
