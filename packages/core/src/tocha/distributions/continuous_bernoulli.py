"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import tocha

from . import constraints
from ._odds import ProbsOrLogits
from .bernoulli import cross_entropy
from .distribution import Distribution, Size
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs, uniform

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Numbers of [0, 1] of density proportional to probs**x (1 - probs)**(1 - x).

    Loaiza-Ganem and Cunningham, 2019 (arXiv:1907.06845). Between ``lims`` of ``probs``, where the closed forms are 0/0,
    Taylor series about 1/2 take their place.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters, _constants = ("probs", "logits"), ("_lims",)

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._take(probs, logits)
        if probs is not None:
            if validate_args is not None and not constraints.unit_interval.check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        Distribution.__init__(self, self._param.shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Any:
        """The parameter, inside of (0, 1); computed from the logits where those were given."""
        return clamp_probs(logits_to_probs(self.logits, True))

    def _outside_unstable_region(self) -> Any:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Any:
        return tocha.where(self._outside_unstable_region(), self.probs, self._lims[0])

    def _or_taylor(self, closed: Any, taylor: Any) -> Any:
        return tocha.where(self._outside_unstable_region(), closed, taylor)

    @staticmethod
    def _log_odds(p: Any) -> Any:
        return p.log() - (-p).log1p()

    def _cont_bern_log_norm(self) -> Any:
        """The logarithm of 2 artanh(1 - 2 p) / (1 - 2 p), by which the density is normalised."""
        p, x = self._cut_probs(), (self.probs - 0.5) ** 2
        closed = self._log_odds(p).abs().log() - (1 - 2 * p).abs().log()
        return self._or_taylor(closed, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self) -> Any:
        p, x = self._cut_probs(), self.probs - 0.5
        return self._or_taylor(p / (2 * p - 1) - 1 / self._log_odds(p), 0.5 + (1 / 3 + 16 / 45 * x**2) * x)

    @property
    def variance(self) -> Any:
        p, x = self._cut_probs(), (self.probs - 0.5) ** 2
        closed = p * (p - 1) / (1 - 2 * p) ** 2 + 1 / self._log_odds(p) ** 2
        return self._or_taylor(closed, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def sample(self, sample_shape: Any = Size()) -> Any:
        with tocha.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Any:
        return self.icdf(uniform(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        return self._cont_bern_log_norm() - cross_entropy(*broadcast_all(self.logits, value))

    def cdf(self, value: Any) -> Any:
        self._validate(value)
        p = self._cut_probs()
        closed = (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
        inside = self._or_taylor(closed, value)
        return tocha.where(value <= 0, 0.0, tocha.where(value >= 1, 1.0, inside))

    def icdf(self, value: Any) -> Any:
        p = self._cut_probs()
        closed = ((-p + value * (2 * p - 1)).log1p() - (-p).log1p()) / self._log_odds(p)
        return self._or_taylor(closed, value)

    def entropy(self) -> Any:
        rest = (-self.probs).log1p()
        return self.mean * (rest - self.probs.log()) - self._cont_bern_log_norm() - rest

    @property
    def _natural_params(self) -> tuple:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:
        low, high = self._lims
        stable = (x <= low - 0.5) | (x > high - 0.5)
        cut = tocha.where(stable, x, low - 0.5)
        closed = cut.expm1().abs().log() - cut.abs().log()
        return tocha.where(stable, closed, 0.5 * x + x**2 / 24 - x**4 / 2880)
