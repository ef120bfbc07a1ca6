"""Matrix factorisations and inverses as operators, over batches.

LAPACK comes through ``numpy.linalg``, and through SciPy for LU. The rules are written for complex matrices too (with
conjugate transposes), so the records are marked linear: nothing is conjugated around them. Sources of the gradients:
Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation" (2008), and
PyTorch's https://pytorch.org/docs/stable/linalg.html for conventions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dtypes
from .._core.broadcast import broadcast_shapes, operators, reduce_to
from .._core.families import operator, shape_like_first
from .complex import conj_physical, is_complex_value, real_part, to_complex
from .constants import zeros_as
from .contraction import matmul_op, swap_last


def adjoint(x: Any) -> Any:
    """The conjugate transpose."""
    return conj_physical(swap_last(x)) if is_complex_value(x) else swap_last(x)


def triangle(x: Any, lower: bool, offset: int = 0) -> Any:
    """The lower or upper triangle of raw arrays, tensors or traced values."""
    return operators["tril" if lower else "triu"](x, offset)


def diagonal_of(x: Any) -> Any:
    n = len(x.shape)
    return operators["diagonal"](x, 0, n - 2, n - 1)


def as_diagonal(v: Any) -> Any:
    """Matrices with ``v`` (…, k) on their diagonals."""
    k = v.shape[-1]
    return operators["diagonal_backward"](v, (*v.shape, k), 0, len(v.shape) - 1, len(v.shape))


def column(v: Any) -> Any:
    return operators["view"](v, (*v.shape, 1))


def row(v: Any) -> Any:
    return operators["view"](v, (*v.shape[:-1], 1, v.shape[-1]))


def real_like(x: np.dtype) -> np.dtype:
    return dtypes.of(x).to_real().np


# ---------------------------------------------------------------- inverse and solve


inv_op = operator(
    "linalg_inv",
    lambda xp, a: _guarded(xp.linalg.inv, a),
    lambda n, g: (-matmul_op(matmul_op(adjoint(n.saved[0]), g), adjoint(n.saved[0])),),
    shape_like_first,
    save=("y",),
    linear=True,
)


def _guarded(fn: Any, *args: Any) -> Any:
    from ..linalg import LinAlgError

    try:
        return fn(*args)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(
            "linalg: the factorisation could not be completed because the input matrix is singular or not "
            f"positive-definite ({error})"
        ) from error


def _solve_rule(n: Any, g: Any) -> tuple:
    a, x = n.saved
    gb = solve_op(adjoint(a), g)
    ga = None if n.edges[0] is None else reduce_to(-matmul_op(gb, adjoint(x)), a.shape)
    return ga, None if n.edges[1] is None else reduce_to(gb, n.attrs[0])


def _solve_infer(a: Any, b: Any, shape: tuple = ()) -> tuple:
    return (*broadcast_shapes(a.shape[:-2], b.shape[:-2]), b.shape[-2], b.shape[-1]), b.dtype


_solve = operator(
    "linalg_solve",
    lambda xp, a, b, shape: _guarded(xp.linalg.solve, a, b),
    _solve_rule,
    _solve_infer,
    arity=2,
    save=(0, "y"),
    linear=True,
)


def solve_op(a: Any, b: Any) -> Any:
    """``a @ x = b`` for matrices ``b``, over broadcast batches."""
    return _solve(a, b, tuple(b.shape))


def _triangular_kernel(xp: Any, a: Any, b: Any, upper: bool, unit: bool, shape: tuple) -> Any:
    t = xp.triu(a) if upper else xp.tril(a)
    if unit:
        n = a.shape[-1]
        eye = xp.eye(n, dtype=bool)
        t = xp.where(eye, xp.ones_like(t), t)
    if xp is np and a.ndim == 2 and b.ndim == 2 and a.size:
        from scipy.linalg import solve_triangular

        return solve_triangular(t, b, lower=not upper, check_finite=False).astype(b.dtype, copy=False)
    return xp.linalg.solve(t, b)


def _triangular_rule(n: Any, g: Any) -> tuple:
    a, x = n.saved
    upper, unit, shape = n.attrs
    gb = triangular_op(adjoint(a), g, not upper, unit)
    ga = None
    if n.edges[0] is not None:
        ga = triangle(reduce_to(-matmul_op(gb, adjoint(x)), a.shape), not upper, (1 if upper else -1) if unit else 0)
    return ga, None if n.edges[1] is None else reduce_to(gb, shape)


_triangular = operator(
    "linalg_solve_triangular", _triangular_kernel, _triangular_rule,
    lambda a, b, *attrs: _solve_infer(a, b), arity=2, save=(0, "y"), linear=True,
)  # fmt: skip


def triangular_op(a: Any, b: Any, upper: bool, unit: bool = False) -> Any:
    """``a @ x = b`` where only a triangle of ``a`` counts."""
    return _triangular(a, b, upper, unit, tuple(b.shape))


# ---------------------------------------------------------------- Cholesky


def _cholesky_rule(n: Any, g: Any) -> tuple:
    (lower,) = n.saved
    phi = triangle(matmul_op(adjoint(lower), g), True)
    phi = phi - as_diagonal(diagonal_of(phi) * 0.5)
    half = triangular_op(adjoint(lower), phi, True)
    ga = adjoint(triangular_op(adjoint(lower), adjoint(half), True))
    return ((ga + adjoint(ga)) * 0.5,)


cholesky_op = operator(
    "linalg_cholesky",
    lambda xp, a: _guarded(xp.linalg.cholesky, a),
    _cholesky_rule,
    shape_like_first,
    save=("y",),
    linear=True,
)


def _cholesky_inverse_rule(n: Any, g: Any) -> tuple:
    factor, inverse = n.saved
    middle = matmul_op(matmul_op(inverse, g + adjoint(g)), inverse)
    return (-matmul_op(factor, middle) if n.attrs[0] else -matmul_op(middle, factor),)


def _cholesky_inverse_kernel(xp: Any, factor: Any, upper: bool) -> Any:
    half = xp.linalg.inv(xp.triu(factor) if upper else xp.tril(factor))
    other = half.conj().swapaxes(-1, -2)
    return xp.matmul(half, other) if upper else xp.matmul(other, half)


cholesky_inverse_op = operator(
    "cholesky_inverse",
    _cholesky_inverse_kernel,
    _cholesky_inverse_rule,
    lambda x, upper: (x.shape, x.dtype),
    save=(0, "y"),
    linear=True,
)


def _cholesky_solve_kernel(xp: Any, b: Any, factor: Any, upper: bool, shapes: tuple) -> Any:
    t = xp.triu(factor) if upper else xp.tril(factor)
    other = t.conj().swapaxes(-1, -2)
    first, second = (other, t) if upper else (t, other)
    return xp.linalg.solve(second, xp.linalg.solve(first, b))


def _cholesky_solve_rule(n: Any, g: Any) -> tuple:
    factor, x = n.saved
    upper, (sb, sf) = n.attrs
    gb = cholesky_solve_op(g, factor, upper)
    gf = None
    if n.edges[1] is not None:
        common = matmul_op(gb, adjoint(x))
        common = common + adjoint(common)
        gf = reduce_to(-matmul_op(factor, common) if upper else -matmul_op(common, factor), sf)
    return None if n.edges[0] is None else reduce_to(gb, sb), gf


_cholesky_solve = operator(
    "cholesky_solve",
    _cholesky_solve_kernel,
    _cholesky_solve_rule,
    lambda b, f, *attrs: _solve_infer(f, b),
    arity=2,
    save=(1, "y"),
    linear=True,
)


def cholesky_solve_op(b: Any, factor: Any, upper: bool) -> Any:
    """``x`` of ``a @ x = b`` where a triangular factor of ``a`` is given."""
    return _cholesky_solve(b, factor, upper, (tuple(b.shape), tuple(factor.shape)))


# ---------------------------------------------------------------- LU


def _lu_kernel(xp: Any, a: Any) -> tuple:
    """``(P, L, U)`` with ``a = P @ L @ U``."""
    if xp is not np:
        from cupyx.scipy.linalg import lu as factor
    else:
        from scipy.linalg import lu as factor
    rows, columns = a.shape[-2:]
    k = min(rows, columns)
    flat = a.reshape(-1, rows, columns) if a.size else a.reshape(0, rows, columns)
    parts = [factor(m) for m in flat]
    lead = a.shape[:-2]
    if not parts:
        eye = xp.broadcast_to(xp.eye(rows, dtype=a.dtype), (*lead, rows, rows)).copy()
        lower = xp.broadcast_to(xp.eye(rows, k, dtype=a.dtype), (*lead, rows, k)).copy()
        return eye, lower, xp.zeros((*lead, k, columns), a.dtype)
    p, lower, upper = [xp.stack(x).astype(a.dtype) for x in zip(*parts)]
    return p.reshape(*lead, rows, rows), lower.reshape(*lead, rows, k), upper.reshape(*lead, k, columns)


def _lu_infer(a: Any) -> list:
    rows, columns = a.shape[-2:]
    k = min(rows, columns) if type(rows) is int and type(columns) is int else smaller(rows, columns)
    lead = a.shape[:-2]
    return [((*lead, rows, rows), a.dtype), ((*lead, rows, k), a.dtype), ((*lead, k, columns), a.dtype)]


def smaller(a: Any, b: Any) -> Any:
    from .._trace.scalars import sym_min

    return sym_min(a, b)


def columns_of(x: Any, start: Any, stop: Any) -> Any:
    return operators["slice"](x, (Ellipsis, slice(start, stop)))


def rows_of(x: Any, start: Any, stop: Any) -> Any:
    return operators["slice"](x, (Ellipsis, slice(start, stop), slice(None)))


def _beside(a: Any, b: Any) -> Any:
    return operators["cat"]((a, b), len(a.shape) - 1, (a.shape[-1], b.shape[-1]))


def _below(a: Any, b: Any) -> Any:
    return operators["cat"]((a, b), len(a.shape) - 2, (a.shape[-2], b.shape[-2]))


def _lu_rule(n: Any, g: Any) -> tuple:
    p, lower, upper = n.saved
    gl, gu = g.get(1), g.get(2)
    if gl is None and gu is None:
        return (None,)
    gl = zeros_as(lower) if gl is None else gl
    gu = zeros_as(upper) if gu is None else gu
    rows, columns = n.shape[-2:]
    k = lower.shape[-1]
    l1, u1 = rows_of(lower, 0, k), columns_of(upper, 0, k)
    inner = triangle(matmul_op(adjoint(lower), gl), True, -1) + triangle(matmul_op(gu, adjoint(upper)), False)
    if rows == columns:
        pass
    elif rows < columns:  # upper is wide: its right part is free
        u2, gu2 = columns_of(upper, k, columns), columns_of(gu, k, columns)
        inner = triangle(matmul_op(adjoint(lower), gl) - matmul_op(gu2, adjoint(u2)), True, -1) + triangle(
            matmul_op(columns_of(gu, 0, k), adjoint(u1)), False
        )
        left = triangular_op(adjoint(l1), triangular_adjoint(inner, u1), True, True)
        right = triangular_op(adjoint(l1), gu2, True, True)
        return (matmul_op(p, _beside(left, right)),)
    else:  # lower is tall: its bottom part is free
        l2, gl2 = rows_of(lower, k, rows), rows_of(gl, k, rows)
        inner = triangle(matmul_op(adjoint(l1), rows_of(gl, 0, k)), True, -1) + triangle(
            matmul_op(gu, adjoint(u1)) - matmul_op(adjoint(l2), gl2), False
        )
        top = triangular_op(adjoint(l1), triangular_adjoint(inner, u1), True, True)
        bottom = triangular_adjoint(gl2, u1)
        return (matmul_op(p, _below(top, bottom)),)
    return (matmul_op(p, triangular_op(adjoint(l1), triangular_adjoint(inner, u1), True, True)),)


def triangular_adjoint(x: Any, upper: Any) -> Any:
    """``x @ inverse(upper)^H``."""
    return adjoint(triangular_op(upper, adjoint(x), True))


lu_op = operator("linalg_lu", _lu_kernel, _lu_rule, _lu_infer, save=("y0", "y1", "y2"), outputs=3, linear=True)

# ---------------------------------------------------------------- QR


def _qr_kernel(xp: Any, a: Any, mode: str) -> tuple:
    q, r = xp.linalg.qr(a, mode)
    return q.astype(a.dtype, copy=False), r.astype(a.dtype, copy=False)


def _qr_infer(a: Any, mode: str) -> list:
    rows, columns = a.shape[-2:]
    k = (
        rows
        if mode == "complete"
        else min(rows, columns)
        if type(rows) is int and type(columns) is int
        else smaller(rows, columns)
    )
    return [((*a.shape[:-2], rows, k), a.dtype), ((*a.shape[:-2], k, columns), a.dtype)]


def _qr_rule(n: Any, g: Any) -> tuple:
    q, r = n.saved
    mode = n.attrs[0]
    rows, columns = n.shape[-2:]
    if mode == "complete" and rows > columns:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols")
    gq, gr = g.get(0), g.get(1)
    if rows < columns:  # wide: a = q @ [u, v], of which u is square
        u, v = columns_of(r, 0, rows), columns_of(r, rows, columns)
        gr = zeros_as(r) if gr is None else gr
        gu, gv = columns_of(gr, 0, rows), columns_of(gr, rows, columns)
        # with b = q @ v, the part of a to the right, its gradient reaches q too
        base = zeros_as(q) if gq is None else gq
        y = matmul_op(q, v)
        gqq = base + matmul_op(y, adjoint(gv))
        left = _qr_square(q, u, gqq, gu)
        return (_beside(left, matmul_op(q, gv)),)
    return (_qr_square(q, r, gq, gr),)


def _qr_square(q: Any, r: Any, gq: Any, gr: Any) -> Any:
    m = None
    if gr is not None:
        m = matmul_op(gr, adjoint(r))
    if gq is not None:
        other = matmul_op(adjoint(q), gq)
        m = -other if m is None else m - other
    m = triangle(m, False)
    sym = m + adjoint(m)
    diagonal = diagonal_of(m)
    sym = sym - as_diagonal(to_complex(real_part(diagonal) * 1) if is_complex_value(m) else diagonal)
    ga = matmul_op(q, sym)
    if gq is not None:
        ga = ga + gq
    return triangular_adjoint(ga, r)


qr_op = operator("linalg_qr", _qr_kernel, _qr_rule, _qr_infer, save=("y0", "y1"), outputs=2, linear=True)
