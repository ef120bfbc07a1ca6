"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import Any

import tocha

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Numbers of [0, 1] much like beta numbers, of distribution function 1 - (1 -
    x**concentration1)**concentration0."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        a, b = self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(tocha.zeros_like(b), tocha.ones_like(b), validate_args=validate_args)
        maps = [PowerTransform(b.reciprocal()), AffineTransform(1.0, -1.0), PowerTransform(a.reciprocal())]
        super().__init__(base, maps, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, new)

    def _moment(self, n: int) -> Any:
        """The mean of x**n: b B(1 + n / a, b)."""
        b, c = self.concentration0, 1 + n / self.concentration1
        return b * (c.lgamma() + b.lgamma() - (c + b).lgamma()).exp()

    @property
    def mean(self) -> Any:
        return self._moment(1)

    @property
    def mode(self) -> Any:
        """Where the density is highest, ((a - 1) / (a b - 1)) ** (1 / a); NaN for concentrations below 1 (two
        peaks)."""
        a, b = self.concentration1, self.concentration0
        return ((a - 1) / (a * b - 1)).pow(1 / a).masked_fill((a < 1) | (b < 1), math.nan)

    @property
    def variance(self) -> Any:
        return self._moment(2) - self.mean**2

    def entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        harmonic = tocha.digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
