"""Regions of square matrices."""

from __future__ import annotations

from typing import Any

import tocha

from ._region import Constraint


class _Matrix(Constraint):
    event_dim = 2


class _LowerTriangular(_Matrix):
    def check(self, value: Any) -> Any:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Any) -> Any:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value: Any) -> Any:
        slack = 10 * tocha.finfo(value.dtype).eps * value.shape[-1]
        lengths = tocha.linalg.vector_norm(value.detach(), dim=-1)
        return super().check(value) & ((lengths - 1).abs() <= slack).all(-1)


class _Square(_Matrix):
    def check(self, value: Any) -> Any:
        return tocha.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=tocha.bool, device=value.device)


class _Symmetric(_Square):
    def check(self, value: Any) -> Any:
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return tocha.isclose(value, value.mT, atol=1e-6).flatten(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        return (tocha.linalg.eigvalsh(value) >= 0).all(-1) if symmetric.all() else symmetric


class _PositiveDefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        return tocha.linalg.cholesky_ex(value).info == 0 if symmetric.all() else symmetric
