"""Nested containers of values, taken apart and put together again: tuples (named too), lists and dictionaries."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from typing import Any


class Spec:
    """The structure of a nested container; a leaf's is ``LEAF``."""

    def __init__(self, kind: type | None, context: Any = None, children: tuple[Spec, ...] = ()) -> None:
        self.kind, self.context, self.children = kind, context, children
        self.leaves: int = 1 if kind is None else sum(c.leaves for c in children)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and (self.kind, self.context, self.children) == (
            other.kind,
            other.context,
            other.children,
        )

    def __hash__(self) -> int:
        return hash((self.kind, len(self.children)))

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        if self.context is not None:
            inner = ", ".join(f"{k!r}: {c!r}" for k, c in zip(self.context, self.children))
            return f"{{{inner}}}"
        inner = ", ".join(map(repr, self.children))
        return f"[{inner}]" if self.kind is list else f"({inner}{',' if len(self.children) == 1 else ''})"


LEAF = Spec(None)
_DICTIONARIES = (dict, collections.OrderedDict, collections.defaultdict)


def _parts(value: Any) -> tuple[type, Any, list] | None:
    kind = type(value)
    if kind in _DICTIONARIES:
        return kind, tuple(value), list(value.values())
    if kind is list or kind is tuple or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return kind, None, list(value)
    return None


def flatten(value: Any) -> tuple[list, Spec]:
    """The leaves of a nested container in order, and its structure."""
    parts = _parts(value)
    if parts is None:
        return [value], LEAF
    kind, context, items = parts
    leaves: list = []
    children = []
    for item in items:
        found, spec = flatten(item)
        leaves += found
        children.append(spec)
    return leaves, Spec(kind, context, tuple(children))


def unflatten(leaves: Any, spec: Spec) -> Any:
    """The container of ``spec`` with these leaves."""
    return _build(iter(leaves), spec)


def _build(leaves: Iterator, spec: Spec) -> Any:
    kind = spec.kind
    if kind is None:
        return next(leaves)
    items = [_build(leaves, c) for c in spec.children]
    if spec.context is not None:
        pairs = zip(spec.context, items)
        return dict(pairs) if kind is collections.defaultdict else kind(pairs)
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def tree_map(fn: Callable, value: Any) -> Any:
    """``value`` with ``fn`` of each leaf."""
    leaves, spec = flatten(value)
    return unflatten([fn(leaf) for leaf in leaves], spec)


def spread(value: Any, spec: Spec) -> list | None:
    """``value``, a prefix of the structure ``spec``, with one entry for each leaf; None where the structures differ."""
    parts = _parts(value)
    if parts is None:
        return [value] * spec.leaves
    kind, context, items = parts
    if kind is not spec.kind or context != spec.context or len(items) != len(spec.children):
        return None
    out: list = []
    for item, child in zip(items, spec.children):
        found = spread(item, child)
        if found is None:
            return None
        out += found
    return out
