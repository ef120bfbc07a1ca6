"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

import tocha

from .._ops.gamma_sampling import _sample_dirichlet
from . import constraints
from .distribution import Size
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Probability vectors of the sizes in the last dimension of ``concentration``."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _parameters = ("concentration",)

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def _total(self) -> Any:
        return self.concentration.sum(-1, True)

    @property
    def mean(self) -> Any:
        return self.concentration / self._total

    @property
    def mode(self) -> Any:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        # all below 1: the density has no single peak, and PyTorch names the first corner (argmax of NaN)
        flat = (self.concentration < 1).all(-1, keepdim=True)
        corner = tocha.zeros_like(mode).scatter(-1, mode.argmax(-1, True), 1.0)
        return tocha.where(flat, corner, mode)

    @property
    def variance(self) -> Any:
        total = self._total
        return self.concentration * (total - self.concentration) / (total**2 * (total + 1))

    def rsample(self, sample_shape: Any = Size()) -> Any:
        return _sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        a = self.concentration
        return tocha.xlogy(a - 1, value).sum(-1) + tocha.lgamma(a.sum(-1)) - tocha.lgamma(a).sum(-1)

    def entropy(self) -> Any:
        a, total, k = self.concentration, self.concentration.sum(-1), self.concentration.shape[-1]
        return (
            tocha.lgamma(a).sum(-1) - tocha.lgamma(total) - (k - total) * tocha.digamma(total)
            - ((a - 1) * tocha.digamma(a)).sum(-1)
        )  # fmt: skip

    @property
    def _natural_params(self) -> tuple:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:
        return x.lgamma().sum(-1) - tocha.lgamma(x.sum(-1))
