"""Gamma and Dirichlet numbers with gradients with respect to their parameters, for ``tocha.distributions``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _random as streams
from .._core import arrays
from .._core.families import operator, shape_like_first
from .._core.tensor import Tensor
from .._random.pathwise import beta_slope, gamma_slope
from .random import generator_or_default

__all__ = ["_dirichlet_grad", "_sample_dirichlet", "_standard_gamma", "_standard_gamma_grad"]


def _on_host(xp: Any, fn: Any, *raw: Any) -> Any:
    """Rejection takes another number of draws for each element, so it stays on the host on every device."""
    result = fn(*[arrays.to_host(r) for r in raw]).astype(raw[0].dtype, copy=False)
    return result if xp is np else xp.asarray(result)


_gamma_grad = operator(
    "standard_gamma_grad", lambda xp, alpha, x: _on_host(xp, gamma_slope, alpha, x), None, shape_like_first, arity=2
)
_gamma = operator(
    "standard_gamma",
    lambda xp, alpha, generator: _on_host(xp, lambda a: streams.standard_gamma(generator, a), alpha),
    lambda n, g: (g * _gamma_grad(*n.saved),),
    shape_like_first,
    save=(0, "y"),
)
_beta_grad = operator(
    "dirichlet_grad",
    lambda xp, x, alpha, total: _on_host(xp, beta_slope, x, alpha, total),
    None,
    shape_like_first,
    arity=3,
)


def _dirichlet_rule(n: Any, g: Any) -> tuple:
    from .reduction import sum_dims

    alpha, x = n.saved
    last = (len(alpha.shape) - 1,)
    total = sum_dims(alpha, last, True) + alpha * 0
    return (_beta_grad(x, alpha, total) * (g - sum_dims(x * g, last, True)),)


_dirichlet = operator(
    "sample_dirichlet",
    lambda xp, alpha, generator: _on_host(xp, lambda a: streams.dirichlet(generator, a), alpha),
    _dirichlet_rule,
    shape_like_first,
    save=(0, "y"),
)
for _made in (_gamma, _dirichlet):
    _made.op.meta["random"] = True  # type: ignore[attr-defined]


def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Gamma numbers of the concentrations in ``input`` and scale 1, differentiable in them (float32 or float64)."""
    return _gamma(input, generator_or_default(generator))


def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """The derivative of gamma numbers ``output`` with respect to their concentrations ``input``, quantiles held."""
    return _gamma_grad(input, output)


def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Dirichlet vectors of the concentrations in the last dimension of ``input``, differentiable in them."""
    return _dirichlet(input, generator_or_default(generator))


def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """``d x / d alpha / (1 - x)`` of numbers of Beta(alpha, total - alpha) with ``total - alpha`` held."""
    return _beta_grad(x, alpha, total)
