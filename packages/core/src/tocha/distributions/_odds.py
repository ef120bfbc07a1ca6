"""Distributions that take either ``probs`` or ``logits`` and compute the other on first use."""

from __future__ import annotations

from typing import Any

from .distribution import Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


class ProbsOrLogits(Distribution):
    """``probs`` and ``logits`` of Bernoulli trials, elementwise."""

    _binary = True

    def _take(self, probs: Any, logits: Any, *others: Any) -> tuple:
        """Keep the one that is given, broadcast with ``others``, which are returned.

        Raises:
            ValueError: both or neither are given.
        """
        check_one(probs, logits)
        name, value = ("probs", probs) if probs is not None else ("logits", logits)
        value, *others = broadcast_all(value, *others)  # type: ignore[assignment]
        self.__dict__[name] = value
        return tuple(others)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits, self._binary)

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs, self._binary)

    @property
    def _param(self) -> Any:
        kept = self.__dict__
        return kept["probs"] if "probs" in kept else kept["logits"]

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._param.shape

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)


class FromParts(Distribution):
    """``probs`` and ``logits`` of the Categorical in ``_categorical``."""

    _categorical: Any

    @property
    def probs(self) -> Any:
        """Probabilities of the events, normalised."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """Logarithms of the probabilities of the events, normalised."""
        return self._categorical.logits

    @property
    def _param(self) -> Any:
        return self._categorical._param

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._categorical.param_shape

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._categorical._new(*args, **kwargs)


def check_one(probs: Any, logits: Any) -> None:
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
