"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

import tocha

from . import constraints
from .categorical import Categorical
from .distribution import Distribution, Size

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """One of K components, drawn by ``mixture_distribution``; ``component_distribution`` has them in its last batch
    dimension.

    Raises:
        ValueError: the arguments are of other types, or their batches do not fit.
    """

    arg_constraints: dict = {}
    has_rsample = False

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        mixture_batch, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(mixture_batch), reversed(batch)):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture_batch}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch})"
                )
        count, components = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if count != components:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` "
                f"({components})"
            )
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        components = self._component_distribution.batch_shape[-1:]
        new._component_distribution = self._component_distribution.expand(Size(batch_shape) + components)
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        return self._finish_expanded(new, batch_shape)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """The distribution of the component's index."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The components, along the last dimension of its batch."""
        return self._component_distribution

    @property
    def _component_dim(self) -> int:
        return -1 - len(self._event_shape)

    def _weights(self) -> Any:
        """Probabilities of the components, with the dimensions of the event behind them."""
        probs = self._mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * len(self._event_shape))

    @property
    def mean(self) -> Any:
        return (self._weights() * self._component_distribution.mean).sum(self._component_dim)

    @property
    def variance(self) -> Any:
        """By the law of total variance."""
        inner = self._component_distribution
        off = inner.mean - self.mean.unsqueeze(self._component_dim)
        return (self._weights() * (inner.variance + off**2)).sum(self._component_dim)

    def cdf(self, x: Any) -> Any:
        inner = self._component_distribution.cdf(x.unsqueeze(self._component_dim))
        return (inner * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Any) -> Any:
        self._validate(x)
        inner = self._component_distribution.log_prob(x.unsqueeze(self._component_dim))
        return (inner + tocha.log_softmax(self._mixture_distribution.logits, -1)).logsumexp(-1)

    def sample(self, sample_shape: Any = Size()) -> Any:
        events = len(self._event_shape)
        with tocha.no_grad():
            index = self._mixture_distribution.sample(sample_shape)
            values = self._component_distribution.sample(sample_shape)
            index = index.reshape(index.shape + (1,) * (events + 1)).repeat(
                (1,) * (index.dim() + 1) + tuple(self._event_shape)
            )
            dim = len(Size(sample_shape)) + len(self._batch_shape)
            return values.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
