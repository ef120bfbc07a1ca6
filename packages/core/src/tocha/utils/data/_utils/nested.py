"""Rebuilding nested containers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, MutableMapping, MutableSequence
from typing import Any


def like_mapping(original: Mapping, items: dict) -> Any:
    """A mapping of the original's type with other values; a plain dictionary where the type cannot be made so."""
    try:
        if isinstance(original, MutableMapping):
            # A copy keeps what the type has besides its items, such as a default factory.
            clone = copy.copy(original)
            clone.update(items)
            return clone
        return type(original)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def like_sequence(original: Any, values: list) -> Any:
    """A sequence of the original's type with other entries; a plain list where the type cannot be made so."""
    try:
        if isinstance(original, MutableSequence):
            clone = copy.copy(original)
            for i, value in enumerate(values):
                clone[i] = value
            return clone
        return type(original)(values)
    except TypeError:
        return values


def is_namedtuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def each(function: Callable, values: Iterable[Any]) -> list:
    return [function(value) for value in values]
