"""The Weibull distribution."""

from __future__ import annotations

from typing import Any

import tocha

from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """Lifetimes of mean order ``scale`` whose hazard grows as the power ``concentration`` - 1."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(tocha.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._maps(), validate_args=validate_args)

    def _maps(self) -> list:
        return [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Weibull, _instance)
        new.scale, new.concentration = self.scale.expand(batch_shape), self.concentration.expand(batch_shape)
        new.base_dist, new.transforms = self.base_dist.expand(batch_shape), new._maps()
        return self._finish_expanded(new, batch_shape)

    @property
    def concentration_reciprocal(self) -> Any:
        """One over the concentration."""
        return self.concentration.reciprocal()

    @property
    def mean(self) -> Any:
        return self.scale * tocha.lgamma(1 + self.concentration_reciprocal).exp()

    @property
    def mode(self) -> Any:
        k = self.concentration
        return self.scale * ((k - 1) / k) ** k.reciprocal()

    @property
    def variance(self) -> Any:
        r = self.concentration_reciprocal
        return self.scale**2 * (tocha.lgamma(1 + 2 * r).exp() - (2 * tocha.lgamma(1 + r)).exp())

    def entropy(self) -> Any:
        r = self.concentration_reciprocal
        return euler_constant * (1 - r) + (self.scale * r).log() + 1
