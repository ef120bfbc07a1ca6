"""Eigenvalues, singular values and what rests on them, determinants and pseudo-inverses, as operators over batches.

The conventions are those of ``decompositions.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dtypes
from .._core.broadcast import operators
from .._core.families import operator
from .complex import conj_physical, is_complex_value, real_part, to_complex
from .constants import ones_as
from .contraction import matmul_op
from .decompositions import (
    adjoint,
    as_diagonal,
    column,
    columns_of,
    diagonal_of,
    inv_op,
    real_like,
    row,
    rows_of,
    smaller,
    solve_op,
)


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
    k = min(rows, columns) if type(rows) is int and type(columns) is int else smaller(rows, columns)
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
    u, vh = columns_of(u, 0, k), rows_of(vh, 0, k)
    is_complex = is_complex_value(u)
    lift = to_complex if is_complex else lambda x: x
    if gu is None and gvh is None:
        return (None if gs is None else matmul_op(u * row(lift(gs)), vh),)
    if n.attrs[0] and n.shape[-2] != n.shape[-1]:
        raise RuntimeError(
            "svd_backward: the gradients of full_matrices=True with respect to U and V are not defined: use "
            "full_matrices=False"
        )
    rows, columns = n.shape[-2:]
    squares = s * s
    difference = lift(_differences(squares))
    inner = None if gs is None else as_diagonal(lift(gs))
    if gu is not None:
        gu = columns_of(gu, 0, k)
        x = matmul_op(adjoint(u), gu)
        skew = x - adjoint(x)
        part = (skew / difference) * row(lift(s))
        part = part - as_diagonal(diagonal_of(part))
        inner = part if inner is None else inner + part
        if is_complex:
            inner = inner + as_diagonal((diagonal_of(x) - to_complex(real_part(diagonal_of(x)) * 1)) / lift(s))
    if gvh is not None:
        gv = adjoint(rows_of(gvh, 0, k))
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
        rest = rows_of(gvh, 0, k) / column(lift(s))
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
    """The matrix of cofactors by the products of all singular values but one:
    ``det(u) det(vh) u diag(prod others) vh``."""
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
    weight: Any = None if gl is None else (to_complex(gl) if is_complex else gl)
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
