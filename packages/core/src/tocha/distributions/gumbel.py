"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any

import tocha

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """Largest of many numbers: loc - scale * log(-log u) of uniform u."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info, ones = tocha.finfo(self.loc.dtype), tocha.ones_like(self.loc)
        base = Uniform(info.tiny * ones, (1 - info.eps) * ones, validate_args=validate_args)
        maps = [
            ExpTransform().inv,
            AffineTransform(0, -tocha.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(self.loc, -self.scale),
        ]
        super().__init__(base, maps, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Gumbel, _instance)
        new.loc, new.scale = self.loc.expand(batch_shape), self.scale.expand(batch_shape)
        return super().expand(batch_shape, new)

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()  # the change of variables would lose digits

    @property
    def mean(self) -> Any:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def stddev(self) -> Any:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Any:
        return self.stddev**2

    def entropy(self) -> Any:
        return self.scale.log() + (1 + euler_constant)
