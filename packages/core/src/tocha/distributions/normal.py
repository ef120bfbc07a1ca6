"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

import tocha

from . import constraints
from .distribution import Size
from .exp_family import ExponentialFamily
from .utils import standard_normal

__all__ = ["Normal"]


class Normal(ExponentialFamily):
    """Normal numbers of mean ``loc`` and standard deviation ``scale``.

    Example:
        >>> import tocha
        >>> from tocha.distributions import Normal
        >>> Normal(0.0, 1.0).log_prob(tocha.tensor(0.0))
        tensor(-0.9189)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._broadcast(validate_args, loc=loc, scale=scale)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def stddev(self) -> Any:
        return self.scale

    @property
    def variance(self) -> Any:
        return self.scale**2

    def sample(self, sample_shape: Any = Size()) -> Any:
        shape = self._extended_shape(sample_shape)
        with tocha.no_grad():
            return tocha.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = Size()) -> Any:
        return self.loc + standard_normal(self._extended_shape(sample_shape), self.loc) * self.scale

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        return -((value - self.loc) ** 2) / (2 * self.variance) - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def cdf(self, value: Any) -> Any:
        self._validate(value)
        return 0.5 * (1 + tocha.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value: Any) -> Any:
        return self.loc + self.scale * tocha.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Any:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self) -> tuple:
        return self.loc / self.scale**2, -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return -0.25 * x**2 / y + 0.5 * tocha.log(-math.pi / y)
