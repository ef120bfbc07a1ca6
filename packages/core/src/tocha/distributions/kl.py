"""Kullback-Leibler divergences: the registry by pairs of types.

The divergences themselves are in ``_family_kl`` (one family) and ``_cross_kl`` (two).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Callable:
    """Register a function of (p, q) as the divergence of distributions of these types and their subclasses.

    The most specific pair counts; where two are as specific, a RuntimeWarning asks for one that settles it.

    Raises:
        TypeError: a type is not a subclass of ``Distribution``.

    Example:
        >>> from tocha.distributions import Normal, register_kl, kl_divergence
        >>> class Shifted(Normal): pass
        >>> @register_kl(Shifted, Normal)
        ... def divergence(p, q):
        ...     return "mine"
        >>> kl_divergence(Shifted(0.0, 1.0), Normal(0.0, 1.0))
        'mine'
    """
    from .distribution import Distribution

    for name, given in (("type_p", type_p), ("type_q", type_q)):
        if not (isinstance(given, type) and issubclass(given, Distribution)):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {given}")

    def decorate(fun: Callable) -> Callable:
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun

    return decorate


def _find(type_p: type, type_q: type) -> Callable | None:
    pairs = [(a, b) for a, b in _KL_REGISTRY if issubclass(type_p, a) and issubclass(type_q, b)]
    if not pairs:
        return None
    nearness = [(type_p.__mro__.index(a), type_q.__mro__.index(b)) for a, b in pairs]
    left = pairs[min(range(len(pairs)), key=lambda i: nearness[i])]
    right = pairs[min(range(len(pairs)), key=lambda i: nearness[i][::-1])]
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({left[0].__name__}, {right[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[left]


def kl_divergence(p: Any, q: Any) -> Any:
    """KL(p || q), the mean of log p(x) - log q(x) over p, of the shape of the batch.

    Raises:
        NotImplementedError: none is registered for the types.

    Example:
        >>> from tocha.distributions import Normal, kl_divergence
        >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
        tensor(0.5000)
    """
    types = type(p), type(q)
    if types not in _KL_MEMOIZE:
        _KL_MEMOIZE[types] = _find(*types)
    fun = _KL_MEMOIZE[types]
    if fun is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {types[0].__name__} and q type {types[1].__name__}"
        )
    return fun(p, q)
