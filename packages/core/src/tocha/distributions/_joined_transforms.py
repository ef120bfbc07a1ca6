"""Transforms side by side along a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tocha

from . import constraints
from ._map import Transform
from .utils import sum_rightmost


class _Joined(Transform):
    transforms: list[Transform]
    dim: int

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    def _check(self, x: Any, what: str, expected: int, expected_text: str, name: str = "x") -> None:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} out of range for {what} with {x.dim()} dimensions")
        if x.size(self.dim) != expected:
            raise AssertionError(f"{name}.size({self.dim}) = {x.size(self.dim)} must equal {expected_text} {expected}")


class CatTransform(_Joined):
    """Each of ``tseq`` on its slice, of ``lengths``, along ``dim``, as ``tocha.cat`` joins."""

    _arguments = ("transforms", "dim", "lengths")

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The size of ``dim``."""
        return sum(self.lengths)

    def _parts(self, x: Any, what: str = "tensor", name: str = "x") -> Any:
        self._check(x, what, self.length, "length", name)
        return x.split(self.lengths, self.dim)

    def _call(self, x: Any) -> Any:
        return tocha.cat([t(part) for t, part in zip(self.transforms, self._parts(x))], self.dim)

    def _inverse(self, y: Any) -> Any:
        return tocha.cat([t.inv(part) for t, part in zip(self.transforms, self._parts(y, name="y"))], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        terms = []
        for t, before, after in zip(self.transforms, self._parts(x, "x"), self._parts(y, "y", "y")):
            terms.append(sum_rightmost(t.log_abs_det_jacobian(before, after), self.event_dim - t.event_dim))
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return tocha.cat(terms, dim) if dim < 0 else sum(terms)  # joined along an event's dimension: one event

    @constraints.dependent_property
    def domain(self) -> Any:
        """Where the arguments of ``forward`` lie."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Where the results of ``forward`` lie."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Joined):
    """Each of ``tseq`` on its index along ``dim``, as ``tocha.stack`` joins."""

    _arguments = ("transforms", "dim")

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def _parts(self, x: Any, what: str = "tensor", name: str = "x") -> Any:
        self._check(x, what, len(self.transforms), "len(transforms)", name)
        return x.unbind(self.dim)

    def _call(self, x: Any) -> Any:
        return tocha.stack([t(part) for t, part in zip(self.transforms, self._parts(x))], self.dim)

    def _inverse(self, y: Any) -> Any:
        return tocha.stack([t.inv(part) for t, part in zip(self.transforms, self._parts(y, name="y"))], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        pairs = zip(self.transforms, self._parts(x, "x"), self._parts(y, "y", "y"))
        return tocha.stack([t.log_abs_det_jacobian(before, after) for t, before, after in pairs], self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        """Where the arguments of ``forward`` lie."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Where the results of ``forward`` lie."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
