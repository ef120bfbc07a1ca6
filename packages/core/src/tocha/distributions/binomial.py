"""The binomial distribution."""

from __future__ import annotations

from typing import Any

import tocha

from . import constraints
from ._odds import ProbsOrLogits
from .distribution import Distribution, Size

__all__ = ["Binomial"]


class Binomial(ProbsOrLogits):
    """Successes of ``total_count`` trials of chance ``probs``."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _parameters = ("total_count", "probs", "logits")

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        (total_count,) = self._take(probs, logits, total_count)
        self.total_count = total_count.type_as(self._param)
        Distribution.__init__(self, self._param.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Any:
        shape = self._extended_shape(sample_shape)
        with tocha.no_grad():
            return tocha.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        n, logits = self.total_count, self.logits
        # log(1 - p) = -max(logits, 0) - log1p(exp(-|logits|)); half of clamp's sum keeps the gradient 1/2 at 0
        positive_part = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2
        ways = tocha.lgamma(n + 1) - tocha.lgamma(value + 1) - tocha.lgamma(n - value + 1)
        return ways + value * logits - n * (positive_part + (-logits.abs()).exp().log1p())

    def _one_count(self, what: str) -> int:
        largest = int(self.total_count.max())
        if not self.total_count.min() == largest:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{what}`.")
        return largest

    def entropy(self) -> Any:
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        count, param = self._one_count("enumerate_support"), self._param
        return self._enumerated(tocha.arange(1 + count, dtype=param.dtype, device=param.device), expand)
