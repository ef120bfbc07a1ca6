"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any

import tocha

from . import constraints
from ._odds import FromParts
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Size
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(FromParts):
    """How often each of K events happens in ``total_count`` trials (an int) of ``probs`` or ``logits`` (…, K).

    Raises:
        NotImplementedError: ``total_count`` is not an int.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        parts = self._categorical
        super().__init__(parts.batch_shape, parts.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Multinomial, _instance)
        new.total_count, new._categorical = self.total_count, self._categorical.expand(batch_shape)
        return self._finish_expanded(new, batch_shape)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Any:
        sample_shape = Size(sample_shape)
        drawn = self._categorical.sample((self.total_count,) + tuple(sample_shape)).movedim(0, -1)
        counts = tocha.zeros(self._extended_shape(sample_shape), dtype=drawn.dtype, device=drawn.device)
        return counts.scatter_add_(-1, drawn, tocha.ones_like(drawn)).type_as(self.probs)

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)  # 0 * log 0
        ways = tocha.lgamma(value.sum(-1) + 1) - tocha.lgamma(value + 1).sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Any:
        """By the marginal distribution of each count, which is binomial."""
        count = Binomial(self.total_count, probs=self.probs)
        values = count.enumerate_support(expand=False)[1:]
        repeats = (count.log_prob(values).exp() * tocha.lgamma(values + 1)).sum([0, -1])
        return self.total_count * self._categorical.entropy() - math.lgamma(self.total_count + 1) + repeats
