"""The CPU as a device module, as ``torch.cpu``: work is done when a call returns, so that there is nothing to wait
for."""

from __future__ import annotations

from typing import Any

__all__ = ["current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """``"cpu"``."""
    return "cpu"


def set_device(device: Any) -> None:
    """There is one CPU: nothing to choose."""


def synchronize(device: Any = None) -> None:
    """Nothing to wait for."""
