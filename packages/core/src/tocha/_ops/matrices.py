"""The names of linear algebra that live beside ``tocha.linalg``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import linalg
from .._core import arrays
from .._core.families import attribute, method
from .._core.inplace import store
from .._core.return_types import named
from .._core.tensor import Tensor, wrap
from . import decompositions as ops
from .contraction import matmul
from .movement import transpose

__all__ = ["adjoint", "cholesky", "cholesky_inverse", "cholesky_solve", "det", "frobenius_norm", "geqrf", "inverse",
           "logdet", "lu", "lu_solve", "lu_unpack",
           "matrix_exp", "matrix_power", "norm", "nuclear_norm", "orgqr", "ormqr", "pca_lowrank", "pinverse", "qr",
           "slogdet", "svd", "svd_lowrank", "triangular_solve"]  # fmt: skip

svd_result, qr_result = named("svd", "U", "S", "V"), named("qr", "Q", "R")
geqrf_result, triangular_result = (
    named("geqrf", "a", "tau"),
    named("triangular_solve", "solution", "cloned_coefficient"),
)
lu_unpack_result = named("lu_unpack", "P", "L", "U")

inverse, det, slogdet, matrix_power, matrix_exp = (
    linalg.inv,
    linalg.det,
    linalg.slogdet,
    linalg.matrix_power,
    linalg.matrix_exp,
)


def _out(result: Any, out: Any) -> Any:
    return result if out is None else store(out, result)


def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of the last two dimensions."""
    return transpose(input, -2, -1).conj()


def cholesky(input: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """``linalg.cholesky``."""
    return linalg.cholesky(input, upper=upper, out=out)


def cholesky_inverse(L: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is given."""
    return _out(ops.cholesky_inverse_op(L, upper), out)


def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """``X`` of ``A @ X = B`` where the Cholesky factor of ``A`` is given."""
    return _out(ops.cholesky_solve_op(B, L, upper), out)


def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *, out: Any = None
) -> Any:
    """``(solution, A)`` of a triangular system; see ``linalg.solve_triangular``."""
    a = A.mT if transpose else A
    return _out(triangular_result(ops.triangular_op(a, b, upper != transpose, unitriangular), A.clone()), out)


def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant: -inf where it is 0, NaN where it is negative."""
    sign, log = linalg.slogdet(input)
    if input._data.dtype.kind == "c":
        return sign.log() + log
    return sign.sign().log() + log


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """``linalg.pinv``."""
    return linalg.pinv(input, rcond)


def qr(input: Tensor, some: bool = True, *, out: Any = None) -> Any:
    """``linalg.qr`` in reduced (``some``) or complete form."""
    return _out(qr_result(*linalg.qr(input, "reduced" if some else "complete")), out)


def svd(input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """``(U, S, V)`` with ``input = U @ diag(S) @ V.mH``; see ``linalg.svd``."""
    if not compute_uv:
        import tocha

        rows, columns = input._data.shape[-2:]
        lead = input._data.shape[:-2]
        zeros = lambda n: tocha.zeros(*lead, n, n, dtype=input.dtype, device=input.device)  # noqa: E731
        return _out(svd_result(zeros(rows), linalg.svdvals(input), zeros(columns)), out)
    u, s, vh = linalg.svd(input, not some)
    return _out(svd_result(u, s, vh.mH), out)


# ---------------------------------------------------------------- LU


def lu(input: Tensor, pivot: bool = True, get_infos: bool = False, *, out: Any = None) -> Any:
    """The compact factorisation ``(LU, pivots)``, with infos if asked."""
    compact, pivots, info = linalg.lu_factor_ex(input, pivot=pivot)
    return _out((compact, pivots, info) if get_infos else (compact, pivots), out)


def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = None) -> Tensor:
    """``linalg.lu_solve``."""
    return linalg.lu_solve(LU_data, LU_pivots, b, out=out)


def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True, *, out: Any = None
) -> Any:
    """``(P, L, U)`` from the compact factorisation; what is not asked for is empty."""
    import tocha

    from ..linalg.factorisations import permutation

    rows, columns = LU_data._data.shape[-2:]
    k = min(rows, columns)
    empty = LU_data.new_empty((0,))
    lower = upper = p = empty
    if unpack_data:
        unit = tocha.eye(rows, k, dtype=LU_data.dtype, device=LU_data.device)
        lower = LU_data[..., :, :k].tril(-1) + unit
        upper = LU_data[..., :k, :].triu()
    if unpack_pivots:
        p = permutation(LU_pivots, rows, LU_data)
    return _out(lu_unpack_result(p, lower, upper), out)


# ---------------------------------------------------------------- Householder


def geqrf(input: Tensor, *, out: Any = None) -> Any:
    """LAPACK's compact QR: reflections below the diagonal and their factors ``tau``."""
    x = arrays.to_host(input._data)
    rows, columns = x.shape[-2:]
    a, tau = np.empty_like(x), np.zeros((*x.shape[:-2], min(rows, columns)), x.dtype)
    for index in np.ndindex(x.shape[:-2]):
        if x[index].size:
            h, t = np.linalg.qr(x[index], "raw")
            a[index], tau[index] = h.T, t
    return _out(geqrf_result(wrap(a), wrap(tau)), out)


def orgqr(input: Tensor, tau: Tensor, *, out: Any = None) -> Tensor:
    """``linalg.householder_product``."""
    return linalg.householder_product(input, tau, out=out)


def ormqr(
    input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False, *, out: Any = None
) -> Tensor:
    """``other`` times the full product of Householder reflections, from the left or right, adjoint if ``transpose``."""
    from ..linalg.factorisations import reflector

    k = tau._data.shape[-1]
    order = range(k) if left == transpose else reversed(range(k))
    x = other
    for i in order:
        v = reflector(input, i)
        t = tau[..., i].unsqueeze(-1).unsqueeze(-1)
        if transpose:
            t = t.conj()
        x = x - t * matmul(v, matmul(v.mH, x)) if left else x - t * matmul(matmul(x, v), v.mH)
    return _out(x, out)


# ---------------------------------------------------------------- norms


def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None
) -> Tensor:
    """The older spelling of ``linalg.vector_norm`` and ``linalg.matrix_norm``."""
    if p == "nuc":
        dims = (-2, -1) if dim is None else dim
        return linalg.matrix_norm(input, "nuc", dims, keepdim, dtype=dtype, out=out)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    order = 2.0 if p is None or p == "fro" else p
    return linalg.vector_norm(input, order, dim, keepdim, dtype=dtype, out=out)


def frobenius_norm(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """The 2-norm of all elements, or over ``dim``."""
    return norm(input, "fro", dim, keepdim, out=out)


def nuclear_norm(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """The sum of the singular values."""
    return norm(input, "nuc", dim, keepdim, out=out)


# ---------------------------------------------------------------- randomised


def _range_basis(A: Tensor, q: int, niter: int, M: Tensor | None) -> Tensor:
    """An orthonormal basis of about the range of ``A`` (Halko, Martinsson, Tropp, 2009, algorithm 4.4)."""
    import tocha

    x = tocha.randn(A._data.shape[-1], q, dtype=A.dtype, device=A.device)
    product = lambda t: matmul(A, t) if M is None else matmul(A, t) - matmul(M, t)  # noqa: E731
    back = lambda t: matmul(A.mH, t) if M is None else matmul(A.mH, t) - matmul(M.mH, t)  # noqa: E731
    basis = linalg.qr(product(x)).Q
    for _ in range(niter):
        basis = linalg.qr(back(basis)).Q
        basis = linalg.qr(product(basis)).Q
    return basis


def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> Any:
    """About the ``q`` largest singular values and vectors ``(U, S, V)``, by random projections."""
    rows, columns = A._data.shape[-2:]
    q = 6 if q is None else q
    shifted = A if M is None else A - M.broadcast_to(A._data.shape)
    if rows < columns:
        v, s, u = svd_lowrank(shifted.mH, q, niter)
        return u, s, v
    basis = _range_basis(shifted, q, 2 if niter is None else niter, None)
    u, s, vh = linalg.svd(matmul(basis.mH, shifted), False)
    return matmul(basis, u), s, vh.mH


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """Principal components ``(U, S, V)`` of rows, by ``svd_lowrank``."""
    rows, columns = A._data.shape[-2:]
    if q is None:
        q = min(6, rows, columns)
    elif not 0 <= q <= min(rows, columns):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


for _fn in (adjoint, cholesky, cholesky_inverse, cholesky_solve, det, geqrf, inverse, logdet, lu_solve, matrix_exp,
            matrix_power, norm, orgqr, ormqr, pinverse, qr, slogdet, svd, triangular_solve):  # fmt: skip
    method(_fn)
method(inverse, "inverse")


def _hermitian(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix.

    Raises:
        RuntimeError: the tensor has neither two dimensions nor none.
    """
    if len(self._data.shape) not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {len(self._data.shape)}-D tensor."
        )
    return adjoint(self) if self._data.shape else self.conj()


attribute("H", _hermitian)
attribute("mH", adjoint)
