"""Counts of what a program makes host and device wait for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["Transfers", "count_transfers", "synchronised", "uploaded"]


@dataclass
class Transfers:
    """`synchronisations`: times the host waited for the device; `uploads`: arrays copied from host to device."""

    synchronisations: int = 0
    uploads: int = 0


_active: list[Transfers] = []


@contextmanager
def count_transfers() -> Iterator[Transfers]:
    """Count what happens inside the block; blocks may be nested."""
    transfers = Transfers()
    _active.append(transfers)
    try:
        yield transfers
    finally:
        _active.pop()


def synchronised() -> None:
    """The host waited for the device."""
    for transfers in _active:
        transfers.synchronisations += 1


def uploaded() -> None:
    """An array went from host to device."""
    for transfers in _active:
        transfers.uploads += 1
