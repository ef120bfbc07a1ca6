"""Inverses, linear systems, determinants, least squares."""

from __future__ import annotations

import math
from typing import Any

from tocha._core.broadcast import broadcast_shapes
from tocha._core.return_types import named
from tocha._core.tensor import Tensor
from tocha._ops import decompositions as ops
from tocha._ops import spectra
from tocha._ops.contraction import matmul
from tocha._ops.movement import reshape
from tocha._ops.ternary import where

from .errors import LinAlgError, check_floating, check_matrix, check_square, eps_of, given, infos

__all__ = ["det", "inv", "inv_ex", "lstsq", "matrix_rank", "pinv", "slogdet", "solve", "solve_ex", "solve_triangular",
           "tensorinv",
           "tensorsolve"]  # fmt: skip

slogdet_result = named("slogdet", "sign", "logabsdet")
inv_ex_result = named("inv_ex", "inverse", "info")
solve_ex_result = named("solve_ex", "result", "info")
lstsq_result = named("lstsq", "solution", "residuals", "rank", "singular_values")


def inv(A: Tensor, *, out: Any = None) -> Tensor:
    """The inverses of square matrices.

    Raises:
        LinAlgError: a matrix is singular.

    Example:
        >>> import tocha
        >>> tocha.linalg.inv(tocha.tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.25]]
    """
    check_square(A, "linalg.inv")
    check_floating(A, "linalg.inv")
    return given(ops.inv_op(A), out)


def inv_or_infinite(A: Tensor) -> Tensor:
    try:
        return inv(A)
    except LinAlgError:
        return A * 0 + math.inf


def inv_ex(A: Tensor, *, check_errors: bool = False, out: Any = None) -> Any:
    """``(inverse, info)``."""
    return given(inv_ex_result(inv(A), infos(A)), out)


def _vector_case(A: Tensor, B: Tensor) -> bool:
    return len(B._data.shape) == 1 or (
        len(A._data.shape) - 1 == len(B._data.shape) and tuple(B._data.shape) == tuple(A._data.shape[:-1])
    )


def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Any = None) -> Tensor:
    """``X`` of ``A @ X = B`` (or ``X @ A = B`` where not ``left``); ``B`` is matrices, or vectors of A's batch.

    Raises:
        LinAlgError: a matrix is singular.
    """
    check_square(A, "linalg.solve")
    check_floating(A, "linalg.solve")
    if A._data.dtype != B._data.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {A.dtype} and B of type "
            f"{B.dtype} instead"
        )
    vector = _vector_case(A, B)
    b = B.unsqueeze(-1) if vector else B
    rows = b._data.shape[-2] if left or vector else b._data.shape[-1]
    if rows != A._data.shape[-1]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A._data.shape[-2]}x{A._data.shape[-1]} and {b._data.shape[-2]}x{b._data.shape[-1]})"
        )
    x = ops.solve_op(A, b) if left else ops.solve_op(A.mT, b.mT).mT
    return given(x.squeeze(-1) if vector else x, out)


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """``(result, info)``."""
    return given(solve_ex_result(solve(A, B, left=left), infos(A)), out)


def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False, out: Any = None
) -> Tensor:
    """``solve`` where only the upper or lower triangle of ``A`` counts (its diagonal as ones where
    ``unitriangular``)."""
    check_square(A, "linalg.solve_triangular")
    check_matrix(B, "linalg.solve_triangular", "B")
    if left:
        return given(ops.triangular_op(A, B, upper, unitriangular), out)
    return given(ops.triangular_op(A.mT, B.mT, not upper, unitriangular).mT, out)


def det(A: Tensor, *, out: Any = None) -> Tensor:
    """The determinants of square matrices."""
    check_square(A, "linalg.det")
    check_floating(A, "linalg.det")
    return given(spectra.det_op(A), out)


def slogdet(A: Tensor, *, out: Any = None) -> Any:
    """The sign and the logarithm of the absolute value of determinants, as ``(sign, logabsdet)``."""
    check_square(A, "linalg.slogdet")
    check_floating(A, "linalg.slogdet")
    return given(slogdet_result(*spectra.slogdet_op(A)), out)


# ---------------------------------------------------------------- rank and pseudo-inverse


def _tolerances(largest: Tensor, A: Tensor, atol: Any, rtol: Any) -> Tensor:
    """``max(atol, rtol * largest)``; by default rtol is eps * max(m, n)."""
    eps = eps_of[A._data.dtype]
    if rtol is None:
        given_atol = atol if not isinstance(atol, Tensor) else None
        default = eps * max(A._data.shape[-2:]) if A._data.size else eps
        if isinstance(atol, Tensor):
            rtol = where(atol > 0, 0.0, default)
        else:
            rtol = 0.0 if given_atol else default
    a = 0.0 if atol is None else atol
    relative = largest * rtol if not isinstance(rtol, Tensor) else largest * rtol.to(largest.dtype)
    if isinstance(a, Tensor):
        from tocha._ops.pairwise import maximum

        return maximum(a.to(largest.dtype).expand_as(relative) if not a._data.shape else a.to(largest.dtype), relative)
    return relative.clamp(min=float(a))


def _magnitudes(A: Tensor, hermitian: bool) -> Tensor:
    from .factorisations import eigvalsh, svdvals

    return eigvalsh(A).abs() if hermitian else svdvals(A)


def matrix_rank(
    A: Tensor, tol: Any = None, *, atol: Any = None, rtol: Any = None, hermitian: bool = False, out: Any = None
) -> Tensor:
    """The number of singular values above ``max(atol, rtol * largest)``, int64."""
    check_matrix(A, "linalg.matrix_rank")
    if not A._data.size:
        import tocha

        return tocha.zeros(tuple(A._data.shape[:-2]), dtype=tocha.int64, device=A.device)
    s = _magnitudes(A.detach(), hermitian)
    if tol is not None:
        atol, rtol = tol, 0.0
    limit = _tolerances(s.amax(-1), A, atol, rtol)
    return given((s > limit.unsqueeze(-1)).sum(-1), out)


def pinv(
    A: Tensor, rcond: Any = None, *, atol: Any = None, rtol: Any = None, hermitian: bool = False, out: Any = None
) -> Tensor:
    """The Moore-Penrose pseudo-inverse; singular values up to ``max(atol, rtol * largest)`` count as zero."""
    check_matrix(A, "linalg.pinv")
    check_floating(A, "linalg.pinv")
    if rcond is not None:
        rtol = rcond
    if not A._data.size:
        return given(spectra.pinv_op(A, A.detach().mH), out)
    return given(spectra.pinv_op(A, _pinv_value(A.detach(), atol, rtol, hermitian)), out)


def _pinv_value(A: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    from .factorisations import eigh, svd

    if hermitian:
        w, v = eigh(A)
        size = w.abs()
        small = size <= _tolerances(size.amax(-1), A, atol, rtol).unsqueeze(-1)
        inverse = where(small, 0.0, 1 / where(small, 1.0, w))
        return matmul(v * inverse.unsqueeze(-2).to(v.dtype), v.mH)
    u, s, vh = svd(A, full_matrices=False)
    small = s <= _tolerances(s.amax(-1), A, atol, rtol).unsqueeze(-1)
    inverse = where(small, 0.0, 1 / where(small, 1.0, s))
    return matmul(vh.mH * inverse.unsqueeze(-2).to(vh.dtype), u.mH)


def lstsq(A: Tensor, B: Tensor, rcond: Any = None, *, driver: str | None = None) -> Any:
    """Least squares ``min |A X - B|``, as ``(solution, residuals, rank, singular_values)``; what a driver does not give
    is empty."""
    import tocha

    check_matrix(A, "linalg.lstsq", "input")
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    vector = len(B._data.shape) == len(A._data.shape) - 1
    b = B.unsqueeze(-1) if vector else B
    rows, columns = A._data.shape[-2:]
    x = matmul(pinv(A, rtol=rcond), b)
    residuals = tocha.empty(0, dtype=A.dtype.to_real(), device=A.device)
    full = bool((matrix_rank(A) == columns).all()) if A._data.size else False
    if rows > columns and full and driver != "gelsy":
        r = (matmul(A, x) - b).abs()
        residuals = (r * r).sum(-2)
    rank = tocha.empty(0, dtype=tocha.int64, device=A.device)
    if driver != "gels":
        rank = matrix_rank(A)
    s = tocha.empty(0, dtype=A.dtype.to_real(), device=A.device)
    if driver in ("gelsd", "gelss"):
        from .factorisations import svdvals

        s = svdvals(A)
    shape = (*broadcast_shapes(A._data.shape[:-2], b._data.shape[:-2]), columns, b._data.shape[-1])
    x = x.expand(*shape)
    return lstsq_result(x.squeeze(-1) if vector else x, residuals, rank, s)


# ---------------------------------------------------------------- tensors as matrices


def tensorinv(A: Tensor, ind: int = 2, *, out: Any = None) -> Tensor:
    """The inverse of ``A`` as a map from its last dimensions to its first ``ind``."""
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    first, last = A._data.shape[:ind], A._data.shape[ind:]
    n, m = math.prod(first), math.prod(last)
    if n != m:
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got {m} "
            f"!= {n}"
        )
    return given(reshape(inv(reshape(A, n, m)), (*last, *first)), out)


def tensorsolve(A: Tensor, B: Tensor, dims: Any = None, *, out: Any = None) -> Tensor:
    """``X`` of ``tensordot(A, X) = B``."""
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(len(A._data.shape) - len(dims), len(A._data.shape))))
    rest = A._data.shape[len(B._data.shape) :]
    n = math.prod(rest)
    if n != B._data.size:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim])"
        )
    return given(reshape(solve(reshape(A, B._data.size, n), reshape(B, -1)), rest), out)


