"""The multivariate normal distribution whose covariance is of low rank but for its diagonal."""

from __future__ import annotations

import math
from typing import Any

import tocha

from . import constraints
from ._matrices import LowRank, add_identity, solve_lower, times_vector
from .distribution import Distribution, Size
from .utils import lazy_property, standard_normal

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of mean ``loc`` (…, N) and covariance cov_factor cov_factorᵀ + diag(cov_diag).

    Args:
        cov_factor: (…, N, rank); no N x N matrix is factorised or inverted.
        cov_diag: (…, N), positive.

    Raises:
        ValueError: the shapes do not fit.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _parameters, _constants = ("loc", "cov_factor", "cov_diag"), ("_low_rank",)

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            batch = tocha.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = loc.expand(batch + event), cov_diag.expand(batch + event)
        self.cov_factor = cov_factor.expand(batch + cov_factor.shape[-2:])
        self._low_rank = LowRank(cov_factor, cov_diag)
        super().__init__(batch, event, validate_args=validate_args)

    @property
    def _capacitance_tril(self) -> Any:
        return self._low_rank.capacitance_tril

    def _whole(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        """The diagonal of the covariance, (…, n)."""
        return ((self._low_rank.factor**2).sum(-1) + self._low_rank.diag).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower Cholesky factor of the covariance, (…, n, n)."""
        root = self._low_rank.diag.sqrt().unsqueeze(-1)
        scaled = self._low_rank.factor / root  # I + scaled scaledᵀ is well conditioned
        return self._whole(root * tocha.linalg.cholesky(add_identity(scaled @ scaled.mT)))

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance, (…, n, n)."""
        low = self._low_rank
        return self._whole(low.factor @ low.factor.mT + low.diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance, (…, n, n)."""
        low = self._low_rank
        part = solve_lower(low.capacitance_tril, low.scaled)
        return self._whole(low.diag.reciprocal().diag_embed() - part.mT @ part)

    def rsample(self, sample_shape: Any = Size()) -> Any:
        shape, low = self._extended_shape(sample_shape), self._low_rank
        shared = standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc)
        own = standard_normal(shape, self.loc)
        return self.loc + times_vector(low.factor, shared) + low.diag.sqrt() * own

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        distance = self._low_rank.mahalanobis(value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._low_rank.half_log_det()

    def entropy(self) -> Any:
        size = self._event_shape[0]
        result = 0.5 * size * (1 + math.log(2 * math.pi)) + self._low_rank.half_log_det()
        return result.expand(self._batch_shape)
