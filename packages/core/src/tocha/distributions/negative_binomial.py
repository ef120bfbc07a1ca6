"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

import tocha

from . import constraints
from ._odds import ProbsOrLogits
from .distribution import Distribution, Size
from .gamma import Gamma
from .utils import lazy_property, softplus

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits):
    """Successes of chance ``probs`` before ``total_count`` failures (which need not be whole)."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _parameters = ("total_count", "probs", "logits")

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        (total_count,) = self._take(probs, logits, total_count)
        self.total_count = total_count.type_as(self._param)
        Distribution.__init__(self, self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Any:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Any:
        return self.mean / tocha.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)  # a count of 0 is allowed

    def sample(self, sample_shape: Any = Size()) -> Any:
        with tocha.no_grad():
            return tocha.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        n = self.total_count
        chances = -n * softplus(self.logits) - value * softplus(-self.logits)
        ways = tocha.lgamma(n + value) - tocha.lgamma(1.0 + value) - tocha.lgamma(n)
        return chances + ways.masked_fill(n + value == 0, 0.0)  # no trials: one way, though lgamma(0) is infinite
