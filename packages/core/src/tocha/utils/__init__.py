"""Tools around training: activation checkpoints, data loading, hooks. Submodules are imported on first use."""

from __future__ import annotations

from typing import Any

_SUBMODULES = ("checkpoint", "data", "hooks")


def __getattr__(name: str) -> Any:
    if name not in _SUBMODULES:
        raise AttributeError(f"module 'tocha.utils' has no attribute {name!r}")
    import importlib

    return importlib.import_module(f"{__name__}.{name}")
