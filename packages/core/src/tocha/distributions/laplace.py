"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any

import tocha

from . import constraints
from .distribution import Distribution, Size

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Two-sided exponential numbers around ``loc`` of width ``scale``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
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
    def variance(self) -> Any:
        return 2 * self.scale**2

    @property
    def stddev(self) -> Any:
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape: Any = Size()) -> Any:
        shape, eps = self._extended_shape(sample_shape), tocha.finfo(self.loc.dtype).eps
        u = tocha.empty(shape, dtype=self.loc.dtype, device=self.loc.device).uniform_(eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Any) -> Any:
        self._validate(value)
        off = value - self.loc
        return 0.5 - 0.5 * off.sign() * (-off.abs() / self.scale).expm1()

    def icdf(self, value: Any) -> Any:
        off = value - 0.5
        return self.loc - self.scale * off.sign() * (-2 * off.abs()).log1p()

    def entropy(self) -> Any:
        return 1 + (2 * self.scale).log()
