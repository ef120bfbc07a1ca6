"""Symbolic sizes as ONNX: each expression becomes nodes over the sizes of the graph's inputs, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tocha.onnx.tracing import fold, is_symbolic, structural_key

if TYPE_CHECKING:
    from .builder import Array, Builder

__all__ = ["Shapes"]

NP_INT64, NP_FLOAT64 = np.dtype("int64"), np.dtype("float64")


class Shapes:
    """Where each symbol can be read, and the vectors that were made so far."""

    def __init__(self, builder: Builder, environment: Any = None) -> None:
        self._builder = builder
        self._environment = environment
        self._symbols: dict[str, tuple[Array, int]] = {}
        self._cache: dict[Any, Array] = {}

    def bind(self, x: Array) -> None:
        """Let the symbols that are sizes of ``x`` be read from it (where nothing earlier has them)."""
        for axis, n in enumerate(x.shape or ()):
            if is_symbolic(n) and self._environment is not None and str(n) in self._environment.symbols:
                self._symbols.setdefault(str(n), (x, axis))

    def inside(self, builder: Builder) -> Shapes:
        """The same for a builder of a subgraph."""
        inner = Shapes(builder, self._environment)
        inner._symbols, inner._cache = dict(self._symbols), dict(self._cache)
        return inner

    def same(self, a: Any, b: Any) -> bool:
        """Whether two shapes are known to be equal, without a guard."""
        return structural_key(tuple(a)) == structural_key(tuple(b))

    def vector(self, sizes: tuple) -> Array:
        """Sizes as an int64 vector."""
        b = self._builder
        if not any(map(is_symbolic, sizes)):
            return b.constant(np.array([int(n) for n in sizes], np.int64))
        key = structural_key(sizes)
        found = self._cache.get(key)
        if found is None:
            if len(sizes) == 1:
                found = fold(sizes[0], _Nodes(self))
            else:
                parts: list[Any] = []
                fixed: list[int] = []
                for n in sizes:
                    if is_symbolic(n):
                        if fixed:
                            parts.append(b.constant(np.array(fixed, np.int64)))
                            fixed = []
                        parts.append(self.vector((n,)))
                    else:
                        fixed.append(int(n))
                if fixed:
                    parts.append(b.constant(np.array(fixed, np.int64)))
                found = b.Concat(*parts, axis=0)
            self._cache[key] = found
        return found

    def scalar(self, n: Any, dtype: np.dtype) -> Array:
        """A number, symbolic or not, as a 0-d array."""
        b = self._builder
        if not is_symbolic(n):
            return b.constant(np.asarray(n), dtype)
        made = fold(n, _Nodes(self))
        return b.cast(b.Squeeze(made, np.array([0], np.int64)), dtype)

    def symbol(self, name: str) -> Array:
        """A size that an input, or a result, has, as an array of one element."""
        found = self._symbols.get(name)
        if found is None:
            raise RuntimeError(f"the size {name} is needed before anything in the graph has it")
        x, axis = found
        return self._builder.Shape(x, start=axis, end=axis + 1)


class _Nodes:
    """The algebra that ``fold`` builds nodes with; everything is an array of one element."""

    def __init__(self, shapes: Shapes) -> None:
        self.shapes, self.b = shapes, shapes._builder

    def constant(self, value: Any) -> Array:
        return self.b.constant(np.array([value], np.float64 if isinstance(value, float) else np.int64))

    def symbol(self, name: str) -> Array:
        return self.shapes.symbol(name)

    def add(self, left: Array, right: Array) -> Array:
        return self.b.Add(*self._alike(left, right))

    def multiply(self, left: Array, right: Array) -> Array:
        return self.b.Mul(*self._alike(left, right))

    def floor_divide(self, left: Array, right: Array) -> Array:
        # ONNX divides integers towards zero; without the remainder the quotient is exact.
        return self.b.Div(self.b.Sub(left, self.b.Mod(left, right)), right)

    def modulo(self, left: Array, right: Array) -> Array:
        return self.b.Mod(left, right)

    def minimum(self, left: Array, right: Array) -> Array:
        return self.b.Min(left, right)

    def maximum(self, left: Array, right: Array) -> Array:
        return self.b.Max(left, right)

    def _alike(self, left: Array, right: Array) -> tuple[Array, Array]:
        """A deferred float may have integer constants among its parts."""
        return (left, right) if left.dtype == right.dtype else (self.to_float(left), self.to_float(right))

    def to_float(self, value: Array) -> Array:
        return self.b.cast(value, NP_FLOAT64)

    def subtract(self, left: Array, right: Array) -> Array:
        return self.b.Sub(self.to_float(left), self.to_float(right))

    def divide(self, left: Array, right: Array) -> Array:
        return self.b.Div(self.to_float(left), self.to_float(right))

    def power(self, left: Array, right: Array) -> Array:
        return self.b.Pow(self.to_float(left), self.to_float(right))

    def negative(self, value: Array) -> Array:
        return self.b.Neg(self.to_float(value))

    def square_root(self, value: Array) -> Array:
        return self.b.Sqrt(self.to_float(value))
