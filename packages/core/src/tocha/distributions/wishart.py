"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from typing import Any

import tocha

from . import constraints
from ._matrices import half_log_det, inverse_of, precision_to_scale_tril
from .chi2 import Chi2
from .distribution import Size
from .exp_family import ExponentialFamily
from .utils import is_number, lazy_property

__all__ = ["Wishart"]


def _multidigamma(x: Any, p: int) -> Any:
    """The derivative of ``mvlgamma(x, p)``."""
    return tocha.digamma(x.unsqueeze(-1) - tocha.arange(p, dtype=x.dtype, device=x.device) / 2).sum(-1)


class Wishart(ExponentialFamily):
    """Sums of ``df`` squares x xᵀ of normal vectors of a covariance: positive definite matrices (…, N, N).

    Args:
        df: degrees of freedom, above N - 1, whole or not.
        covariance_matrix, precision_matrix, scale_tril: exactly one of the matrix, its inverse, its Cholesky factor.

    Raises:
        AssertionError: none or several of the matrices are given.
        ValueError: ``df`` is too small or a matrix has too few dimensions.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = ("df", "covariance_matrix", "precision_matrix", "scale_tril")

    @property
    def arg_constraints(self) -> dict:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        matrices = {name: m for name, m in given.items() if m is not None}
        if len(matrices) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = matrices.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        size = matrix.shape[-1]
        if is_number(df):
            batch = Size(matrix.shape[:-2])
            self.df = tocha.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch = tocha.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch)
        if (self.df <= size - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        self.__dict__[name] = matrix.expand(batch + matrix.shape[-2:])
        if (self.df < size).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = tocha.linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(precision_matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._unbroadcasted_scale_tril = new._whole(self._unbroadcasted_scale_tril)
        return new

    def _whole(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower Cholesky factor of the covariance of the normal distribution behind it, (…, n, n)."""
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance of the normal distribution behind it, (…, n, n)."""
        return self._whole(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance of the normal distribution behind it, (…, n, n)."""
        return self._whole(inverse_of(self._unbroadcasted_scale_tril))

    @property
    def _df(self) -> Any:
        """The degrees of freedom with two dimensions for the matrix."""
        return self.df.expand(self._batch_shape).reshape(self._batch_shape + (1, 1))

    @property
    def mean(self) -> Any:
        return self._df * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self._df - self._event_shape[-1] - 1
        return factor.masked_fill(factor <= 0, math.nan) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        v = self.covariance_matrix
        diag = v.diagonal(dim1=-2, dim2=-1)
        return self._df * (v**2 + diag.unsqueeze(-1) * diag.unsqueeze(-2))

    def _draw(self, sample_shape: Any) -> Any:
        """By Bartlett's decomposition: chi numbers on the diagonal, normal ones below."""
        p, factor = self._event_shape[-1], self._unbroadcasted_scale_tril
        df = self.df.expand(self._batch_shape).unsqueeze(-1) - tocha.arange(p, dtype=factor.dtype, device=factor.device)
        chi = Chi2(df).rsample(sample_shape).sqrt().clamp(min=tocha.finfo(factor.dtype).eps)
        shape = Size(sample_shape) + self._batch_shape
        below = tocha.randn(shape + (p * (p - 1) // 2,), dtype=factor.dtype, device=factor.device)
        rows, columns = tocha.tril_indices(p, p, -1, device=factor.device)
        noise = tocha.zeros(shape + (p, p), dtype=factor.dtype, device=factor.device)
        noise[..., rows, columns] = below
        whole = factor @ (noise + chi.diag_embed())
        return whole @ whole.mT

    def _good(self, sample: Any) -> Any:
        """Which samples have a Cholesky factor: somewhere in the batch, and everywhere in it."""
        good = self.support.check(sample)
        if not self._batch_shape:
            return good, good
        flat = good.flatten(good.dim() - len(self._batch_shape))
        return flat.any(-1), flat.all(-1)

    def rsample(self, sample_shape: Any = Size(), max_try_correction: int | None = None) -> Any:
        """Matrices; singular ones are drawn again up to ``max_try_correction`` times (10)."""
        sample = self._draw(sample_shape)
        again, _ = self._good(sample)  # PyTorch draws the good ones a second time: its streams are followed here
        for attempt in range(10 if max_try_correction is None else max_try_correction):
            if not again.any():
                break
            if attempt == 1:
                warnings.warn("Singular sample detected.", stacklevel=2)
            fresh = self._draw((int(again.sum()),))
            sample[again] = fresh
            again = again.clone()  # the gradient still needs the mask as it was
            again[again.clone()] = ~self._good(fresh)[1]
        return sample

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        df, p, factor = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = tocha.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        norm = df * (p * math.log(2) / 2 + half_log_det(factor)) + tocha.mvlgamma(df / 2, p=p)
        return (df - p - 1) / 2 * tocha.linalg.slogdet(value).logabsdet - trace / 2 - norm

    def entropy(self) -> Any:
        df, p = self.df, self._event_shape[-1]
        log_det = p * math.log(2) / 2 + half_log_det(self._unbroadcasted_scale_tril)
        return (
            (p + 1) * log_det + tocha.mvlgamma(df / 2, p=p) - (df - p - 1) / 2 * _multidigamma(df / 2, p) + df * p / 2
        )

    @property
    def _natural_params(self) -> tuple:
        p = self._event_shape[-1]
        return -self.precision_matrix / 2, (self.df - p - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (-tocha.linalg.slogdet(-2 * x).logabsdet + math.log(2) * p) + tocha.mvlgamma(half, p=p)
