"""The gamma distribution."""

from __future__ import annotations

from typing import Any

import tocha

from .._ops.gamma_sampling import _standard_gamma
from . import constraints
from .distribution import Size
from .exp_family import ExponentialFamily

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Gamma numbers of shape ``concentration`` and scale 1 / ``rate``."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = ("concentration", "rate")

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self._broadcast(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        return self.concentration / self.rate**2

    def rsample(self, sample_shape: Any = Size()) -> Any:
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(
            min=tocha.finfo(value.dtype).tiny
        )  # a zero would have no logarithm; gradients as they are
        return value

    def log_prob(self, value: Any) -> Any:
        value = tocha.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._validate(value)
        shape, rate = self.concentration, self.rate
        return tocha.xlogy(shape, rate) + tocha.xlogy(shape - 1, value) - rate * value - tocha.lgamma(shape)

    def cdf(self, value: Any) -> Any:
        self._validate(value)
        return tocha.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Any:
        shape = self.concentration
        return shape - self.rate.log() + tocha.lgamma(shape) + (1 - shape) * tocha.digamma(shape)

    @property
    def _natural_params(self) -> tuple:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return tocha.lgamma(x + 1) + (x + 1) * tocha.log(-y.reciprocal())
