"""Moving a batch into memory from which a GPU copies fast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .nested import each, is_namedtuple, like_mapping, like_sequence


def pin_memory(data: Any, device: Any = None) -> Any:
    """``data`` with everything that has a method ``pin_memory`` pinned, inside nested containers too."""
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return like_mapping(data, {key: pin_memory(value, device) for key, value in data.items()})
    if is_namedtuple(data):
        return type(data)(*each(pin_memory, data))
    if isinstance(data, tuple):
        return type(data)(each(pin_memory, data))
    if isinstance(data, Sequence):
        return like_sequence(data, each(pin_memory, data))
    return data
