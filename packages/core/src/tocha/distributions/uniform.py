"""The uniform distribution."""

from __future__ import annotations

from typing import Any

from . import constraints
from .distribution import Distribution, Size
from .utils import uniform

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Numbers of [low, high), all as likely."""

    has_rsample = True
    _parameters = ("low", "high")

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self._broadcast(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> dict:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    def _width(self) -> Any:
        return self.high - self.low

    @property
    def mean(self) -> Any:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Any:
        return float("nan") * self.high

    @property
    def stddev(self) -> Any:
        return self._width / 12**0.5

    @property
    def variance(self) -> Any:
        return self._width**2 / 12

    def rsample(self, sample_shape: Any = Size()) -> Any:
        return self.low + uniform(self._extended_shape(sample_shape), self.low) * self._width

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        inside = ((value >= self.low) & (value < self.high)).type_as(self.low)
        return inside.log() - self._width.log()

    def cdf(self, value: Any) -> Any:
        self._validate(value)
        return ((value - self.low) / self._width).clamp(0, 1)

    def icdf(self, value: Any) -> Any:
        return value * self._width + self.low

    def entropy(self) -> Any:
        return self._width.log()
