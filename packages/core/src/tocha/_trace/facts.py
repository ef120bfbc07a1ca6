"""What is known about named sizes, what follows from it, and the simplifications that need it.

A statement about sizes is either `p >= 0` or `p == 0` for a polynomial `p`. Everything here is sound but not
complete: None means "cannot tell", and is the moment for a guard.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from .polynomial import Opaque, Polynomial

__all__ = ["Facts"]

_INF = math.inf
_ONE = Polynomial.constant(1)
_DEPTH = 4


class Facts:
    """Ranges of the symbols, and statements assumed on the way (the guards)."""

    def __init__(self) -> None:
        self.ranges: dict[str, tuple[int, float]] = {}
        self._at_least_zero: list[Polynomial] = []
        self._not_zero: set[Polynomial] = set()

    # -- learning ------------------------------------------------------------------------------------------------

    def learn_at_least_zero(self, p: Polynomial) -> None:
        self._at_least_zero.append(p)

    def learn_zero(self, p: Polynomial) -> None:
        self._at_least_zero += [p, -p]

    def learn_not_zero(self, p: Polynomial) -> None:
        self._not_zero |= {p, -p}

    # -- deciding ------------------------------------------------------------------------------------------------

    def is_at_least_zero(self, p: Polynomial) -> bool | None:
        if self._proves(p):
            return True
        if self._proves(-p - _ONE):
            return False
        return None

    def is_zero(self, p: Polynomial) -> bool | None:
        value = p.as_constant
        if value is not None:
            return value == 0
        if p in self._not_zero or self._proves(p - _ONE) or self._proves(-p - _ONE):
            return False
        content = math.gcd(*(coefficient for monomial, coefficient in p.terms.items() if monomial))
        if p.terms.get((), 0) % content:
            return False
        return True if self._proves(p) and self._proves(-p) else None

    def _proves(self, p: Polynomial) -> bool:
        """Whether `p >= 0` follows from the ranges and from at most one assumed statement."""
        if self._follows(p, _DEPTH):
            return True
        symbols = p.symbols()
        relevant = (known for known in self._at_least_zero if symbols & known.symbols())
        return any(self._follows(p - known, _DEPTH) for known in relevant)

    def _follows(self, p: Polynomial, depth: int) -> bool:
        if self.bounds(p)[0] >= 0:
            return True
        if depth == 0:
            return False
        return any(
            all(self._follows(weaker, depth - 1) for weaker in alternatives) for alternatives in self._relaxations(p)
        )

    def _relaxations(self, p: Polynomial) -> Iterator[tuple[Polynomial, ...]]:
        """Groups of polynomials: where every one of a group is at least 0, so is `p`.

        An opaque unknown that appears linearly, `p = a * unknown + b`, is replaced by what bounds it on the side that
        the sign of `a` asks for.
        """
        for atom in p.atoms():
            if not isinstance(atom, Opaque):
                continue
            split = _linear(p, atom)
            if split is None:
                continue
            a, b = split
            if self.bounds(a)[0] >= 0:
                rising = True
            elif self.bounds(a)[1] <= 0:
                rising = False
            else:
                continue
            arguments = atom.arguments
            if atom.kind in ("//", "%"):
                numerator, divisor = arguments
                if self.bounds(divisor)[0] <= 0:
                    continue
                if atom.kind == "//":
                    yield ((a * (numerator - divisor + _ONE if rising else numerator) + b * divisor),)
                elif rising:
                    yield (b,)
                else:
                    yield (a * (divisor - _ONE) + b,)
                    if self.bounds(numerator)[0] >= 0:
                        yield (a * numerator + b,)
            else:
                candidates = tuple(a * argument + b for argument in arguments)
                if (atom.kind == "max") == rising:
                    yield from ((candidate,) for candidate in candidates)
                else:
                    yield candidates

    # -- bounds --------------------------------------------------------------------------------------------------

    def bounds(self, p: Polynomial) -> tuple[float, float]:
        """The least and the greatest value that the ranges allow, or something wider."""
        ranges = {atom: self._atom_bounds(atom) for atom in p.atoms()}
        if any(low == -_INF for low, _ in ranges.values()):
            return _interval_sum(p, ranges)
        # Measured from their least values the unknowns are at least 0, and a*b - a becomes a sum of positive terms.
        shift = {atom: int(low) for atom, (low, _) in ranges.items()}
        return _interval_sum(_shifted(p, shift), {atom: (0, high - low) for atom, (low, high) in ranges.items()})

    def _atom_bounds(self, atom: str) -> tuple[float, float]:
        if not isinstance(atom, Opaque):
            return self.ranges[atom]
        limits = [self.bounds(argument) for argument in atom.arguments]
        if atom.kind == "min":
            return min(low for low, _ in limits), min(high for _, high in limits)
        if atom.kind == "max":
            return max(low for low, _ in limits), max(high for _, high in limits)
        (low, high), (divisor_low, divisor_high) = limits
        if divisor_low <= 0:
            return -_INF, _INF
        if atom.kind == "%":
            return 0, min(divisor_high - 1, high) if low >= 0 else divisor_high - 1
        least = _floor_ratio(low, divisor_high if low >= 0 else divisor_low)
        return least, _floor_ratio(high, divisor_low if high >= 0 else divisor_high)

    # -- simplifying ---------------------------------------------------------------------------------------------

    def floor_divide(self, p: Polynomial, divisor: Polynomial) -> Polynomial:
        """`p // divisor`; the divisor is not zero."""
        if divisor.terms[divisor.leading()] < 0:
            p, divisor = -p, -divisor
        quotient, rest, settled = self._reduce(p, divisor)
        if settled:
            return quotient
        positive = self.bounds(divisor)[0] > 0
        if positive and p.leading() and p.terms[p.leading()] < 0:
            # One form for both ways to round up, -(-n // 2) and (n + 1) // 2.
            return -self.floor_divide(divisor - p - _ONE, divisor)
        if positive:
            rest = _without_idle_offset(rest, divisor)
        common = rest.common_factor(divisor)
        if common != _ONE:
            return quotient + self.floor_divide(rest.divide(common)[0], divisor.divide(common)[0])
        return quotient + (_nested_floor(rest, divisor, self) or Polynomial.unknown(Opaque("//", rest, divisor)))

    def modulo(self, p: Polynomial, divisor: Polynomial) -> Polynomial:
        """`p % divisor`, with the divisor's sign as in Python; the divisor is not zero."""
        if divisor.terms[divisor.leading()] < 0:
            return -self.modulo(-p, -divisor)
        _, rest, settled = self._reduce(p, divisor)
        if settled:
            return rest
        common = rest.common_factor(divisor)
        if common != _ONE:
            return common * self.modulo(rest.divide(common)[0], divisor.divide(common)[0])
        return Polynomial.unknown(Opaque("%", rest, divisor))

    def _reduce(self, p: Polynomial, divisor: Polynomial) -> tuple[Polynomial, Polynomial, bool]:
        """`quotient, rest, settled`: `p == quotient * divisor + rest`; settled: those of `//` and `%`."""
        quotient, rest = p.divide(divisor)
        if not rest.terms or self._is_remainder(rest, divisor):
            return quotient, rest, True
        if self._is_remainder(rest + divisor, divisor):
            return quotient - _ONE, rest + divisor, True
        if len(divisor.terms) > 1:
            # a // (a + b) says more than 1 + -b // (a + b)
            return Polynomial({}), p, False
        return quotient, rest, False

    def _is_remainder(self, rest: Polynomial, divisor: Polynomial) -> bool:
        return self._proves(rest) and self._proves(divisor - rest - _ONE)

    def extremum(self, kind: str, arguments: list[Polynomial]) -> Polynomial:
        """The smallest ("min") or largest ("max") argument."""
        flat: list[Polynomial] = []
        for p in arguments:
            inner = next(iter(p.terms))[0] if _is_single(p) else None
            flat += inner.arguments if isinstance(inner, Opaque) and inner.kind == kind else [p]
        kept: list[Polynomial] = []
        for p in dict.fromkeys(flat):
            if any(self._proves(p - q if kind == "min" else q - p) for q in kept):
                continue
            kept = [q for q in kept if not self._proves(q - p if kind == "min" else p - q)] + [p]
        if len(kept) == 1:
            return kept[0]
        return Polynomial.unknown(Opaque(kind, *sorted(kept, key=str)))


def _is_single(p: Polynomial) -> bool:
    """Whether `p` is one unknown."""
    return len(p.terms) == 1 and all(len(monomial) == 1 and c == 1 for monomial, c in p.terms.items())


def _without_idle_offset(rest: Polynomial, divisor: Polynomial) -> Polynomial:
    """`(4*a + 3) // 2d` is `(4*a + 2) // 2d` for a positive d: what cannot change the quotient is dropped."""
    content = math.gcd(*divisor.terms.values(), *(c for monomial, c in rest.terms.items() if monomial))
    return rest - Polynomial.constant(rest.terms.get((), 0) % content)


def _nested_floor(rest: Polynomial, divisor: Polynomial, facts: Facts) -> Polynomial | None:
    """`(x // a + c) // b` is `(x + c*a) // (a*b)` for positive numbers a and b."""
    outer = divisor.as_constant
    if outer is None or outer <= 0:
        return None
    inner = [monomial for monomial in rest.terms if monomial]
    if len(inner) != 1 or len(inner[0]) != 1 or rest.terms[inner[0]] != 1:
        return None
    atom = inner[0][0]
    if not isinstance(atom, Opaque) or atom.kind != "//":
        return None
    numerator, scale = atom.arguments
    if (scale.as_constant or 0) <= 0:
        return None
    offset = Polynomial.constant(rest.terms.get((), 0))
    return facts.floor_divide(numerator + offset * scale, scale * divisor)


def _linear(p: Polynomial, atom: str) -> tuple[Polynomial, Polynomial] | None:
    """`(a, b)` with `p == a * atom + b`, or None where the atom appears in a higher power."""
    a: dict[tuple[str, ...], int] = {}
    b: dict[tuple[str, ...], int] = {}
    for monomial, coefficient in p.terms.items():
        if atom not in monomial:
            b[monomial] = coefficient
        elif monomial.count(atom) == 1:
            a[tuple(other for other in monomial if other != atom)] = coefficient
        else:
            return None
    return Polynomial(a), Polynomial(b)


def _shifted(p: Polynomial, shift: dict[str, int]) -> Polynomial:
    """`p` with every unknown replaced by itself plus its shift."""
    total = Polynomial({})
    for monomial, coefficient in p.terms.items():
        product = Polynomial.constant(coefficient)
        for atom in monomial:
            product = product * (Polynomial.unknown(atom) + Polynomial.constant(shift[atom]))
        total = total + product
    return total


def _interval_sum(p: Polynomial, ranges: dict[str, tuple[float, float]]) -> tuple[float, float]:
    low: float = 0
    high: float = 0
    for monomial, coefficient in p.terms.items():
        term: tuple[float, float] = (coefficient, coefficient)
        for atom in monomial:
            corners = [_times(x, y) for x in term for y in ranges[atom]]
            term = min(corners), max(corners)
        low += term[0]
        high += term[1]
    return low, high


def _times(x: float, y: float) -> float:
    return x * y if x and y else 0


def _floor_ratio(x: float, y: float) -> float:
    if math.isinf(x):
        return x
    if math.isinf(y):
        return 0 if x >= 0 else -1
    return x // y
