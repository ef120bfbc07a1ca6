"""The Bernoulli distribution."""

from __future__ import annotations

from typing import Any

import tocha

from . import constraints
from ._odds import ProbsOrLogits
from .distribution import Distribution, Size
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Bernoulli"]


def cross_entropy(logits: Any, value: Any) -> Any:
    """Minus the log probability of ``value`` (or of a trial of chance ``value``) under ``logits``."""
    from ..nn.functional import binary_cross_entropy_with_logits

    return binary_cross_entropy_with_logits(logits, value, reduction="none")


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """Ones with chance ``probs``, or log odds ``logits``, else zeros."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _parameters = ("probs", "logits")

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._take(probs, logits)
        Distribution.__init__(self, self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        ones = (self.probs >= 0.5).to(self.probs)
        return ones.masked_fill(self.probs == 0.5, float("nan"))

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Any:
        with tocha.no_grad():
            return tocha.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        return -cross_entropy(*broadcast_all(self.logits, value))

    def entropy(self) -> Any:
        return cross_entropy(self.logits, self.probs)

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._enumerated(tocha.arange(2, dtype=self._param.dtype, device=self._param.device), expand)

    @property
    def _natural_params(self) -> tuple:
        return (tocha.logit(self.probs),)

    def _log_normalizer(self, x: Any) -> Any:
        return x.exp().log1p()
