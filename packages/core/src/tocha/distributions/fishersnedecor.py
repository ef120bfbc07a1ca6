"""The Fisher-Snedecor distribution."""

from __future__ import annotations

import math
from typing import Any

import tocha

from . import constraints
from .distribution import Distribution, Size
from .gamma import Gamma

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """Ratios of two chi-squared numbers of ``df1`` and ``df2`` degrees of freedom, each divided by those."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parameters = ("df1", "df2")

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self._broadcast(validate_args, df1=df1, df2=df2)

    @property
    def mean(self) -> Any:
        df2 = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Any:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Any:
        df1, df2 = self.df1, self.df2.masked_fill(self.df2 <= 4, math.nan)
        return 2 * df2**2 * (df1 + df2 - 2) / (df1 * (df2 - 2) ** 2 * (df2 - 4))

    def rsample(self, sample_shape: Any = Size()) -> Any:
        tiny = tocha.finfo(self.df1.dtype).tiny
        over, under = (Gamma(df * 0.5, df, validate_args=False).rsample(sample_shape) for df in (self.df1, self.df2))
        return (over / under.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        norm = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return norm + a * ratio.log() + (a - 1) * tocha.log(value) - (a + b) * tocha.log1p(ratio * value)
