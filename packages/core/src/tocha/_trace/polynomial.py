"""Polynomials with integer coefficients over named sizes, in a canonical form: equal sizes are equal objects.

What is not a polynomial (floor division, remainder, minimum, maximum) enters as one more unknown, an `Opaque`.
Nothing here knows what values the unknowns may take: that is `facts.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeAlias

__all__ = ["Monomial", "Opaque", "Polynomial"]

Monomial: TypeAlias = "tuple[str, ...]"
"""A product of unknowns: sorted, with repeats; the empty product is the constant term."""


class Opaque(str):
    """A function of polynomials, used as an unknown.

    It is a `str` (its own text) so that symbols and opaque unknowns sort, hash and compare alike; a symbol's name is
    an identifier, which the text of a function call never is.
    """

    __slots__ = ("kind", "arguments")
    kind: str
    arguments: tuple[Polynomial, ...]

    def __new__(cls, kind: str, *arguments: Polynomial) -> Opaque:
        if kind in ("//", "%"):
            left, right = (_parenthesised(str(argument)) for argument in arguments)
            text = f"{left}{kind}{right}" if kind == "//" else f"{left} % {right}"
        else:
            text = f"{kind}({', '.join(map(str, arguments))})"
        self = super().__new__(cls, text)
        self.kind = kind
        self.arguments = arguments
        return self

    def __getnewargs__(self) -> tuple[object, ...]:  # type: ignore[override]
        return (self.kind, *self.arguments)


class Polynomial:
    """An immutable sum of `coefficient * monomial`; no coefficient is zero."""

    __slots__ = ("terms", "_hash", "_text")

    def __init__(self, terms: dict[Monomial, int]) -> None:
        self.terms = terms
        self._hash: int | None = None
        self._text: str | None = None

    @classmethod
    def constant(cls, value: int) -> Polynomial:
        return cls({(): value} if value else {})

    @classmethod
    def unknown(cls, atom: str) -> Polynomial:
        return cls({(atom,): 1})

    @property
    def as_constant(self) -> int | None:
        """The value if there is no unknown in it, else None."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    def atoms(self) -> set[str]:
        """The unknowns that appear directly (those inside an opaque one do not)."""
        return {atom for monomial in self.terms for atom in monomial}

    def symbols(self) -> set[str]:
        """The named sizes that appear at any depth."""
        found: set[str] = set()
        for atom in self.atoms():
            if isinstance(atom, Opaque):
                found.update(*(argument.symbols() for argument in atom.arguments))
            else:
                found.add(atom)
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __add__(self, other: Polynomial) -> Polynomial:
        return self._plus(other, 1)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self._plus(other, -1)

    def _plus(self, other: Polynomial, factor: int) -> Polynomial:
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            total = terms.get(monomial, 0) + factor * coefficient
            if total:
                terms[monomial] = total
            else:
                terms.pop(monomial, None)
        return Polynomial(terms)

    def __neg__(self) -> Polynomial:
        return Polynomial({monomial: -coefficient for monomial, coefficient in self.terms.items()})

    def __mul__(self, other: Polynomial) -> Polynomial:
        terms: dict[Monomial, int] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                monomial = tuple(sorted(left + right))
                terms[monomial] = terms.get(monomial, 0) + a * b
        return Polynomial({monomial: coefficient for monomial, coefficient in terms.items() if coefficient})

    def __str__(self) -> str:
        if self._text is None:
            self._text = "".join(self._pieces()) or "0"
        return self._text

    __repr__ = __str__

    def _pieces(self) -> Iterator[str]:
        for position, monomial in enumerate(sorted(self.terms, key=_order)):
            coefficient = self.terms[monomial]
            if position:
                yield " + " if coefficient > 0 else " - "
            elif coefficient < 0:
                yield "-"
            yield _term_text(abs(coefficient), monomial, alone=coefficient == 1)

    def leading(self) -> Monomial:
        """The first monomial in an order that multiplication respects (so that long division ends)."""
        return min(self.terms, key=_order)

    def divide(self, divisor: Polynomial) -> tuple[Polynomial, Polynomial]:
        """Long division: `(quotient, rest)` with `self == quotient * divisor + rest`, whatever the unknowns are.

        A term stays in the rest where the divisor's leading term does not divide it; a coefficient leaves its
        remainder there. A zero rest means that the division is exact.
        """
        lead = divisor.leading()
        scale = divisor.terms[lead]
        quotient: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        work = self
        while work.terms:
            monomial = work.leading()
            coefficient = work.terms[monomial]
            partial = _without(monomial, lead)
            whole, left = (0, coefficient) if partial is None else divmod(coefficient, scale)
            if left:
                rest[monomial] = left
                work = work - Polynomial({monomial: left})
            if whole:
                assert partial is not None
                quotient[partial] = whole
                work = work - Polynomial({partial: whole}) * divisor
        return Polynomial(quotient), Polynomial(rest)

    def common_factor(self, other: Polynomial) -> Polynomial:
        """The largest single term that divides every term of both polynomials (its coefficient is positive)."""
        terms = [*self.terms.items(), *other.terms.items()]
        content = math.gcd(*(coefficient for _, coefficient in terms))
        shared = terms[0][0]
        for monomial, _ in terms[1:]:
            shared = _intersection(shared, monomial)
        return Polynomial({shared: content})


def _order(monomial: Monomial) -> tuple[int, Monomial]:
    return -len(monomial), monomial


def _without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """`monomial / divisor`, or None where it does not divide."""
    left = list(monomial)
    for atom in divisor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _intersection(left: Monomial, right: Monomial) -> Monomial:
    pool = list(right)
    shared = []
    for atom in left:
        if atom in pool:
            pool.remove(atom)
            shared.append(atom)
    return tuple(shared)


def _term_text(coefficient: int, monomial: Monomial, alone: bool) -> str:
    if not monomial:
        return str(coefficient)
    factors = [] if coefficient == 1 else [str(coefficient)]
    for atom in dict.fromkeys(monomial):
        power = monomial.count(atom)
        text = atom if alone and len(monomial) == 1 else _parenthesised(atom)
        factors.append(text if power == 1 else f"{text}**{power}")
    return "*".join(factors)


def _parenthesised(text: str) -> str:
    """The text as an operand that binds tighter than any operator."""
    if text.isidentifier() or text.isdigit():
        return text
    if text.startswith(("min(", "max(")) and text.find(")") == len(text) - 1:
        return text
    return f"({text})"
