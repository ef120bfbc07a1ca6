"""Regions of numbers and of vectors."""

from __future__ import annotations

from typing import Any

from ._region import Constraint


class _Bounded(Constraint):
    """Numbers above ``lower_bound``, below ``upper_bound``, or both: subclasses say how."""

    lower_bound: Any
    upper_bound: Any

    def __init__(self, *bounds: Any, **named: Any) -> None:
        if len(bounds) + len(named) != len(self._shown) or not set(named) <= set(self._shown[len(bounds) :]):
            raise TypeError(f"{type(self).__name__}() takes the arguments {', '.join(self._shown)}")
        self.__dict__.update(zip(self._shown, bounds), **named)


def _whole(value: Any) -> Any:
    return value % 1 == 0


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete, event_dim = True, 1

    def check(self, value: Any) -> Any:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _IntegerInterval(_Bounded):
    is_discrete, _shown = True, ("lower_bound", "upper_bound")

    def check(self, value: Any) -> Any:
        return _whole(value) & (value >= self.lower_bound) & (value <= self.upper_bound)


class _IntegerLessThan(_Bounded):
    is_discrete, _shown = True, ("upper_bound",)

    def check(self, value: Any) -> Any:
        return _whole(value) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Bounded):
    is_discrete, _shown = True, ("lower_bound",)

    def check(self, value: Any) -> Any:
        return _whole(value) & (value >= self.lower_bound)


class _Real(Constraint):
    def check(self, value: Any) -> Any:
        return value == value  # all but NaN


class _GreaterThan(_Bounded):
    _shown = ("lower_bound",)

    def check(self, value: Any) -> Any:
        return value > self.lower_bound


class _GreaterThanEq(_Bounded):
    _shown = ("lower_bound",)

    def check(self, value: Any) -> Any:
        return value >= self.lower_bound


class _LessThan(_Bounded):
    _shown = ("upper_bound",)

    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _Interval(_Bounded):
    _shown = ("lower_bound", "upper_bound")

    def check(self, value: Any) -> Any:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class _HalfOpenInterval(_Bounded):
    _shown = ("lower_bound", "upper_bound")

    def check(self, value: Any) -> Any:
        return (value >= self.lower_bound) & (value < self.upper_bound)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(_Bounded):
    is_discrete, event_dim, _shown = True, 1, ("upper_bound",)

    def check(self, x: Any) -> Any:
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)

    def __repr__(self) -> str:
        return "Multinomial()"
