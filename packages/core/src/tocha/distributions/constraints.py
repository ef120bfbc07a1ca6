"""Regions that parameters and values lie in: ``check`` tells which events of a tensor do.

See https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.constraints
"""

from __future__ import annotations

from ._joined_constraints import MixtureSameFamilyConstraint, _Cat, _IndependentConstraint, _Stack
from ._matrix_constraints import (
    _CorrCholesky,
    _LowerCholesky,
    _LowerTriangular,
    _PositiveDefinite,
    _PositiveSemidefinite,
    _Square,
    _Symmetric,
)  # fmt: skip
from ._region import Constraint, _Dependent, _DependentProperty, is_dependent
from ._scalar_constraints import (
    _Boolean,
    _GreaterThan,
    _GreaterThanEq,
    _HalfOpenInterval,
    _IntegerGreaterThan,
    _IntegerInterval,
    _IntegerLessThan,
    _Interval,
    _LessThan,
    _Multinomial,
    _OneHot,
    _Real,
    _Simplex,
)  # fmt: skip

__all__ = [
    "Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than",
    "greater_than_eq", "independent", "integer_interval", "interval", "half_open_interval", "is_dependent", "less_than",
    "lower_cholesky", "lower_triangular", "MixtureSameFamilyConstraint", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_semidefinite", "positive_definite", "positive_integer",
    "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip

dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean, one_hot = _Boolean(), _OneHot()
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
integer_interval, integer_less_than, integer_greater_than = _IntegerInterval, _IntegerLessThan, _IntegerGreaterThan
real = _Real()
real_vector = independent(real, 1)
positive, nonnegative = _GreaterThan(0.0), _GreaterThanEq(0.0)
greater_than, greater_than_eq, less_than = _GreaterThan, _GreaterThanEq, _LessThan
interval, half_open_interval = _Interval, _HalfOpenInterval
unit_interval = _Interval(0.0, 1.0)
multinomial, simplex = _Multinomial, _Simplex()
lower_triangular, lower_cholesky, corr_cholesky = _LowerTriangular(), _LowerCholesky(), _CorrCholesky()
square, symmetric = _Square(), _Symmetric()
positive_semidefinite, positive_definite = _PositiveSemidefinite(), _PositiveDefinite()
cat, stack = _Cat, _Stack
