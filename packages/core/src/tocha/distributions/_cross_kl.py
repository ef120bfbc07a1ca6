"""Divergences between distributions of two families: -H(p) - E_p[log q(x)].

``log q(x)`` is linear in a few functions of x, so that what a pair needs are the means of those under p: the mean, the
variance, the mean logarithm, and the mean of exp(-x / s).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tocha

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl import register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant

# ---------------------------------------------------------------- means under p


def _uniform_log(low: Any, high: Any) -> Any:
    return (tocha.xlogy(high, high) - tocha.xlogy(low, low)) / (high - low) - 1


_MEAN_LOG: dict[type, Callable] = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -p.rate.log() - euler_constant,
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: _uniform_log(p.low, p.high),
}
# the mean of exp(-(x - m) / s)
_MEAN_EXP: dict[type, Callable] = {
    Exponential: lambda p, m, s: (m / s).exp() * p.rate * s / (p.rate * s + 1),
    Gamma: lambda p, m, s: (m / s).exp() * (1 + 1 / (p.rate * s)) ** -p.concentration,
    Normal: lambda p, m, s: ((m - p.loc) / s + 0.5 * (p.scale / s) ** 2).exp(),
    Uniform: lambda p, m, s: s / (p.high - p.low) * (((m - p.low) / s).exp() - ((m - p.high) / s).exp()),
}


def _mean_log(p: Any) -> Any:
    return next(rule for kind, rule in _MEAN_LOG.items() if isinstance(p, kind))(p)


def _mean_exp(p: Any, m: Any, s: Any) -> Any:
    return next(rule for kind, rule in _MEAN_EXP.items() if isinstance(p, kind))(p, m, s)


# ---------------------------------------------------------------- -E_p[log q(x)]


def _to_normal(p: Any, q: Any) -> Any:
    off = p.mean - q.loc
    return 0.5 * math.log(2 * math.pi) + q.scale.log() + (p.variance + off**2) / (2 * q.scale**2)


def _to_exponential(p: Any, q: Any) -> Any:
    return q.rate * p.mean - q.rate.log()


def _to_gamma(p: Any, q: Any) -> Any:
    a = q.concentration
    return a.lgamma() - a * q.rate.log() - (a - 1) * _mean_log(p) + q.rate * p.mean


def _to_gumbel(p: Any, q: Any) -> Any:
    return q.scale.log() + (p.mean - q.loc) / q.scale + _mean_exp(p, q.loc, q.scale)


def _to_pareto(p: Any, q: Any) -> Any:
    return (q.alpha + 1) * _mean_log(p) - q.alpha.log() - q.alpha * q.scale.log()


def _to_continuous_bernoulli(p: Any, q: Any) -> Any:
    return -p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


def _to_beta(p: Any, q: Any) -> Any:
    a, b = q.concentration1, q.concentration0
    norm = a.lgamma() + b.lgamma() - (a + b).lgamma()
    return norm - (a - 1) * _uniform_log(p.low, p.high) - (b - 1) * _uniform_log(1 - p.high, 1 - p.low)


def _to_uniform(p: Any, q: Any) -> Any:
    return (q.high - q.low).log()


def _to_laplace(p: Any, q: Any) -> Any:
    """Of normal p: the mean distance of a normal number from a point."""
    off = (p.loc - q.loc) / p.scale
    distance = math.sqrt(2 / math.pi) * (-0.5 * off**2).exp() + off * tocha.erf(math.sqrt(0.5) * off)
    return (2 * q.scale).log() + p.scale * distance / q.scale


def _to_poisson(p: Any, q: Any) -> Any:
    """Of Bernoulli p: log x! is 0 for both of its values."""
    return q.rate - p.probs * q.rate.log()


# ---------------------------------------------------------------- the pairs


def _register(p: type, q: type, mean: Callable, outside: Callable | None = None) -> None:
    """``outside(p, q)``: where q has no density on a part of p, so that the divergence is infinite."""

    @register_kl(p, q)
    def divergence(p: Any, q: Any) -> Any:
        result = mean(p, q) - p.entropy()
        return result if outside is None else result.masked_fill(outside(p, q), math.inf)


def _register_infinite(p: type, *others: type) -> None:
    """p reaches where q has no density, whatever their parameters."""
    for q in others:
        register_kl(p, q)(lambda p, q: p.mean.new_full(p.batch_shape, math.inf))


for _kind in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform):
    _register(_kind, Normal, _to_normal)
_register(Pareto, Normal, _to_normal, lambda p, q: p.alpha <= 2)

for _kind in (Beta, ContinuousBernoulli, Gamma):
    _register(_kind, Exponential, _to_exponential)
_register(Pareto, Exponential, _to_exponential, lambda p, q: p.alpha <= 1)
_register(Uniform, Exponential, _to_exponential, lambda p, q: p.low < 0)

for _kind in (Beta, Exponential):
    _register(_kind, Gamma, _to_gamma)
_register(Pareto, Gamma, _to_gamma, lambda p, q: p.alpha <= 1)
_register(Uniform, Gamma, _to_gamma, lambda p, q: p.low < 0)

for _other in (Exponential, Gamma, Normal, Uniform):
    _register(_other, Gumbel, _to_gumbel)

_register(Normal, Laplace, _to_laplace)
_register(Bernoulli, Poisson, _to_poisson)
_register(Beta, ContinuousBernoulli, _to_continuous_bernoulli)
_register(Beta, Uniform, _to_uniform, lambda p, q: (q.low > 0) | (q.high < 1))
# PyTorch counts touching bounds as outside for these two
_register(ContinuousBernoulli, Uniform, _to_uniform, lambda p, q: (q.low >= 0) | (q.high <= 1))
_register(Uniform, ContinuousBernoulli, _to_continuous_bernoulli, lambda p, q: (p.high >= 1) | (p.low <= 0))
_register(Uniform, Beta, _to_beta, lambda p, q: (p.high > 1) | (p.low < 0))
_register(Uniform, Pareto, _to_pareto, lambda p, q: p.low < q.scale)

_register_infinite(Beta, Pareto)
_register_infinite(ContinuousBernoulli, Pareto)
_register_infinite(Exponential, Beta, ContinuousBernoulli, Pareto, Uniform)
_register_infinite(Gamma, Beta, ContinuousBernoulli, Pareto, Uniform)
for _unbounded in (Gumbel, Laplace, Normal):
    _register_infinite(_unbounded, Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_register_infinite(Pareto, Beta, ContinuousBernoulli, Uniform)
_register_infinite(Poisson, Bernoulli, Binomial)
