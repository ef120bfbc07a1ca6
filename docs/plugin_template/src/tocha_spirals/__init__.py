"""Interleaved spirals: points in the plane that no straight line tells apart."""

from typing import Any

__all__ = ["Spirals"]


def __getattr__(name: str) -> Any:
    # Listing plugins imports this package: what is heavy waits until it is asked for.
    if name == "Spirals":
        from tocha_spirals.dataset import Spirals

        return Spirals
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
