"""The categorical distribution over one-hot vectors."""

from __future__ import annotations

from typing import Any

import tocha

from . import constraints
from ._odds import FromParts
from .categorical import Categorical
from .distribution import Size

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(FromParts):
    """One-hot vectors of the size of the last dimension of ``probs`` or ``logits``."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        parts = self._categorical
        super().__init__(parts.batch_shape, parts.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(OneHotCategorical, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return self._finish_expanded(new, batch_shape)

    def _one_hot(self, index: Any) -> Any:
        return (index.unsqueeze(-1) == tocha.arange(self._event_shape[0], device=index.device)).to(self.probs)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        return self._one_hot(self._categorical.mode)

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Any:
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Any:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        n, param = self._event_shape[0], self._param
        values = tocha.eye(n, dtype=param.dtype, device=param.device)
        values = values.view((n,) + (1,) * len(self._batch_shape) + (n,))
        return values.expand((n,) + self._batch_shape + (n,)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot vectors whose gradient is that of the probabilities (Bengio et al., 2013, arXiv:1308.3432)."""

    has_rsample = True

    def rsample(self, sample_shape: Any = Size()) -> Any:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
