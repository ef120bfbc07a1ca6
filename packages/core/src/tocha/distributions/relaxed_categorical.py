"""The relaxed one-hot categorical (concrete) distribution and its logarithm."""

from __future__ import annotations

import math
from typing import Any

from . import constraints
from ._odds import FromParts
from .categorical import Categorical
from .distribution import Size
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs, uniform

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(FromParts):
    """Logarithms of RelaxedOneHotCategorical vectors (Maddison et al., 2017, arXiv:1611.00712)."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        parts = self._categorical
        super().__init__(parts.batch_shape, parts.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(ExpRelaxedCategorical, _instance)
        new.temperature, new._categorical = self.temperature, self._categorical.expand(batch_shape)
        return self._finish_expanded(new, batch_shape)

    def rsample(self, sample_shape: Any = Size()) -> Any:
        u = clamp_probs(uniform(self._extended_shape(sample_shape), self.logits))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        k = self._event_shape[0]
        logits, value = broadcast_all(self.logits, value)
        scores = logits - value * self.temperature
        norm = math.lgamma(k) + (k - 1) * self.temperature.log()
        return (scores - scores.logsumexp(-1, keepdim=True)).sum(-1) + norm


class RelaxedOneHotCategorical(TransformedDistribution):
    """Probability vectors that near one-hot ones as ``temperature`` falls, differentiable in their parameters."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(RelaxedOneHotCategorical, _instance))

    @property
    def temperature(self) -> Any:
        """How far from 0 and 1 the samples are: towards 0 they become one or the other."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """The unnormalised log-probabilities of the events."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """The probabilities of the events."""
        return self.base_dist.probs
