"""The lowering of each operator, found by the operator's name.

A lowering is ``f(builder, *inputs, *attributes)``: inputs are :class:`~tocha_onnx.builder.Array` (None where the
operator got none; one tuple of them where it takes a sequence), attributes are the operator's own, sizes in them may be
symbolic. It returns one Array, or a tuple of them where the operator has several outputs. Where an operator, or a use
of it, has no ONNX form, it raises (or is registered as) :class:`Unsupported`.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

__all__ = ["Unsupported", "find", "find_complex", "lowering", "lowerings", "unsupported"]

Lowering = Callable[..., Any]
_TABLE: dict[str, Any] = {}


class Unsupported(Exception):
    """Why an operator cannot be exported: raised by a lowering, or registered in place of one."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def lowering(*names: str) -> Callable[[Lowering], Lowering]:
    """Register a function as the lowering of the operators of these names.

    Raises:
        ValueError: an operator has one already.

    >>> from tocha_onnx import registry
    >>> "relu" in registry.lowerings()
    True
    """

    def register(fn: Lowering) -> Lowering:
        for name in names:
            _add(name, fn)
        return fn

    return register


def unsupported(reason: str, *names: str) -> None:
    """State that the operators of these names have no ONNX form, and why."""
    for name in names:
        _add(name, Unsupported(reason))


def _add(name: str, entry: Any) -> None:
    if name in _TABLE:
        raise ValueError(f"the operator {name!r} has an ONNX lowering already")
    _TABLE[name] = entry


@functools.cache
def _load() -> None:
    from . import lowerings as package

    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")


def lowerings() -> dict[str, Any]:
    """Every built-in entry: the lowering, or an :class:`Unsupported`."""
    _load()
    return dict(_TABLE)


def find_complex(name: str) -> Lowering:
    """The lowering of an operator where it reads or makes complex numbers.

    Raises:
        Unsupported: there is none.
    """
    _load()
    entry = _TABLE.get(f"complex/{name}")
    if entry is None:
        raise Unsupported("it has no form for complex numbers, which a model keeps as pairs of real ones")
    return entry


def find(name: str) -> Lowering:
    """The lowering of an operator: a built-in one, else one that a plugin registers.

    Raises:
        Unsupported: there is none, or the entry is the reason why.
    """
    _load()
    entry = _TABLE.get(name)
    if entry is None:
        from tocha import plugins

        try:
            entry = plugins.get("lowerings", name)
        except LookupError:
            raise Unsupported("nobody has written its ONNX lowering yet") from None
    if isinstance(entry, Unsupported):
        raise Unsupported(entry.reason)
    return entry
