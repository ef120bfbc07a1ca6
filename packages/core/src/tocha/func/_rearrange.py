"""``rearrange``: transposes, reshapes and merges of dimensions, written as a pattern of names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .._core.tensor import Tensor

_REST = ["..."]  # the group of a bare "..."; "(...)" is another, that merges them
_TOKEN = re.compile(r"\s*(\.\.\.|[A-Za-z_]\w*|\d+|[()])")


def _parse(side: str) -> list[list[str]]:
    """Groups of names, one a dimension; "1" is an empty one."""
    groups: list[list[str]] = []
    inside: list[str] | None = None
    position = 0
    side = side.rstrip()
    while position < len(side):
        match = _TOKEN.match(side, position)
        if match is None:
            raise ValueError(f"Invalid character {side[position:].strip()[0]!r} in rearrange pattern {side.strip()!r}")
        token, position = match.group(1), match.end()
        if token in "()":
            if (token == "(") == (inside is not None):
                raise ValueError(f"Brackets in rearrange pattern {side.strip()!r} must be balanced and not nested")
            if inside is not None:
                groups.append(inside)
            inside = [] if token == "(" else None
        elif token.isdigit():
            if token != "1":
                raise ValueError(f"Only the number 1 may stand for a dimension in a rearrange pattern, got {token}")
            if inside is None:
                groups.append([])
        elif inside is not None:
            inside.append(token)
        else:
            groups.append(_REST if token == "..." else [token])
    if inside is not None:
        raise ValueError(f"Brackets in rearrange pattern {side.strip()!r} must be balanced and not nested")
    names = [n for g in groups for n in g]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"Indexing expression contains duplicate dimension '{name}'")
    return groups


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """The tensor with its dimensions reordered, split and merged as ``pattern`` says: ``"b (h w) c -> b c h w"``.

    Args:
        tensor: a tensor, or a sequence of them that is stacked first.
        pattern: names on both sides of "->"; brackets merge dimensions, "1" is one of size 1, "..." any number.
        axes_lengths: sizes of names that a bracket on the left leaves open.

    Raises:
        ValueError: the pattern does not parse, or its sides have different names.
        RuntimeError: the sizes do not fit.

    Source: https://pytorch.org/docs/stable/generated/torch.func.rearrange.html

    Example:
        >>> import tocha
        >>> tocha.func.rearrange(tocha.ones(2, 6), "a (b c) -> (c a) b", b=2).shape
        tocha.Size([6, 2])
    """
    if not isinstance(tensor, Tensor):
        from .._ops.movement import stack

        tensor = stack(list(tensor))
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = map(_parse, sides)
    names, wanted = {n for g in left for n in g}, {n for g in right for n in g}
    if names != wanted:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {names ^ wanted}")
    unknown = set(axes_lengths) - names
    if unknown:
        raise ValueError(f"Sizes were given for names that the pattern does not have: {sorted(unknown)}")
    return _apply(tensor, left, right, axes_lengths)


def _apply(tensor: Tensor, left: list[list[str]], right: list[list[str]], lengths: dict[str, int]) -> Tensor:
    shape = tuple(tensor.shape)
    rest = len(shape) - len(left) + any(g is _REST for g in left)
    if rest < 0 or (rest and not any(g is _REST for g in left)):
        raise RuntimeError(
            f"Number of dimensions in pattern, {len(left)}, must match the tensor's {len(shape)} dimensions of sizes "
            f"{list(shape)}"
        )
    sizes: list[int] = []
    order: dict[str, list[int]] = {}
    at = 0
    for group in left:
        if group is _REST:
            order["..."] = list(range(len(sizes), len(sizes) + rest))
            sizes += shape[at : at + rest]
            at += rest
            continue
        for name, size in zip(group, _split(group, shape[at], lengths)):
            order[name] = [len(sizes)]
            sizes.append(size)
        at += 1
    permutation = [d for g in right for n in g for d in order[n]]
    result: Any = tensor.reshape(sizes).permute(permutation)
    final: list[int] = []
    for group in right:
        parts = [sizes[d] for n in group for d in order[n]]
        if group is _REST:
            final += parts
        else:
            total = 1
            for p in parts:
                total *= p
            final.append(total)
    return result.reshape(final)


def _split(group: list[str], size: int, lengths: dict[str, int]) -> list[int]:
    """The size of each name in a group that makes up a dimension of ``size``."""
    known, open_names = 1, [n for n in group if n not in lengths]
    for name in group:
        known *= lengths.get(name, 1)
    if len(open_names) > 1:
        raise ValueError(f"The sizes of all but one of {group} have to be given, missing: {open_names}")
    if (open_names and (not known or size % known)) or (not open_names and known != size):
        raise RuntimeError(f"A dimension of size {size} cannot be split into {group} with the given sizes {lengths}")
    return [lengths.get(n, size // known if known else 0) for n in group]
