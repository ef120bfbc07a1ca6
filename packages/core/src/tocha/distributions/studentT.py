"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

import tocha

from . import constraints
from .chi2 import Chi2
from .distribution import Distribution, Size
from .utils import standard_normal

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Numbers of Student's t with ``df`` degrees of freedom, moved to ``loc`` and stretched by ``scale``."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parameters = ("df", "loc", "scale")

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self._broadcast(validate_args, df=df, loc=loc, scale=scale)

    @property
    def mean(self) -> Any:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        df = self.df
        finite = self.scale**2 * df / (df - 2)
        return finite.masked_fill(df <= 2, math.inf).masked_fill(df <= 1, math.nan)

    def rsample(self, sample_shape: Any = Size()) -> Any:
        x = standard_normal(self._extended_shape(sample_shape), self.df)
        chi2 = Chi2(self.df, validate_args=False).rsample(sample_shape)
        return self.loc + self.scale * x * tocha.rsqrt(chi2 / self.df)

    def _log_norm(self) -> Any:
        """The logarithm of B(df / 2, 1 / 2) sqrt(df)."""
        half = 0.5 * self.df
        return 0.5 * self.df.log() + 0.5 * math.log(math.pi) + tocha.lgamma(half) - tocha.lgamma(half + 0.5)

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        y = (value - self.loc) / self.scale
        return -0.5 * (self.df + 1) * tocha.log1p(y**2 / self.df) - self.scale.log() - self._log_norm()

    def entropy(self) -> Any:
        half = 0.5 * self.df
        tail = (half + 0.5) * (tocha.digamma(half + 0.5) - tocha.digamma(half))
        return self.scale.log() + tail + self._log_norm()
