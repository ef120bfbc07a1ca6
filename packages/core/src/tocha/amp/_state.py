"""Which autocast is on in this thread, its dtypes, and the cache of cast weights."""

from __future__ import annotations

import threading
from typing import Any

from .._core.dtypes import bfloat16, float16

_DEFAULTS = {"cpu": bfloat16, "cuda": float16}


class _State(threading.local):
    def __init__(self) -> None:
        self.enabled: dict[str, bool] = dict.fromkeys(_DEFAULTS, False)
        self.dtypes: dict[str, Any] = dict(_DEFAULTS)
        self.nesting = 0
        self.cache_enabled = True
        self.cache: dict[int, tuple[Any, Any]] = {}
        self.on = False  # any device's


state = _State()


def check_device_type(device_type: str) -> str:
    if device_type not in _DEFAULTS:
        raise RuntimeError(f"unknown device type for autocast: {device_type!r}; tocha has cpu and cuda")
    return device_type


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Is autocast on for operators of a device type in this thread?"""
    return state.enabled.get(device_type, False)


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Turn autocast on or off for a device type: ``set_autocast_enabled("cpu", True)``."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    if enabled:
        from ._casting import install

        install()
    state.enabled[check_device_type(device_type)] = bool(enabled)
    state.on = any(state.enabled.values())


def get_autocast_dtype(device_type: str) -> Any:
    """The dtype that matrix products and convolutions of a device type run in under autocast."""
    return state.dtypes[check_device_type(device_type)]


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set what :func:`get_autocast_dtype` gives."""
    state.dtypes[check_device_type(device_type)] = dtype


def autocast_increment_nesting() -> int:
    """Enter one more region; the depth."""
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting() -> int:
    """Leave a region; the depth."""
    state.nesting -= 1
    return state.nesting


def clear_autocast_cache() -> None:
    """Forget cast weights."""
    state.cache.clear()


def is_autocast_cache_enabled() -> bool:
    """Are weights cast once a region?"""
    return state.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set what :func:`is_autocast_cache_enabled` gives."""
    state.cache_enabled = enabled


def get_autocast_cpu_dtype() -> Any:
    """``get_autocast_dtype("cpu")``."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> Any:
    """``get_autocast_dtype("cuda")``."""
    return get_autocast_dtype("cuda")


def is_autocast_cpu_enabled() -> bool:
    """``is_autocast_enabled("cpu")``."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """``set_autocast_enabled("cpu", enabled)``."""
    set_autocast_enabled("cpu", enabled)


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """``set_autocast_dtype("cpu", dtype)``."""
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: Any) -> None:
    """``set_autocast_dtype("cuda", dtype)``."""
    set_autocast_dtype("cuda", dtype)
