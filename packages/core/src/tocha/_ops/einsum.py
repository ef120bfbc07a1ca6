"""Einstein summation, two operands at a time through matrix products."""

from __future__ import annotations

import string
from typing import Any

from .._core.broadcast import operators
from .._core.tensor import Tensor
from .contraction import matmul_op
from .dims import product
from .movement import permute_dims, reshape
from .reduction import sum_dims

__all__ = ["einsum"]

_LETTERS = string.ascii_uppercase + string.ascii_lowercase


def einsum(*args: Any) -> Tensor:
    """Sum of products by index letters: ``einsum("ij,jk->ik", a, b)``, or ``einsum(a, [0, 1], b, [1, 2], [0, 2])``.

    Repeated letters in one operand take a diagonal, ``...`` broadcasts, a missing ``->`` sorts the letters that occur
    once.

    Raises:
        RuntimeError: the equation does not fit the operands.

    Example:
        >>> import tocha
        >>> tocha.einsum("ii->i", tocha.eye(3))
        tensor([1., 1., 1.])
    """
    equation, operands = _equation(args)
    inputs, output = _parse(equation, operands)
    terms = []
    for letters, t in zip(inputs, operands):
        terms.append(_diagonals(letters, t))
    sizes = _sizes(terms, equation)
    terms = [(letters, t) for letters, t in terms]
    while len(terms) > 1:
        (la, a), (lb, b) = terms[0], terms[1]
        rest = set(output).union(*[set(letters) for letters, _ in terms[2:]])
        terms[:2] = [_pair(la, a, lb, b, rest, sizes)]
    letters, t = terms[0]
    drop = tuple([i for i, c in enumerate(letters) if c not in output])
    if drop:
        t = sum_dims(t, drop, False)
        letters = [c for c in letters if c in output]
    order = tuple([letters.index(c) for c in output])
    return permute_dims(t, order) if order != tuple(range(len(order))) else t


def _equation(args: tuple) -> tuple[str, list[Tensor]]:
    if not args:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], str):
        operands = list(args[1][:]) if len(args) == 2 and isinstance(args[1], (list, tuple)) else list(args[1:])
        if not operands:
            raise ValueError("einsum(): must provide at least one operand")
        return args[0].replace(" ", ""), operands
    operands, lists, output = [], [], None
    items = list(args)
    if len(items) % 2:
        output = items.pop()
    for t, subscripts in zip(items[::2], items[1::2]):
        operands.append(t)
        lists.append("".join(_letter(s) for s in subscripts))
    equation = ",".join(lists)
    return equation if output is None else equation + "->" + "".join(_letter(s) for s in output), operands


def _letter(s: Any) -> str:
    if s is Ellipsis:
        return "..."
    if not 0 <= s < 52:
        raise ValueError(f"einsum(): subscripts in subscript list should be in range [0, 52), but got {s}")
    return _LETTERS[s]


def _parse(equation: str, operands: list[Tensor]) -> tuple[list[list[str]], list[str]]:
    """The index letters of each operand and of the output; ``...`` becomes letters of its own, aligned from the
    right."""
    left, arrow, right = equation.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(operands):
        raise RuntimeError(
            f"einsum(): {'more' if len(inputs) < len(operands) else 'fewer'} operands were provided than specified in "
            "the equation"
        )
    broadcast = 0
    for term, t in zip(inputs, operands):
        plain = term.replace("...", "")
        for c in plain:
            if c not in _LETTERS:
                raise RuntimeError(
                    f"einsum(): invalid subscript given at index {equation.index(c)} in the equation string, "
                    "subscripts must be in [a-zA-Z]"
                )
        extra = len(t._data.shape) - len(plain)
        if "..." in term:
            if extra < 0:
                raise RuntimeError(
                    f"einsum(): the number of subscripts in the equation ({len(plain)}) is more than the number of "
                    f"dimensions ({len(t._data.shape)}) for an operand"
                )
            broadcast = max(broadcast, extra)
        elif extra:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(plain)}) does not match the number of "
                f"dimensions ({len(t._data.shape)}) for an operand and no ellipsis was given"
            )
    stars = [f"*{i}" for i in range(broadcast)]
    lists = []
    for term, t in zip(inputs, operands):
        if "..." in term:
            before, _, after = term.partition("...")
            extra = len(t._data.shape) - len(before) - len(after)
            lists.append([*before, *(stars[broadcast - extra :] if extra else []), *after])
        else:
            lists.append(list(term))
    if arrow:
        if "..." in right:
            before, _, after = right.partition("...")
            output = [*before, *stars, *after]
        else:
            output = list(right)
        for c in output:
            if output.count(c) > 1:
                raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
            if not any(c in letters for letters in lists):
                raise RuntimeError(
                    f"einsum(): output subscript {c} does not appear in the equation for any input operand"
                )
    else:
        letters = [c for term in lists for c in term if not c.startswith("*")]
        output = stars + sorted([c for c in set(letters) if letters.count(c) == 1])
    return lists, output


def _diagonals(letters: list[str], t: Tensor) -> tuple[list[str], Tensor]:
    while True:
        twice = next((c for c in letters if letters.count(c) > 1), None)
        if twice is None:
            return letters, t
        i = letters.index(twice)
        j = letters.index(twice, i + 1)
        if t._data.shape[i] != t._data.shape[j]:
            raise RuntimeError(
                f"einsum(): subscript {twice} is repeated for operand but the sizes don't match, {t._data.shape[j]} != "
                f"{t._data.shape[i]}"
            )
        t = t.diagonal(0, i, j)
        letters = [c for k, c in enumerate(letters) if k not in (i, j)] + [twice]


def _sizes(terms: list, equation: str) -> dict[str, Any]:
    sizes: dict[str, Any] = {}
    for letters, t in terms:
        for c, n in zip(letters, t._data.shape):
            have = sizes.get(c, 1)
            if type(have) is int and have == 1:
                sizes[c] = n
            elif not (type(n) is int and n == 1) and have is not n and have != n:
                raise RuntimeError(
                    f"einsum(): operands do not broadcast with remapped shapes [original->remapped]: subscript {c} has "
                    f"sizes {have} and {n} in {equation}"
                )
    return sizes


def _pair(la: list[str], a: Tensor, lb: list[str], b: Tensor, kept: set, sizes: dict) -> tuple[list[str], Tensor]:
    """Contract two operands over the letters that nothing later needs."""

    def one(t: Tensor, letters: list[str], c: str) -> bool:
        size = t._data.shape[letters.index(c)]
        return type(size) is int and size == 1 and not _size_is_one(sizes[c])

    la, a = _summed(la, a, lambda c: c not in lb and c not in kept)
    lb, b = _summed(lb, b, lambda c: c not in la and c not in kept)
    # a broadcast dimension of size 1 against a real one cannot be contracted by a matrix product
    for c in [c for c in la if c in lb]:
        if one(a, la, c) or one(b, lb, c):
            if c in kept:
                a, b = _widened(a, la, c, sizes), _widened(b, lb, c, sizes)
            elif one(a, la, c):
                lb, b = _summed(lb, b, lambda x, c=c: x == c)
                la, a = _summed(la, a, lambda x, c=c: x == c)
            else:
                la, a = _summed(la, a, lambda x, c=c: x == c)
                lb, b = _summed(lb, b, lambda x, c=c: x == c)
    batch = [c for c in la if c in lb and c in kept]
    over = [c for c in la if c in lb and c not in kept]
    left = [c for c in la if c not in lb]
    right = [c for c in lb if c not in la]
    shape = lambda letters, t, names: [t._data.shape[letters.index(c)] for c in names]  # noqa: E731
    sb, so = shape(la, a, batch), shape(la, a, over)
    sl, sr = shape(la, a, left), shape(lb, b, right)
    if not over and not left and not right:
        pa = permute_dims(a, tuple([la.index(c) for c in batch]))
        pb = permute_dims(b, tuple([lb.index(c) for c in batch]))
        return batch, pa * pb
    pa = permute_dims(a, tuple([la.index(c) for c in batch + left + over]))
    pb = permute_dims(b, tuple([lb.index(c) for c in batch + over + right]))
    x = reshape(pa, (product(sb), product(sl), product(so)))
    y = reshape(pb, (product(sb), product(so), product(sr)))
    r = x * y if not over else matmul_op(x, y)
    return batch + left + right, reshape(r, (*sb, *sl, *sr))


def _size_is_one(n: Any) -> bool:
    return type(n) is int and n == 1


def _summed(letters: list[str], t: Tensor, drop: Any) -> tuple[list[str], Tensor]:
    dims = tuple([i for i, c in enumerate(letters) if drop(c)])
    if not dims:
        return letters, t
    return [c for c in letters if not drop(c)], sum_dims(t, dims, False)


def _widened(t: Tensor, letters: list[str], c: str, sizes: dict) -> Tensor:
    shape = list(t._data.shape)
    shape[letters.index(c)] = sizes[c]
    return operators["expand"](t, tuple(shape))
