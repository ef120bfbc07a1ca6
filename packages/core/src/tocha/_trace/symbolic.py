"""Symbolic sizes: what a traced program computes its shapes with. The public face of this package's arithmetic.

`Environment.symbol` makes a `SymInt`; arithmetic on it gives further ones; `evaluate` puts numbers in; `fold` walks the
expression for whoever writes it down in another language (ONNX, C, text).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any, Protocol, TypeVar

from .guards import Environment, Guard, GuardError, Symbol
from .polynomial import Opaque, Polynomial
from .scalars import Scalar, SymFloat, SymInt, Term, polynomial_of, product, sqrt, sym_max, sym_min
from .source import SourceLine, source_line

__all__ = [
    "Algebra",
    "Environment",
    "Guard",
    "GuardError",
    "Opaque",
    "SourceLine",
    "SymFloat",
    "SymInt",
    "Symbol",
    "Term",
    "evaluate",
    "fold",
    "free_symbols",
    "is_symbolic",
    "polynomial_of",
    "product",
    "source_line",
    "sqrt",
    "structural_key",
    "sym_max",
    "sym_min",
]

T = TypeVar("T")


class Algebra(Protocol[T]):
    """What `fold` calls, bottom up, for each part of an expression; `T` is whatever the parts are turned into.

    The first group is called for sizes, the second only for deferred floats, whose operands are sizes passed through
    `to_float`, float constants, and each other.
    """

    def constant(self, value: int | float) -> T: ...
    def symbol(self, name: str) -> T: ...
    def add(self, left: T, right: T) -> T: ...
    def multiply(self, left: T, right: T) -> T: ...
    def floor_divide(self, left: T, right: T) -> T: ...
    def modulo(self, left: T, right: T) -> T: ...
    def minimum(self, left: T, right: T) -> T: ...
    def maximum(self, left: T, right: T) -> T: ...

    def to_float(self, value: T) -> T: ...
    def subtract(self, left: T, right: T) -> T: ...
    def divide(self, left: T, right: T) -> T: ...
    def power(self, left: T, right: T) -> T: ...
    def negative(self, value: T) -> T: ...
    def square_root(self, value: T) -> T: ...


_METHODS = {
    "//": "floor_divide",
    "%": "modulo",
    "min": "minimum",
    "max": "maximum",
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "**": "power",
    "neg": "negative",
    "sqrt": "square_root",
}


def fold(value: int | float | SymInt | SymFloat, algebra: Algebra[T]) -> T:
    """Rebuild an expression in another algebra: `algebra.add(algebra.symbol("n"), algebra.constant(1))` for `n + 1`.

    Every function of sizes (`//`, `%`, `min`, `max`) is built once, however often it appears. Coefficients may be
    negative; `**` of sizes is repeated multiplication.
    """
    return _Fold(algebra).number(value)


class _Fold:
    def __init__(self, algebra: Algebra[Any]) -> None:
        self.algebra = algebra
        self.built: dict[str, Any] = {}

    def number(self, value: Any) -> Any:
        if isinstance(value, SymInt):
            return self.polynomial(value.polynomial)
        if isinstance(value, SymFloat):
            return self.call(value.operator, [self.operand(argument) for argument in value.arguments])
        return self.algebra.constant(value)

    def operand(self, value: Any) -> Any:
        return self.algebra.to_float(self.number(value)) if isinstance(value, SymInt) else self.number(value)

    def call(self, kind: str, arguments: list[Any]) -> Any:
        method = getattr(self.algebra, _METHODS[kind])
        if kind in ("neg", "sqrt"):
            return method(arguments[0])
        total = arguments[0]
        for argument in arguments[1:]:
            total = method(total, argument)
        return total

    def polynomial(self, p: Polynomial) -> Any:
        terms = [self.term(coefficient, monomial) for monomial, coefficient in p.terms.items()]
        return self.call("+", terms) if terms else self.algebra.constant(0)

    def term(self, coefficient: int, monomial: tuple[str, ...]) -> Any:
        factors = [self.atom(atom) for atom in monomial]
        if coefficient != 1 or not factors:
            factors.insert(0, self.algebra.constant(coefficient))
        product = factors[0]
        for factor in factors[1:]:
            product = self.algebra.multiply(product, factor)
        return product

    def atom(self, atom: str) -> Any:
        if atom not in self.built:
            if isinstance(atom, Opaque):
                self.built[atom] = self.call(atom.kind, [self.polynomial(argument) for argument in atom.arguments])
            else:
                self.built[atom] = self.algebra.symbol(atom)
        return self.built[atom]


class _Values:
    """The algebra of `evaluate`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def symbol(self, name: str) -> Any:
        try:
            return self.values[name]
        except KeyError:
            raise KeyError(f"no value for the symbolic size {name!r}, got values for {sorted(self.values)}") from None

    constant = to_float = staticmethod(lambda value: value)
    add = staticmethod(lambda left, right: left + right)
    subtract = staticmethod(lambda left, right: left - right)
    multiply = staticmethod(lambda left, right: left * right)
    divide = staticmethod(lambda left, right: left / right)
    floor_divide = staticmethod(lambda left, right: left // right)
    modulo = staticmethod(lambda left, right: left % right)
    power = staticmethod(lambda left, right: left**right)
    negative = staticmethod(lambda value: -value)
    minimum = staticmethod(sym_min)
    maximum = staticmethod(sym_max)
    square_root = staticmethod(sqrt)


def evaluate(value: Any, values: Mapping[str, Any]) -> Any:
    """Put values in the place of symbols, in numbers and in tuples, lists, dicts and slices of them.

    The values may be sizes of another environment: then it is a substitution. Anything that is not symbolic is
    returned as it is.

    Raises:
        KeyError: a symbol has no value.

    >>> n = Environment().symbol("n", hint=4)
    >>> evaluate((n + 1, slice(None, n // 2), "same"), {"n": 10})
    (11, slice(None, 5, None), 'same')
    """
    if isinstance(value, Scalar):
        return fold(value, _Values(values))  # type: ignore[arg-type]
    return _rebuild(value, lambda item: evaluate(item, values))


def free_symbols(value: Any) -> frozenset[str]:
    """The names of the symbols that a number, or a nest of containers of numbers, depends on."""
    if isinstance(value, SymInt):
        return frozenset(value.polynomial.symbols())
    if isinstance(value, SymFloat):
        return free_symbols(value.arguments)
    return frozenset().union(*map(free_symbols, _items(value)))


def is_symbolic(value: Any) -> bool:
    """Whether a number, or anything inside a nest of containers, is symbolic."""
    return isinstance(value, Scalar) or any(map(is_symbolic, _items(value)))


def structural_key(value: Any) -> Hashable:
    """A key that is equal for equal expressions, made without hashing or comparing a symbolic number (no guard).

    Containers are walked; any other value stands for itself if it can be hashed, else for its identity.
    """
    if isinstance(value, SymInt):
        return (SymInt, id(value.environment), value.polynomial)
    if isinstance(value, SymFloat):
        return (SymFloat, id(value.environment), value.operator, *map(structural_key, value.arguments))
    if isinstance(value, dict):
        return (dict, *((key, structural_key(item)) for key, item in value.items()))
    if isinstance(value, tuple | list | slice):
        return (type(value), *map(structural_key, _items(value)))
    try:
        hash(value)
    except TypeError:
        return (type(value), id(value))
    # 1, 1.0 and True are equal, 0.0 and -0.0 too, yet they are not the same attribute.
    return (type(value), value, math.copysign(1.0, value)) if isinstance(value, float) else (type(value), value)


def _items(value: Any) -> tuple[Any, ...]:
    if isinstance(value, tuple | list):
        return tuple(value)
    if isinstance(value, dict):
        return tuple(value.values())
    if isinstance(value, slice):
        return value.start, value.stop, value.step
    return ()


def _rebuild(value: Any, change: Any) -> Any:
    if isinstance(value, tuple):
        items = [change(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, list):
        return [change(item) for item in value]
    if isinstance(value, dict):
        return {key: change(item) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*map(change, _items(value)))
    return value
