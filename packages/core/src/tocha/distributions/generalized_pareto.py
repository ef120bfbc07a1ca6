"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

import tocha

from . import constraints
from .distribution import Distribution, Size
from .utils import uniform

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Excesses above ``loc``: tails of power 1 / ``concentration`` (0: exponential; below 0: bounded)."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _parameters = ("loc", "scale", "concentration")

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._broadcast(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, tocha.where(self.concentration < 0, end, math.inf))

    def _shape(self) -> tuple:
        """Where the concentration is 0 (exponential), and the concentration with ones there."""
        zero = tocha.isclose(self.concentration, tocha.zeros_like(self.concentration))
        return zero, self.concentration.masked_fill(zero, 1.0)

    def _z(self, x: Any) -> Any:
        return (x - self.loc) / self.scale

    @property
    def mean(self) -> Any:
        valid = self.concentration < 1
        mean = self.loc + self.scale / (1 - self.concentration.masked_fill(~valid, 0.5))
        return mean.masked_fill(~valid, math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        valid = self.concentration < 0.5
        c = self.concentration.masked_fill(~valid, 0.25)
        return (self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c))).masked_fill(~valid, math.nan)

    def rsample(self, sample_shape: Any = Size()) -> Any:
        return self.icdf(uniform(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        (zero, c), z = self._shape(), self._z(value)
        power = 1 / c + tocha.ones_like(z)
        decay = tocha.where(power == 0, power, power * tocha.log1p(c * z))
        return -self.scale.log() - tocha.where(zero, z, decay)

    def log_survival_function(self, value: Any) -> Any:
        """The logarithm of the probability of more than ``value``."""
        self._validate(value)
        (zero, c), z = self._shape(), self._z(value)
        return tocha.where(zero, -z, -tocha.log1p(c * z) / c)

    def log_cdf(self, value: Any) -> Any:
        """The logarithm of the probability of at most ``value``."""
        return tocha.log1p(-self.log_survival_function(value).exp())

    def cdf(self, value: Any) -> Any:
        return self.log_cdf(value).exp()

    def icdf(self, value: Any) -> Any:
        (zero, c), log_rest = self._shape(), tocha.log1p(-value)
        power = self.loc + self.scale / c * tocha.expm1(-c * log_rest)
        return tocha.where(zero, self.loc - self.scale * log_rest, power)

    def entropy(self) -> Any:
        return self.scale.log() + self.concentration + 1
