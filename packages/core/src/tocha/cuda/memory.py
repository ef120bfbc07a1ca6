"""Memory of CUDA devices, from CuPy's pool; all in bytes."""

from __future__ import annotations

from typing import Any

from .devices import index_of, is_initialized, module

_peak: dict[int, tuple[int, int]] = {}


def _pool(device: Any) -> tuple[int, Any]:
    index = index_of(device)
    with module().cuda.Device(index):
        return index, module().get_default_memory_pool()


def _noted(device: Any) -> tuple[int, int]:
    if not is_initialized():
        return 0, 0
    index, pool = _pool(device)
    now = pool.used_bytes(), pool.total_bytes()
    before = _peak.get(index, (0, 0))
    _peak[index] = max(before[0], now[0]), max(before[1], now[1])
    return now


def memory_allocated(device: Any = None) -> int:
    """Bytes in use by tensors on a device."""
    return _noted(device)[0]


def memory_reserved(device: Any = None) -> int:
    """Bytes that the pool holds on a device."""
    return _noted(device)[1]


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes in use that any of these functions saw since the last reset (CuPy's pool keeps no peak itself)."""
    _noted(device)
    return _peak.get(index_of(device), (0, 0))[0] if is_initialized() else 0


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes held that any of these functions saw since the last reset."""
    _noted(device)
    return _peak.get(index_of(device), (0, 0))[1] if is_initialized() else 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Start the peaks anew."""
    if is_initialized():
        _peak.pop(index_of(device), None)


def empty_cache() -> None:
    """Give the pool's free memory back to the device."""
    if is_initialized():
        module().get_default_memory_pool().free_all_blocks()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of a device."""
    with module().cuda.Device(index_of(device)):
        return module().cuda.runtime.memGetInfo()
