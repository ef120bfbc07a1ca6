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
from .constants import ones_as, zeros_as
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
            f"linalg: the factorisation could not be completed because the input matrix is singular or not positive-definite ({error})"
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
        import cupyx.scipy.linalg as device_linalg  # type: ignore[import-not-found]

        factor = lambda m: device_linalg.lu(m)  # noqa: E731
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
    k = min(rows, columns) if type(rows) is int and type(columns) is int else _smaller(rows, columns)
    lead = a.shape[:-2]
    return [((*lead, rows, rows), a.dtype), ((*lead, rows, k), a.dtype), ((*lead, k, columns), a.dtype)]


def _smaller(a: Any, b: Any) -> Any:
    from .._trace.scalars import sym_min

    return sym_min(a, b)


def _columns(x: Any, start: Any, stop: Any) -> Any:
    return operators["slice"](x, (Ellipsis, slice(start, stop)))


def _rows(x: Any, start: Any, stop: Any) -> Any:
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
    l1, u1 = _rows(lower, 0, k), _columns(upper, 0, k)
    inner = triangle(matmul_op(adjoint(lower), gl), True, -1) + triangle(matmul_op(gu, adjoint(upper)), False)
    if rows == columns:
        pass
    elif rows < columns:  # upper is wide: its right part is free
        u2, gu2 = _columns(upper, k, columns), _columns(gu, k, columns)
        inner = triangle(matmul_op(adjoint(lower), gl) - matmul_op(gu2, adjoint(u2)), True, -1) + triangle(
            matmul_op(_columns(gu, 0, k), adjoint(u1)), False
        )
        left = triangular_op(adjoint(l1), triangular_adjoint(inner, u1), True, True)
        right = triangular_op(adjoint(l1), gu2, True, True)
        return (matmul_op(p, _beside(left, right)),)
    else:  # lower is tall: its bottom part is free
        l2, gl2 = _rows(lower, k, rows), _rows(gl, k, rows)
        inner = triangle(matmul_op(adjoint(l1), _rows(gl, 0, k)), True, -1) + triangle(
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
        else _smaller(rows, columns)
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
        u, v = _columns(r, 0, rows), _columns(r, rows, columns)
        gr = zeros_as(r) if gr is None else gr
        gu, gv = _columns(gr, 0, rows), _columns(gr, rows, columns)
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

# ---------------------------------------------------------------- eigenvalues


def _eigh_kernel(xp: Any, a: Any, uplo: str) -> tuple:
    w, v = xp.linalg.eigh(a, uplo)
    return w.astype(real_like(a.dtype), copy=False), v.astype(a.dtype, copy=False)


def _eigh_infer(a: Any, uplo: str) -> list:
    return [(a.shape[:-1], real_like(a.dtype)), (a.shape, a.dtype)]


def _differences(w: Any) -> Any:
    """``w[j] - w[i]`` with ones on the diagonal."""
    d = row(w) - column(w)
    return d + as_diagonal(ones_as(w))


def _eigh_rule(n: Any, g: Any) -> tuple:
    w, v = n.saved
    gw, gv = g.get(0), g.get(1)
    if gw is None and gv is None:
        return (None,)
    lift = to_complex if is_complex_value(v) else lambda x: x
    inner = None if gw is None else as_diagonal(lift(gw))
    if gv is not None:
        vhg = matmul_op(adjoint(v), gv)
        off = (vhg - adjoint(vhg)) * 0.5 / lift(_differences(w))  # the part that keeps v unitary
        off = off - as_diagonal(diagonal_of(off))
        inner = off if inner is None else inner + off
    return (matmul_op(matmul_op(v, inner), adjoint(v)),)


eigh_op = operator("linalg_eigh", _eigh_kernel, _eigh_rule, _eigh_infer, save=("y0", "y1"), outputs=2, linear=True)


def _eig_kernel(xp: Any, a: Any) -> tuple:
    c = dtypes.of(a.dtype).to_complex().np
    w, v = xp.linalg.eig(a)
    return w.astype(c), v.astype(c)


def _eig_infer(a: Any) -> list:
    c = dtypes.of(a.dtype).to_complex().np
    return [(a.shape[:-1], c), (a.shape, c)]


def _eig_rule(n: Any, g: Any) -> tuple:
    w, v = n.saved
    gw, gv = g.get(0), g.get(1)
    inner = None if gw is None else as_diagonal(gw)
    if gv is not None:
        vhg = matmul_op(adjoint(v), gv)
        vhv = matmul_op(adjoint(v), v)
        scaled = vhv * row(to_complex(real_part(diagonal_of(vhg)) * 1))
        off = (vhg - scaled) / conj_physical(_differences(w))
        off = off - as_diagonal(diagonal_of(off))
        inner = off if inner is None else inner + off
    if inner is None:
        return (None,)
    ga = solve_op(adjoint(v), matmul_op(inner, adjoint(v)))
    return (ga if n.attrs and n.attrs[0] else real_part(ga) * 1,)


eig_op = operator(
    "linalg_eig",
    lambda xp, a, is_complex: _eig_kernel(xp, a),
    _eig_rule,
    lambda a, is_complex: _eig_infer(a),
    save=("y0", "y1"),
    outputs=2,
    linear=True,
)

# ---------------------------------------------------------------- singular values


def _svd_kernel(xp: Any, a: Any, full: bool) -> tuple:
    u, s, vh = xp.linalg.svd(a, full)
    return u.astype(a.dtype, copy=False), s.astype(real_like(a.dtype), copy=False), vh.astype(a.dtype, copy=False)


def _svd_infer(a: Any, full: bool) -> list:
    rows, columns = a.shape[-2:]
    k = min(rows, columns) if type(rows) is int and type(columns) is int else _smaller(rows, columns)
    lead = a.shape[:-2]
    return [
        ((*lead, rows, rows if full else k), a.dtype),
        ((*lead, k), real_like(a.dtype)),
        ((*lead, columns if full else k, columns), a.dtype),
    ]


def _svd_rule(n: Any, g: Any) -> tuple:
    u, s, vh = n.saved
    gu, gs, gvh = g.get(0), g.get(1), g.get(2)
    k = s.shape[-1]
    u, vh = _columns(u, 0, k), _rows(vh, 0, k)
    is_complex = is_complex_value(u)
    lift = to_complex if is_complex else lambda x: x
    if gu is None and gvh is None:
        return (None if gs is None else matmul_op(u * row(lift(gs)), vh),)
    if n.attrs[0] and n.shape[-2] != n.shape[-1]:
        raise RuntimeError(
            "svd_backward: the gradients of full_matrices=True with respect to U and V are not defined: use full_matrices=False"
        )
    rows, columns = n.shape[-2:]
    squares = s * s
    difference = lift(_differences(squares))
    inner = None if gs is None else as_diagonal(lift(gs))
    if gu is not None:
        gu = _columns(gu, 0, k)
        x = matmul_op(adjoint(u), gu)
        skew = x - adjoint(x)
        part = (skew / difference) * row(lift(s))
        part = part - as_diagonal(diagonal_of(part))
        inner = part if inner is None else inner + part
        if is_complex:
            inner = inner + as_diagonal((diagonal_of(x) - to_complex(real_part(diagonal_of(x)) * 1)) / lift(s))
    if gvh is not None:
        gv = adjoint(_rows(gvh, 0, k))
        x = matmul_op(vh, gv)
        skew = x - adjoint(x)
        part = column(lift(s)) * (skew / difference)
        part = part - as_diagonal(diagonal_of(part))
        inner = part if inner is None else inner + part
    ga = matmul_op(matmul_op(u, inner), vh)
    if gu is not None and rows > k:
        rest = gu / row(lift(s))
        ga = ga + matmul_op(rest - matmul_op(u, matmul_op(adjoint(u), rest)), vh)
    if gvh is not None and columns > k:
        rest = _rows(gvh, 0, k) / column(lift(s))
        ga = ga + matmul_op(u, rest - matmul_op(matmul_op(rest, adjoint(vh)), vh))
    return (ga,)


svd_op = operator("linalg_svd", _svd_kernel, _svd_rule, _svd_infer, save=("y0", "y1", "y2"), outputs=3, linear=True)

# ---------------------------------------------------------------- determinants


def conj_of(x: Any) -> Any:
    return conj_physical(x) if is_complex_value(x) else x


def _det_rule(n: Any, g: Any) -> tuple:
    a, d = n.saved
    return (_det_gradient(a, d, g),)


def _det_gradient(a: Any, d: Any, g: Any) -> Any:
    """``g * conj(det) * a^-H``; at singular matrices through the singular values, whose products need no division."""
    scaled = operators["view"](g * conj_of(d), (*d.shape, 1, 1))
    singular = _any_singular(a, d)
    if not singular:
        return scaled * adjoint(inv_op(a))
    return operators["view"](g, (*d.shape, 1, 1)) * conj_of(_cofactors(a))


def _any_singular(a: Any, d: Any) -> bool:
    raw = d._data if hasattr(d, "_data") else d
    if not hasattr(raw, "all"):
        return False
    small = 1000 * float(np.finfo(real_like(raw.dtype)).eps)
    return bool((abs(raw) <= small).any())


def _cofactors(a: Any) -> Any:
    """The matrix of cofactors by the products of all singular values but one: ``det(u) det(vh) u diag(prod others) vh``."""
    from .cumulative import exclusive_products

    u, s, vh = svd_op(a, False)
    phase = det_op(matmul_op(u, vh))
    lift = to_complex if is_complex_value(u) else lambda x: x
    others = lift(exclusive_products(s, (len(s.shape) - 1,)))
    return operators["view"](phase, (*phase.shape, 1, 1)) * conj_of(matmul_op(u * row(others), vh))


det_op = operator(
    "linalg_det",
    lambda xp, a: _det_kernel(xp, a),
    _det_rule,
    lambda a: (a.shape[:-2], a.dtype),
    save=(0, "y"),
    linear=True,
)


def _det_kernel(xp: Any, a: Any) -> Any:
    return xp.asarray(xp.linalg.det(a)).astype(a.dtype, copy=False)


def _slogdet_kernel(xp: Any, a: Any) -> tuple:
    sign, log = xp.linalg.slogdet(a)
    return xp.asarray(sign).astype(a.dtype, copy=False), xp.asarray(log).astype(real_like(a.dtype), copy=False)


def _slogdet_rule(n: Any, g: Any) -> tuple:
    a, sign = n.saved
    gs, gl = g.get(0), g.get(1)
    is_complex = is_complex_value(a)
    if gl is None and not (is_complex and gs is not None):
        return (None,)
    weight = None if gl is None else (to_complex(gl) if is_complex else gl)
    if is_complex and gs is not None:
        # the sign turns with the imaginary part of the determinant's logarithm
        turn = conj_of(sign) * gs
        imaginary = turn - to_complex(real_part(turn) * 1)
        weight = imaginary if weight is None else weight + imaginary
    return (operators["view"](weight, (*weight.shape, 1, 1)) * adjoint(inv_op(a)),)


slogdet_op = operator(
    "linalg_slogdet",
    _slogdet_kernel,
    _slogdet_rule,
    lambda a: [(a.shape[:-2], a.dtype), (a.shape[:-2], real_like(a.dtype))],
    save=(0, "y0"),
    outputs=2,
    linear=True,
)


# ---------------------------------------------------------------- pseudo-inverse


def _pinv_rule(n: Any, g: Any) -> tuple:
    """Golub, Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems" (1973)."""
    a, p = n.saved
    ph, gh = adjoint(p), adjoint(g)
    if n.shape[-2] <= n.shape[-1]:
        k = matmul_op(gh, p)
        kph = matmul_op(k, ph)
        ga = (
            -adjoint(matmul_op(p, k))
            + kph
            - matmul_op(matmul_op(a, p), kph)
            + matmul_op(matmul_op(ph, p), gh - matmul_op(k, a))
        )
    else:
        k = matmul_op(p, gh)
        phk = matmul_op(ph, k)
        ga = (
            -adjoint(matmul_op(k, p))
            + matmul_op(matmul_op(gh - matmul_op(a, k), p), ph)
            + phk
            - matmul_op(matmul_op(phk, p), a)
        )
    return ga, None


pinv_op = operator(
    "linalg_pinv", lambda xp, a, p: p, _pinv_rule, lambda a, p: (p.shape, p.dtype), arity=2, save=(0, "y"), linear=True
)
