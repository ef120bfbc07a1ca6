"""The relaxed Bernoulli (binary concrete) distribution and its logit."""

from __future__ import annotations

from typing import Any

from . import constraints
from ._odds import ProbsOrLogits
from .distribution import Distribution, Size
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs, softplus, uniform

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ProbsOrLogits):
    """Logits of RelaxedBernoulli numbers (Maddison et al., 2017, arXiv:1611.00712)."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _parameters, _constants = ("probs", "logits"), ("temperature",)

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        self._take(probs, logits)
        Distribution.__init__(self, self._param.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Any:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(uniform(shape, probs))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        logits, value = broadcast_all(self.logits, value)
        off = logits - value * self.temperature
        return self.temperature.log() + off - 2 * softplus(off)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers of (0, 1) that near zeros and ones as ``temperature`` falls, differentiable in their parameters."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(RelaxedBernoulli, _instance))

    @property
    def temperature(self) -> Any:
        """How far from 0 and 1 the samples are: towards 0 they become one or the other."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """The log-odds of the events."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """The probabilities of the events."""
        return self.base_dist.probs
