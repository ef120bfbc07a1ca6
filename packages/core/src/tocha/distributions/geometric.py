"""The geometric distribution."""

from __future__ import annotations

from typing import Any

import tocha

from . import constraints
from ._odds import ProbsOrLogits
from .bernoulli import cross_entropy
from .distribution import Distribution, Size
from .utils import broadcast_all

__all__ = ["Geometric"]


class Geometric(ProbsOrLogits):
    """Failures before the first success of chance ``probs``."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _parameters = ("probs", "logits")

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._take(probs, logits)
        Distribution.__init__(self, self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            value = self.probs
            raise ValueError(
                f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{self!r} to be positive but found invalid values:\n{value.detach()[~(value > 0)]}"
            )

    @property
    def mean(self) -> Any:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Any:
        return tocha.zeros_like(self.probs)

    @property
    def variance(self) -> Any:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = Size()) -> Any:
        shape, probs = self._extended_shape(sample_shape), self.probs
        with tocha.no_grad():
            u = tocha.empty(shape, dtype=probs.dtype, device=probs.device).uniform_(tocha.finfo(probs.dtype).tiny, 1)
            return (u.log() / (-probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        value, probs = broadcast_all(value, self.probs)
        sure = (probs == 1) & (value == 0)  # 0 * log 0
        return value * (-probs.masked_fill(sure, 0)).log1p() + self.probs.log()

    def entropy(self) -> Any:
        return cross_entropy(self.logits, self.probs) / self.probs
