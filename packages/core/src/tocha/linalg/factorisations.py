"""Factorisations of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tocha._core import arrays
from tocha._core.return_types import named
from tocha._core.tensor import Tensor, wrap
from tocha._ops import decompositions as ops
from tocha._ops import spectra
from tocha._ops.contraction import matmul

from .errors import check_floating, check_matrix, check_square, given, infos

__all__ = ["cholesky", "cholesky_ex", "eig", "eigh", "eigvals", "eigvalsh", "householder_product", "ldl_factor",
           "ldl_factor_ex",
           "ldl_solve", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "qr", "svd", "svdvals"]  # fmt: skip

cholesky_ex_result = named("cholesky_ex", "L", "info")
eig_result, eigh_result = (
    named("linalg_eig", "eigenvalues", "eigenvectors"),
    named("linalg_eigh", "eigenvalues", "eigenvectors"),
)
svd_result, qr_result = named("linalg_svd", "U", "S", "Vh"), named("linalg_qr", "Q", "R")
lu_result, lu_factor_result = named("linalg_lu", "P", "L", "U"), named("linalg_lu_factor", "LU", "pivots")
lu_factor_ex_result = named("linalg_lu_factor_ex", "LU", "pivots", "info")
ldl_factor_result, ldl_factor_ex_result = (
    named("linalg_ldl_factor", "LD", "pivots"),
    named("linalg_ldl_factor_ex", "LD", "pivots", "info"),
)


def cholesky(A: Tensor, *, upper: bool = False, out: Any = None) -> Tensor:
    """The lower (or ``upper``) triangular factor of positive-definite matrices: ``A = L @ L.mH``.

    Raises:
        LinAlgError: a matrix is not positive-definite.
    """
    check_square(A, "linalg.cholesky")
    check_floating(A, "linalg.cholesky")
    lower = ops.cholesky_op(A)
    return given(lower.mH if upper else lower, out)


def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """``(L, info)``."""
    return given(cholesky_ex_result(cholesky(A, upper=upper), infos(A)), out)


def qr(A: Tensor, mode: str = "reduced", *, out: Any = None) -> Any:
    """``A = Q @ R``, as ``(Q, R)``; mode "reduced", "complete" or "r" (R alone)."""
    check_matrix(A, "linalg.qr")
    check_floating(A, "linalg.qr")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    q, r = ops.qr_op(A, "reduced" if mode == "r" else mode)
    return given(qr_result(A.new_empty((0,)) if mode == "r" else q, r), out)


def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Any = None) -> Any:
    """``A = U @ diag(S) @ Vh`` with falling singular values, as ``(U, S, Vh)``."""
    check_matrix(A, "linalg.svd")
    check_floating(A, "linalg.svd")
    return given(svd_result(*spectra.svd_op(A, full_matrices)), out)


def svdvals(A: Tensor, *, driver: str | None = None, out: Any = None) -> Tensor:
    """The singular values, falling."""
    check_matrix(A, "linalg.svdvals")
    check_floating(A, "linalg.svdvals")
    return given(spectra.svd_op(A, False)[1], out)


def eigh(A: Tensor, UPLO: str = "L", *, out: Any = None) -> Any:
    """Eigenvalues (rising) and eigenvectors of Hermitian matrices, of which one triangle is read."""
    check_square(A, "linalg.eigh")
    check_floating(A, "linalg.eigh")
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return given(eigh_result(*spectra.eigh_op(A, UPLO.upper())), out)


def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Any = None) -> Tensor:
    """The eigenvalues (rising) of Hermitian matrices."""
    return given(eigh(A, UPLO).eigenvalues, out)


def eig(A: Tensor, *, out: Any = None) -> Any:
    """Eigenvalues and eigenvectors of square matrices, complex."""
    check_square(A, "linalg.eig")
    check_floating(A, "linalg.eig")
    return given(eig_result(*spectra.eig_op(A, A._data.dtype.kind == "c")), out)


def eigvals(A: Tensor, *, out: Any = None) -> Tensor:
    """The eigenvalues of square matrices, complex."""
    return given(eig(A).eigenvalues, out)


# ---------------------------------------------------------------- LU


def lu(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """``A = P @ L @ U``, as ``(P, L, U)``.

    Raises:
        NotImplementedError: ``pivot=False`` (LAPACK always pivots; PyTorch offers it on CUDA only).
    """
    check_matrix(A, "linalg.lu")
    check_floating(A, "linalg.lu")
    if not pivot:
        raise RuntimeError("linalg.lu: LU without pivoting is not implemented on the CPU")
    p, lower, upper = ops.lu_op(A)
    return given(lu_result(p.detach(), lower, upper), out)


def _pivots(p: np.ndarray, k: int) -> np.ndarray:
    """LAPACK's row swaps (from 1) that make the permutation matrices ``p``."""
    rows = p.shape[-1]
    flat = p.reshape(-1, rows, rows).real
    out = np.zeros((flat.shape[0], k), np.int32)
    for b, matrix in enumerate(flat):
        wanted = matrix.argmax(0).tolist()  # row j of the product is row wanted[j] of the matrix
        current = list(range(rows))
        for i in range(k):
            j = current.index(wanted[i])
            out[b, i] = j + 1
            current[i], current[j] = current[j], current[i]
    return out.reshape(*p.shape[:-2], k)


def lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """The compact LU factorisation, as ``(LU, pivots)`` with LAPACK's int32 row swaps counted from 1."""
    p, lower, upper = lu(A, pivot=pivot)
    rows, columns = A._data.shape[-2:]
    k = min(rows, columns)
    compact = _padded(lower.tril(-1), rows, columns) + _padded(upper, rows, columns)
    host = arrays.to_host(p._data)
    pivots = wrap(_pivots(host, k) if host.size else np.zeros((*host.shape[:-2], k), np.int32))
    return given(lu_factor_result(compact, pivots if type(A._data) is np.ndarray else pivots.to(A.device)), out)


def _padded(x: Tensor, rows: int, columns: int) -> Tensor:
    n, m = x._data.shape[-2:]
    if (n, m) == (rows, columns):
        return x
    from tocha._core.broadcast import operators

    shape = (*x._data.shape[:-2], rows, columns)
    return operators["slice_pad"](x, shape, tuple([slice(0, s) for s in x._data.shape]))


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """``(LU, pivots, info)``."""
    return given(lu_factor_ex_result(*lu_factor(A, pivot=pivot), infos(A)), out)


def permutation(pivots: Tensor, rows: int, like: Tensor) -> Tensor:
    """The permutation matrices that LAPACK's row swaps mean."""
    swaps = arrays.to_host(pivots._data)
    flat = swaps.reshape(int(np.prod(swaps.shape[:-1])), swaps.shape[-1])
    out = np.zeros((flat.shape[0], rows, rows), like._data.dtype)
    for b, line in enumerate(flat.tolist()):
        order = list(range(rows))
        for i, j in enumerate(line):
            order[i], order[j - 1] = order[j - 1], order[i]
        out[b, order, np.arange(rows)] = 1
    made = wrap(out.reshape(*swaps.shape[:-1], rows, rows))
    return made if type(like._data) is np.ndarray else made.to(like.device)


def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False, out: Any = None
) -> Tensor:
    """``X`` of ``A @ X = B`` with the factors of ``lu_factor``."""
    check_square(LU, "linalg.lu_solve", "LU")
    p = permutation(pivots, LU._data.shape[-1], LU)
    if not left:
        return given(lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH, out)
    if adjoint:
        y = ops.triangular_op(LU.mH, B, False)
        x = matmul(p, ops.triangular_op(LU.mH, y, True, True))
    else:
        y = ops.triangular_op(LU, matmul(p.mT, B), False, True)
        x = ops.triangular_op(LU, y, True)
    return given(x, out)


# ---------------------------------------------------------------- LDL and Householder


def _ldl(A: Tensor, hermitian: bool) -> tuple[Tensor, Tensor]:
    """LAPACK's sytrf or hetrf on the lower triangle, one matrix at a time."""
    from scipy.linalg import get_lapack_funcs

    x = arrays.to_host(A._data)
    is_complex = x.dtype.kind == "c"
    name = "hetrf" if hermitian and is_complex else "sytrf"
    (factor,) = get_lapack_funcs((name,), (x,))
    out, pivots = x.copy(), np.zeros(x.shape[:-1], np.int32)
    for index in np.ndindex(x.shape[:-2]):
        if x.shape[-1]:
            compact, pivots[index], _ = factor(x[index], lower=1)
            out[index] = np.tril(compact)
    return wrap(out), wrap(pivots)


def ldl_factor(A: Tensor, *, hermitian: bool = False, out: Any = None) -> Any:
    """The compact LDL factorisation of symmetric matrices, as LAPACK stores it: ``(LD, pivots)``. Not
    differentiable."""
    check_square(A, "linalg.ldl_factor")
    return given(ldl_factor_result(*_ldl(A, hermitian)), out)


def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """``(LD, pivots, info)``."""
    return given(ldl_factor_ex_result(*ldl_factor(A, hermitian=hermitian), infos(A)), out)


def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False, out: Any = None) -> Tensor:
    """``X`` of ``A @ X = B`` with the factors of ``ldl_factor``."""
    from scipy.linalg import get_lapack_funcs

    x, b, swaps = [arrays.to_host(t._data) for t in (LD, B, pivots)]
    name = "hetrs" if hermitian and x.dtype.kind == "c" else "sytrs"
    (solver,) = get_lapack_funcs((name,), (x,))
    lead = np.broadcast_shapes(x.shape[:-2], b.shape[:-2])
    x = np.broadcast_to(x, (*lead, *x.shape[-2:]))
    b = np.broadcast_to(b, (*lead, *b.shape[-2:]))
    swaps = np.broadcast_to(swaps, (*lead, swaps.shape[-1]))
    out_ = np.empty(b.shape, x.dtype)
    for index in np.ndindex(lead):
        if b.size:
            out_[index] = solver(x[index], swaps[index], b[index], lower=1)[0]
    return given(wrap(out_), out)


def householder_product(A: Tensor, tau: Tensor, *, out: Any = None) -> Tensor:
    """The first columns of the product of Householder reflections, as geqrf stores them."""
    import tocha

    check_matrix(A, "linalg.householder_product", "input")
    rows, columns = A._data.shape[-2:]
    if columns > rows:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    k = tau._data.shape[-1]
    lead = A._data.shape[:-2]
    q = tocha.eye(rows, columns, dtype=A.dtype, device=A.device).expand(*lead, rows, columns)
    for i in reversed(range(k)):
        v = reflector(A, i)
        t = tau[..., i].unsqueeze(-1).unsqueeze(-1)
        q = q - t * matmul(v, matmul(v.mH, q))
    return given(q, out)


def reflector(A: Tensor, i: int) -> Tensor:
    """The ``i``-th Householder vector: zeros, one, then the column below the diagonal; (…, m, 1)."""
    import tocha

    below = A[..., i + 1 :, i : i + 1]
    lead = A._data.shape[:-2]
    head = tocha.zeros(*lead, i + 1, 1, dtype=A.dtype, device=A.device)
    head[..., i, 0] = 1
    return tocha.cat([head, below], -2)
