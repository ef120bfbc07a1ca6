"""Constraints made of other constraints: repeated over dimensions, or side by side along one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tocha

from ._region import Constraint


def _checked(base: Any) -> Constraint:
    if not isinstance(base, Constraint):
        raise AssertionError(f"base_constraint must be a Constraint, got {type(base).__name__}")
    return base


class _Over(Constraint):
    """Holds for an event where ``base_constraint`` holds for each of its parts."""

    base_constraint: Constraint

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.base_constraint.is_discrete


class _IndependentConstraint(_Over):
    """``base_constraint`` for each entry of the last ``reinterpreted_batch_ndims`` batch dimensions together."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = _checked(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            raise AssertionError(
                f"reinterpreted_batch_ndims must be an int, got {type(reinterpreted_batch_ndims).__name__}"
            )
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        valid = self.base_constraint.check(value)
        if valid.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return valid.reshape(valid.shape[: valid.dim() - self.reinterpreted_batch_ndims] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Over):
    """A component's constraint for a value of the mixture, which lacks the components' dimension."""

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = _checked(base_constraint)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim

    def check(self, value: Any) -> Any:
        valid = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return valid.reshape(valid.shape[: value.dim() - self.event_dim] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _SideBySide(Constraint):
    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return max(c.event_dim for c in self.cseq)

    def _check_dim(self, value: Any) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")


class _Cat(_SideBySide):
    """One constraint for each slice of ``lengths`` along ``dim``, as ``tocha.cat`` joins."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    def check(self, value: Any) -> Any:
        self._check_dim(value)
        parts = value.split(self.lengths, self.dim)
        return tocha.cat([c.check(part) for c, part in zip(self.cseq, parts)], self.dim)


class _Stack(_SideBySide):
    """One constraint for each index along ``dim``, as ``tocha.stack`` joins."""

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        dim = super().event_dim
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Any) -> Any:
        self._check_dim(value)
        return tocha.stack([c.check(part) for c, part in zip(self.cseq, value.unbind(self.dim))], self.dim)
