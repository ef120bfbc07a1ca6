"""What a constraint is, and the placeholder for one that depends on other values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Constraint:
    """A region of values.

    Attributes:
        is_discrete: the region is a set of points.
        event_dim: how many of the last dimensions make one event; ``check`` removes them.
    """

    is_discrete: bool = False
    event_dim: int = 0
    _shown: tuple[str, ...] = ()  # attributes that repr shows

    def check(self, value: Any) -> Any:
        """A bool tensor of the shape of ``value`` without its event dimensions: is each event in the region?"""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({', '.join(f'{n}={getattr(self, n)}' for n in self._shown)})"


class _Dependent(Constraint):
    """A region that other values decide, so that it cannot be checked by itself."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """The same with other static attributes: ``constraints.dependent(event_dim=1)``."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Does the constraint depend on other values?"""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of an instance that is a dependent constraint on the class: ``@dependent_property(event_dim=0)``."""

    def __init__(
        self, fn: Callable | None = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        property.__init__(self, fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)
