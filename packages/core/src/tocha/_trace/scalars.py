"""The symbolic numbers: `SymInt`, an integer known as a polynomial over named sizes, and `SymFloat`, made of those.

They are objects, not subclasses of `int`: a subclass would pass through `range`, `np.zeros` or `[0] * n` as the number
it happened to be. Here every such place goes through `__index__`, which leaves a guard or raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .guards import COMPARISONS, Environment
from .polynomial import Opaque, Polynomial

__all__ = ["Scalar", "SymFloat", "SymInt", "Term", "polynomial_of", "product", "sqrt", "sym_max", "sym_min"]


class Term(NamedTuple):
    """One summand of a `SymInt`: a coefficient times factors, each a symbol or a function, raised to a power."""

    coefficient: int
    factors: tuple[tuple[str | Opaque, int], ...]


class Scalar:
    """What symbolic integers and floats have in common."""

    __slots__ = ("environment",)
    environment: Environment
    __array_ufunc__ = None  # np.int64(2) * size must reach __rmul__, not build an array of objects

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._number(), dtype)

    def _number(self) -> int | float:
        raise NotImplementedError

    def _compare(self, operator: str, other: object) -> Any:
        raise NotImplementedError

    def __eq__(self, other: object) -> Any:
        return self._compare("==", other)

    def __ne__(self, other: object) -> Any:
        return self._compare("!=", other)

    def __lt__(self, other: object) -> Any:
        return self._compare("<", other)

    def __le__(self, other: object) -> Any:
        return self._compare("<=", other)

    def __gt__(self, other: object) -> Any:
        return self._compare(">", other)

    def __ge__(self, other: object) -> Any:
        return self._compare(">=", other)

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __hash__(self) -> int:
        # Equality is that of the hints (under a guard), so the hash is too; `structural_key` compares without guards.
        return hash(self._number())

    def __format__(self, spec: str) -> str:
        if spec and spec[-1] in "bcdeEfFgGnoxX%":
            return format(self._number(), spec)
        return format(repr(self), spec)

    def __copy__(self) -> Scalar:
        return self

    def __deepcopy__(self, memo: object) -> Scalar:
        return self

    def __pos__(self) -> Scalar:
        return self

    def __truediv__(self, other: object) -> Any:
        return _deferred("/", self, other)

    def __rtruediv__(self, other: object) -> Any:
        return _deferred("/", other, self)


class SymInt(Scalar):
    """An integer polynomial over the symbols of an environment. `Environment.symbol` makes the first ones.

    `+ - * // % abs min max **` (natural exponents) give exact symbolic integers, and a plain `int` where the unknowns
    cancel; `/` and other exponents give a `SymFloat`. A comparison is proved if possible and else settled by the hints
    under a guard. `int()`, `float()`, `hash()` and whatever calls `__index__` fix the value: a guard, or a
    `GuardError` in a strict environment.

    >>> n = Environment().symbol("n", hint=7)
    >>> 2 * n + 1, (n * 6 + 4) // 2, (n * n - n) // (n - 1), n - n
    (2*n + 1, 3*n + 2, n, 0)
    """

    scalar_category = 1  # how a tensor operator promotes it: as an int
    __slots__ = ("polynomial",)

    def __init__(self, polynomial: Polynomial, environment: Environment) -> None:
        self.polynomial = polynomial
        self.environment = environment

    @property
    def hint(self) -> int:
        """The value while tracing."""
        return int(self.environment.hint(self))

    def terms(self) -> tuple[Term, ...]:
        """The sum as data, for exporters (see also `fold`)."""
        return tuple(
            Term(coefficient, tuple((atom, monomial.count(atom)) for atom in dict.fromkeys(monomial)))
            for monomial, coefficient in self.polynomial.terms.items()
        )

    def _number(self) -> int:
        return self.environment.specialise(self)

    __index__ = _number

    def __bool__(self) -> bool:
        return self.environment.compare(self, "!=", 0, fixes=True)

    def __repr__(self) -> str:
        return str(self.polynomial)

    def __add__(self, other: object) -> Any:
        return self._combine(other, Polynomial.__add__, "+")

    __radd__ = __add__

    def __sub__(self, other: object) -> Any:
        return self._combine(other, Polynomial.__sub__, "-")

    def __rsub__(self, other: object) -> Any:
        return self._combine(other, lambda p, q: q - p, "-", swap=True)

    def __mul__(self, other: object) -> Any:
        return self._combine(other, Polynomial.__mul__, "*")

    __rmul__ = __mul__

    def _combine(
        self, other: object, rule: Callable[[Polynomial, Polynomial], Polynomial], name: str, swap: bool = False
    ) -> Any:
        if isinstance(other, int | np.integer | SymInt):
            return _size(rule(self.polynomial, polynomial_of(other)), _common(self, other))
        return _deferred(name, other, self) if swap else _deferred(name, self, other)

    def __floordiv__(self, other: object) -> Any:
        return _divide("//", self, other)

    def __rfloordiv__(self, other: object) -> Any:
        return _divide("//", other, self)

    def __mod__(self, other: object) -> Any:
        return _divide("%", self, other)

    def __rmod__(self, other: object) -> Any:
        return _divide("%", other, self)

    def __divmod__(self, other: object) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: object) -> Any:
        return other // self, other % self

    def __neg__(self) -> Any:
        return _size(-self.polynomial, self.environment)

    def __abs__(self) -> Any:
        return sym_max(self, -self)

    def __pow__(self, exponent: object) -> Any:
        if isinstance(exponent, int | np.integer) and exponent >= 0:
            return product([self] * int(exponent))
        return NotImplemented if isinstance(exponent, SymInt) else _deferred("**", self, exponent)

    def __rpow__(self, base: object) -> Any:
        # A number to a symbolic power would be an integer that is not a polynomial.
        return _deferred("**", base, self) if isinstance(base, float | np.floating) else NotImplemented

    def __floor__(self) -> SymInt:
        return self

    __ceil__ = __trunc__ = __floor__

    def __round__(self, digits: int | None = None) -> SymInt:
        if digits is not None and digits < 0:
            return round(self._number(), digits)  # type: ignore[return-value]
        return self

    def _compare(self, operator: str, other: object) -> Any:
        if isinstance(other, float) and other.is_integer():
            other = int(other)
        if isinstance(other, int | np.integer | SymInt):
            return _common(self, other).compare(self, operator, other if isinstance(other, SymInt) else int(other))
        if isinstance(other, float):
            # No integer equals it, and comparing with its floor or ceiling says the same.
            if math.isfinite(other) and operator not in ("==", "!="):
                return self._compare(operator, math.floor(other) if operator in (">", "<=") else math.ceil(other))
            return COMPARISONS[operator](0, other)
        return NotImplemented


class SymFloat(Scalar):
    """A float computed later from symbolic sizes (the `1/n` of a mean, the `1/sqrt(d)` of attention).

    It remembers the operations in their order, so that evaluating it gives the very float that eager code computes.

    >>> from tocha._trace.symbolic import evaluate
    >>> n = Environment().symbol("n", hint=4)
    >>> 1 / n, sqrt(n) ** -1 * 0.5
    (1/n, sqrt(n)**(-1)*0.5)
    >>> evaluate(1 / n, {"n": 8})
    0.125
    """

    scalar_category = 2  # as a float
    __slots__ = ("operator", "arguments")

    def __init__(self, operator: str, arguments: tuple[Any, ...], environment: Environment) -> None:
        self.operator = operator
        self.arguments = arguments
        self.environment = environment

    @property
    def hint(self) -> float:
        """The value while tracing."""
        return float(self.environment.hint(self))

    def _number(self) -> float:
        return self.environment.specialise_float(self)

    def __bool__(self) -> bool:
        return self.environment.compare_float(self, "!=", 0)

    def __repr__(self) -> str:
        texts = [_operand_text(argument) for argument in self.arguments]
        if self.operator == "sqrt":
            return f"sqrt({self.arguments[0]})"
        return f"-{texts[0]}" if self.operator == "neg" else self.operator.join(texts)

    def __add__(self, other: object) -> Any:
        return _deferred("+", self, other)

    def __radd__(self, other: object) -> Any:
        return _deferred("+", other, self)

    def __sub__(self, other: object) -> Any:
        return _deferred("-", self, other)

    def __rsub__(self, other: object) -> Any:
        return _deferred("-", other, self)

    def __mul__(self, other: object) -> Any:
        return _deferred("*", self, other)

    def __rmul__(self, other: object) -> Any:
        return _deferred("*", other, self)

    def __pow__(self, other: object) -> Any:
        return _deferred("**", self, other)

    def __rpow__(self, other: object) -> Any:
        return _deferred("**", other, self)

    def __neg__(self) -> SymFloat:
        return SymFloat("neg", (self,), self.environment)

    def __floor__(self) -> Any:
        ratio = self._exact_ratio()
        return math.floor(self._number()) if ratio is None else ratio[0] // ratio[1]

    def __ceil__(self) -> Any:
        ratio = self._exact_ratio()
        return math.ceil(self._number()) if ratio is None else -(-ratio[0] // ratio[1])

    def __trunc__(self) -> Any:
        ratio = self._exact_ratio()
        if ratio is None:
            return math.trunc(self._number())
        return ratio[0] // ratio[1] if (ratio[0] >= 0) == (ratio[1] > 0) else -(-ratio[0] // ratio[1])

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._number(), digits)

    def _exact_ratio(self) -> tuple[Any, Any] | None:
        """`(a, b)` in integers where rounding to an integer may be done on `a / b` with the same result."""
        if self.operator not in ("*", "/"):
            return None
        left, right = self.arguments
        if self.operator == "/":
            whole = isinstance(left, int | SymInt) and isinstance(right, int | SymInt)
            return (left, right) if whole else None
        size, factor = (left, right) if isinstance(left, SymInt) else (right, left)
        if not isinstance(size, SymInt) or not isinstance(factor, float) or not math.isfinite(factor):
            return None
        numerator, denominator = factor.as_integer_ratio()
        # The product of a size and a short binary fraction is exact in floating point.
        return (size * numerator, denominator) if max(abs(numerator), denominator) <= 1 << 20 else None

    def _compare(self, operator: str, other: object) -> Any:
        if isinstance(other, SymFloat) and repr(self) == repr(other):
            return operator in ("==", "<=", ">=")
        if isinstance(other, int | float | np.integer | np.floating | Scalar):
            right: Any = other.item() if isinstance(other, np.generic) else other
            return _common(self, other).compare_float(self, operator, right)
        return NotImplemented


def sqrt(value: Any) -> Any:
    """The square root: deferred for a symbolic number, a float otherwise."""
    return SymFloat("sqrt", (value,), value.environment) if isinstance(value, Scalar) else math.sqrt(value)


def sym_min(*values: Any) -> Any:
    """The smallest of integers of which some may be symbolic; no guard, unlike the builtin.

    >>> n = Environment().symbol("n", hint=4)
    >>> sym_min(n, 2 * n), sym_min(n, 8)
    (n, min(8, n))
    """
    return _extremum("min", values)


def sym_max(*values: Any) -> Any:
    """The largest of integers of which some may be symbolic; no guard, unlike the builtin."""
    return _extremum("max", values)


def product(sizes: Any) -> Any:
    """The number of elements of a shape."""
    total: Any = 1
    for size in sizes:
        total = total * size
    return total


def polynomial_of(value: Any) -> Polynomial:
    """The polynomial behind an integer, symbolic or not."""
    return value.polynomial if isinstance(value, SymInt) else Polynomial.constant(int(value))


def _extremum(kind: str, values: tuple[Any, ...]) -> Any:
    symbolic = [value for value in values if isinstance(value, SymInt)]
    if not symbolic:
        return min(values) if kind == "min" else max(values)
    environment = symbolic[0].environment
    for value in values:
        _common(symbolic[0], value)
    return _size(environment.facts.extremum(kind, [polynomial_of(value) for value in values]), environment)


def _size(polynomial: Polynomial, environment: Environment) -> Any:
    value = polynomial.as_constant
    return SymInt(polynomial, environment) if value is None else value


def _divide(kind: str, left: Any, right: Any) -> Any:
    if not isinstance(left, int | np.integer | SymInt) or not isinstance(right, int | np.integer | SymInt):
        return NotImplemented
    environment = _common(left, right)
    if right == 0:
        raise ZeroDivisionError(f"{left} {kind} {right}: integer division or modulo by zero")
    rule = environment.facts.floor_divide if kind == "//" else environment.facts.modulo
    return _size(rule(polynomial_of(left), polynomial_of(right)), environment)


def _deferred(operator: str, left: Any, right: Any) -> Any:
    operands = tuple(value.item() if isinstance(value, np.generic) else value for value in (left, right))
    if not all(isinstance(value, int | float | Scalar) for value in operands):
        return NotImplemented
    return SymFloat(operator, operands, _common(left, right))


def _common(left: Any, right: Any) -> Environment:
    environments = [value.environment for value in (left, right) if isinstance(value, Scalar)]
    if environments[0] is not environments[-1]:
        raise ValueError(f"{left} and {right} belong to two traces: sizes of different environments cannot be combined")
    return environments[0]


def _operand_text(value: Any) -> str:
    text = repr(value)
    simple = text.isidentifier() or text.replace(".", "", 1).isdigit() or text.startswith("sqrt(")
    return text if simple else f"({text})"
