"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

import tocha

from . import constraints
from .distribution import Distribution, Size
from .utils import lazy_property

__all__ = ["VonMises"]


def _log_bessel(x: Any, order: int) -> Any:
    """The logarithm of the modified Bessel function of the first kind, of order 0 or 1, at x > 0."""
    scaled = tocha.special.i0e(x) if order == 0 else tocha.special.i1e(x)
    return x + scaled.log()


class VonMises(Distribution):
    """Angles of (-pi, pi] around ``loc``, in radians: normal-like, of precision ``concentration``."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _parameters = ("loc", "concentration")

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._broadcast(validate_args, loc=loc, concentration=concentration)

    @property
    def mean(self) -> Any:
        """The circular mean."""
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        """The circular variance."""
        return 1 - (_log_bessel(self.concentration, 1) - _log_bessel(self.concentration, 0)).exp()

    def log_prob(self, value: Any) -> Any:
        self._validate(value)
        log_norm = math.log(2 * math.pi) + _log_bessel(self.concentration, 0)
        return self.concentration * tocha.cos(value - self.loc) - log_norm

    @tocha.no_grad()
    def sample(self, sample_shape: Any = Size()) -> Any:
        """By rejection from a wrapped Cauchy, in float64 (Best and Fisher, 1979, doi:10.2307/2346732)."""
        shape = self._extended_shape(sample_shape)
        loc, kappa = self.loc.double(), self.concentration.double()
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        r = tocha.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))  # series: rho rounds to 0
        angle = tocha.zeros(shape, dtype=loc.dtype, device=loc.device)
        accepted = tocha.zeros(shape, dtype=tocha.bool, device=loc.device)
        while not accepted.all():
            u1, u2, u3 = tocha.rand((3,) + tuple(shape), dtype=loc.dtype, device=loc.device).unbind()
            z = tocha.cos(math.pi * u1)
            f = (1 + r * z) / (r + z)
            c = kappa * (r - f)
            accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
            angle = tocha.where(accept, (u3 - 0.5).sign() * f.acos(), angle)
            accepted = accepted | accept
        return ((angle + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
