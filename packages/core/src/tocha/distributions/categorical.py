"""The categorical distribution."""

from __future__ import annotations

import math
from typing import Any

import tocha

from . import constraints
from ._odds import ProbsOrLogits, check_one
from .distribution import Distribution, Size

__all__ = ["Categorical"]


class Categorical(ProbsOrLogits):
    """Indices 0 … K - 1 by the probabilities ``probs`` or log probabilities ``logits`` (…, K), normalised here.

    Example:
        >>> import tocha
        >>> from tocha.distributions import Categorical
        >>> Categorical(tocha.tensor([1.0, 3.0])).probs
        tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _binary = False
    _parameters = ("probs", "logits")

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        check_one(probs, logits)
        name, given = ("probs", probs) if probs is not None else ("logits", logits)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
        Distribution.__init__(self, self._param.shape[:-1], validate_args=validate_args)

    @property
    def _num_events(self) -> int:
        return self._param.shape[-1]

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Any:
        return self._full(math.nan, self.probs)

    @property
    def mode(self) -> Any:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Any:
        return self._full(math.nan, self.probs)

    def sample(self, sample_shape: Any = Size()) -> Any:
        sample_shape = Size(sample_shape)
        rows = self.probs.detach().reshape(-1, self._num_events)
        drawn = tocha.multinomial(rows, sample_shape.numel(), True)
        return drawn.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        index, log_probs = tocha.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_probs.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        logits = self.logits.clamp(min=tocha.finfo(self.logits.dtype).min)  # 0 * log 0
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._enumerated(tocha.arange(self._num_events, device=self._param.device), expand)
