"""Batched matrix algebra that the distributions of vectors and matrices share."""

from __future__ import annotations

from typing import Any

import tocha


def times_vector(matrix: Any, vector: Any) -> Any:
    """Matrix-vector products over broadcast batches."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def solve_lower(factor: Any, right: Any) -> Any:
    """``factor``⁻¹ ``right`` of lower triangular factors, over broadcast batches."""
    batch = tocha.broadcast_shapes(factor.shape[:-2], right.shape[:-2])
    factor, right = factor.expand(batch + factor.shape[-2:]), right.expand(batch + right.shape[-2:])
    return tocha.linalg.solve_triangular(factor, right, upper=False)


def mahalanobis(factor: Any, x: Any) -> Any:
    """xᵀ (L Lᵀ)⁻¹ x of vectors ``x`` and Cholesky factors ``factor``."""
    return (solve_lower(factor, x.unsqueeze(-1)).squeeze(-1) ** 2).sum(-1)


def squares(matrix: Any) -> Any:
    """The sum of the squares of a matrix's elements: the trace of X Xᵀ."""
    return (matrix**2).sum((-2, -1))


def half_log_det(factor: Any) -> Any:
    """Half the log determinant of L Lᵀ."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def precision_to_scale_tril(precision: Any) -> Any:
    """The Cholesky factor of the inverse: that of the reversed matrix, reversed back, is an upper factor of P."""
    upper = tocha.linalg.cholesky(precision.flip(-2, -1)).flip(-2, -1)
    identity = tocha.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve_lower(upper.mT, identity)


def inverse_of(factor: Any) -> Any:
    """(L Lᵀ)⁻¹ of Cholesky factors."""
    identity = tocha.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    inverse = solve_lower(factor, identity)
    return inverse.mT @ inverse


def add_identity(matrix: Any) -> Any:
    return matrix + tocha.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


class LowRank:
    """W Wᵀ + diag(D) through the small matrix C = I + Wᵀ D⁻¹ W (Woodbury's identity, the determinant lemma)."""

    def __init__(self, factor: Any, diag: Any) -> None:
        self.factor, self.diag = factor, diag
        self.scaled = factor.mT / diag.unsqueeze(-2)  # Wᵀ D⁻¹
        self.capacitance_tril = tocha.linalg.cholesky(add_identity(self.scaled @ factor))

    def half_log_det(self) -> Any:
        return half_log_det(self.capacitance_tril) + 0.5 * self.diag.log().sum(-1)

    def mahalanobis(self, x: Any) -> Any:
        return (x**2 / self.diag).sum(-1) - mahalanobis(self.capacitance_tril, times_vector(self.scaled, x))

    def trace_of_ratio(self, factor: Any) -> Any:
        """The trace of (W Wᵀ + D)⁻¹ F Fᵀ."""
        whitened = factor * self.diag.rsqrt().unsqueeze(-1)
        return squares(whitened) - squares(solve_lower(self.capacitance_tril, self.scaled @ factor))
