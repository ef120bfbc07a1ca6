"""The symbols of one trace, what is known about them, and the guards: what the trace took for granted about sizes."""

from __future__ import annotations

import math
import operator as _operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .facts import Facts
from .polynomial import Polynomial
from .source import SourceLine, source_line

if TYPE_CHECKING:
    from .symbolic import SymFloat, SymInt

__all__ = ["COMPARISONS", "Environment", "Guard", "GuardError", "Symbol"]

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": _operator.eq,
    "!=": _operator.ne,
    "<": _operator.lt,
    "<=": _operator.le,
    ">": _operator.gt,
    ">=": _operator.ge,
}
_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", "<=": ">", ">": "<="}
_ONE = Polynomial.constant(1)


class GuardError(RuntimeError):
    """A symbolic size would have to become a number, and may not."""

    def __init__(self, message: str, source: SourceLine) -> None:
        super().__init__(f"{message} (at {source})")
        self.source = source


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named size: the value it had while tracing (None where it depends on data), and its range."""

    name: str
    hint: int | None
    minimum: int
    maximum: int | None

    def __str__(self) -> str:
        upper = "" if self.maximum is None else f" <= {self.maximum}"
        return f"{self.minimum} <= {self.name}{upper}"


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """A statement about sizes that was true of the hints and on which the trace depends.

    `specialises` tells a guard that fixes a size to one value from one that only restricts it.
    """

    left: SymInt | SymFloat
    operator: str
    right: int | float | SymInt | SymFloat
    source: SourceLine
    specialises: bool

    @property
    def expression(self) -> str:
        return f"{self.left} {self.operator} {self.right}"

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether the statement is true of these values."""
        from .symbolic import evaluate

        return COMPARISONS[self.operator](evaluate(self.left, values), evaluate(self.right, values))

    def __str__(self) -> str:
        return f"{self.expression}  ({self.source})"


class Environment:
    """Symbols, facts and guards of one trace.

    Args:
        strict: refuse, with a `GuardError` that names the line of the program, whatever would fix a symbolic size to
            one value; without it such a place becomes a guard that `specialises`.

    >>> environment = Environment()
    >>> batch = environment.symbol("batch", hint=8)
    >>> batch > 0, batch * 2 == 2 * batch, environment.guards
    (True, True, [])
    >>> batch > 4
    True
    >>> [guard.expression for guard in environment.guards]
    ['batch > 4']
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.symbols: dict[str, Symbol] = {}
        self.guards: list[Guard] = []
        self.facts = Facts()
        self._decided: dict[tuple[Polynomial, str], bool] = {}
        self._float_statements: dict[str, bool] = {}

    def symbol(self, name: str, hint: int | None = None, *, minimum: int = 2, maximum: int | None = None) -> SymInt:
        """A new named size.

        Args:
            name: an identifier that is not taken.
            hint: the value while tracing, which settles comparisons that the facts leave open; None for a size that
                depends on data, of which such a comparison raises.
            minimum: the least value allowed. 0 and 1 behave unlike other sizes (they are empty, they broadcast), so
                a symbol is at least 2 unless told otherwise.
            maximum: the greatest value allowed.

        Raises:
            ValueError: the name is not an identifier or is taken, or the hint is out of range.
        """
        from .symbolic import SymInt

        if not name.isidentifier():
            raise ValueError(f"expected the name of a symbolic size to be an identifier, got {name!r}")
        if name in self.symbols:
            raise ValueError(f"the symbolic size {name!r} exists already")
        if minimum < 0 or (maximum is not None and maximum < minimum):
            raise ValueError(f"expected 0 <= minimum <= maximum for {name!r}, got {minimum} and {maximum}")
        if hint is not None and not minimum <= hint <= (math.inf if maximum is None else maximum):
            raise ValueError(
                f"the hint {hint} of {name!r} is outside {minimum}..{'' if maximum is None else maximum}: trace with "
                "another size or pass another minimum (0 and 1 are cases of their own, hence the default of 2)"
            )
        self.symbols[name] = Symbol(name, hint, minimum, maximum)
        self.facts.ranges[name] = (minimum, math.inf if maximum is None else maximum)
        return SymInt(Polynomial.unknown(name), self)

    @property
    def hints(self) -> dict[str, int]:
        """The hints of the symbols that have one."""
        return {name: symbol.hint for name, symbol in self.symbols.items() if symbol.hint is not None}

    def hint(self, value: int | float | SymInt | SymFloat) -> int | float:
        """The value that an expression had while tracing."""
        from .symbolic import evaluate, free_symbols

        missing = sorted(name for name in free_symbols(value) if self.symbols[name].hint is None)
        if missing:
            raise GuardError(
                f"the program needs the value of {value}, which depends on data that is not known while tracing "
                f"({', '.join(missing)})",
                source_line(),
            )
        return evaluate(value, self.hints)

    def compare(self, left: SymInt, operator: str, right: int | SymInt, *, fixes: bool = False) -> bool:
        """Whether `left operator right`: proved where the facts suffice, else taken from the hints under a guard.

        `fixes` marks a comparison whose caller needs the value itself (an `int()`, an `if size:`).
        """
        from .symbolic import polynomial_of

        difference = left.polynomial - polynomial_of(right)
        known = self._decided.get((difference, operator))
        if known is None:
            known = self._known(difference, operator)
        if known is not None:
            self._decided[difference, operator] = known
            return known
        result = COMPARISONS[operator](self.hint(left), self.hint(right))
        statement = operator if result else _NEGATED[operator]
        specialises = fixes or (statement == "==" and isinstance(right, int))
        self._record(Guard(left, statement, right, source_line(), specialises))
        self._learn(difference, statement)
        return result

    def compare_float(self, left: SymFloat, operator: str, right: int | float | SymInt | SymFloat) -> bool:
        """As `compare`, for deferred floating-point numbers, about which nothing is proved."""
        text = f"{left} {operator} {right}"
        if text not in self._float_statements:
            result = COMPARISONS[operator](self.hint(left), self.hint(right))
            statement = operator if result else _NEGATED[operator]
            specialises = statement == "==" and isinstance(right, int | float)
            self._record(Guard(left, statement, right, source_line(), specialises))
            self._float_statements[text] = result
        return self._float_statements[text]

    def specialise(self, value: SymInt) -> int:
        """The number that `value` had while tracing; the trace is valid for this number only."""
        number = int(self.hint(value))
        self.compare(value, "==", number, fixes=True)
        return number

    def specialise_float(self, value: SymFloat) -> float:
        """As `specialise`, for a deferred floating-point number."""
        number = float(self.hint(value))
        self.compare_float(value, "==", number)
        return number

    def violations(self, values: Mapping[str, int]) -> list[str]:
        """Which ranges and guards these values break: a trace may be used for values that break none."""
        broken = [
            f"{symbol}, got {values[symbol.name]}"
            for symbol in self.symbols.values()
            if symbol.name in values
            and not symbol.minimum <= values[symbol.name] <= (math.inf if symbol.maximum is None else symbol.maximum)
        ]
        return broken or [str(guard) for guard in self.guards if not guard.holds(values)]

    def __str__(self) -> str:
        symbols = [f"{symbol}, traced with {symbol.hint}" for symbol in self.symbols.values()]
        return "\n".join([*symbols, *(f"guard: {guard}" for guard in self.guards)])

    def _record(self, guard: Guard) -> None:
        if self.strict and guard.specialises:
            from .symbolic import free_symbols

            names = ", ".join(sorted(free_symbols(guard.left)))
            raise GuardError(
                f"the program is valid only where {guard.expression}, but {names} was declared dynamic: keep the size "
                "symbolic there (shape arithmetic, -1 in view or reshape), or trace with a fixed size",
                guard.source,
            )
        self.guards.append(guard)

    def _known(self, difference: Polynomial, operator: str) -> bool | None:
        facts = self.facts
        if operator == "==":
            return facts.is_zero(difference)
        if operator == ">=":
            return facts.is_at_least_zero(difference)
        if operator == "<=":
            return facts.is_at_least_zero(-difference)
        opposite = self._known(difference, _NEGATED[operator])
        return None if opposite is None else not opposite

    def _learn(self, difference: Polynomial, statement: str) -> None:
        facts = self.facts
        if statement == "==":
            facts.learn_zero(difference)
        elif statement == "!=":
            facts.learn_not_zero(difference)
        elif statement.startswith(">"):
            facts.learn_at_least_zero(difference if statement == ">=" else difference - _ONE)
        else:
            facts.learn_at_least_zero(-difference if statement == "<=" else -difference - _ONE)
