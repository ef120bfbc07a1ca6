"""Devices: ``cpu`` is NumPy, ``cuda`` is CuPy, ``meta`` has shapes without memory."""

from __future__ import annotations

from typing import Any

_TYPES = ("cpu", "cuda", "meta")


class device:
    """Where a tensor lives: ``device("cpu")``, ``device("cuda:1")``, ``device("cuda", 1)``, ``device("meta")``.

    Usable as a context manager: inside, factory functions create tensors there.

    Raises:
        RuntimeError: the type is unknown or the string does not parse.

    Example:
        >>> import tocha
        >>> tocha.device("cuda:1").index
        1
    """

    __slots__ = ("type", "index", "_previous")

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index
        elif isinstance(type, int):
            type, index = "cuda", type
        elif not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str or int, not {type.__class__.__name__}")
        if ":" in type:
            if index is not None:
                raise RuntimeError(
                    f"type (string) must not include an index because index was passed explicitly: {type}"
                )
            type, _, number = type.partition(":")
            if not number.isdigit():
                raise RuntimeError(f"Invalid device string: '{type}:{number}'")
            index = int(number)
        if type not in _TYPES:
            raise RuntimeError(f"Expected one of cpu, cuda, meta device type at start of device string: {type}")
        self.type: str = type
        self.index: int | None = index

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, device):
            return self.type == other.type and self.index == other.index
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple:
        return device, ((self.type,) if self.index is None else (self.type, self.index))

    def __enter__(self) -> device:
        self._previous = set_default_device(self)
        return self

    def __exit__(self, *error: object) -> None:
        set_default_device(self._previous)


CPU = device("cpu")
META = device("meta")
_default: device = CPU


def get_default_device() -> device:
    """The device of tensors that factory functions create."""
    return _default


def set_default_device(value: device | str | None) -> device:
    """Make ``value`` the device of new tensors; returns the device before it."""
    global _default
    previous, _default = _default, CPU if value is None else device(value)
    return previous


def as_device(value: Any) -> device:
    """``value`` as a device; ``None`` is the default device."""
    if value is None:
        return _default
    return value if type(value) is device else device(value)
