"""Exponential families: the entropy by a gradient of the log normalizer."""

from __future__ import annotations

from typing import Any

import tocha

from .distribution import Distribution
from .utils import sum_rightmost


class ExponentialFamily(Distribution):
    """A distribution of density exp(<t(x), theta> - F(theta) + k(x)).

    Subclasses give theta (``_natural_params``), F (``_log_normalizer``) and the mean of k (``_mean_carrier_measure``).
    Nielsen and Nock, Entropies and Cross-entropies of Exponential Families, 2010.
    """

    @property
    def _natural_params(self) -> tuple:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def _bregman(self) -> tuple:
        """Natural parameters as leaves, the log normalizer, and its gradients: the means of the statistics."""
        params = [p.detach().requires_grad_() for p in self._natural_params]
        with tocha.enable_grad():
            normalizer = self._log_normalizer(*params)
            return params, normalizer, tocha.autograd.grad(normalizer.sum(), params, create_graph=True)

    def entropy(self) -> Any:
        params, normalizer, means = self._bregman()
        result = normalizer - self._mean_carrier_measure
        for param, mean in zip(params, means):
            result = result - sum_rightmost(param * mean, len(self._event_shape))
        return result
