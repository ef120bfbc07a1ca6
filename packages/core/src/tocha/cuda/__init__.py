"""CUDA devices through CuPy, as ``torch.cuda``. Without CuPy or a driver, ``is_available()`` is False and the rest says
why."""

from __future__ import annotations

from .devices import (
    current_device, device, device_count, device_of, get_device_capability, get_device_name, get_device_properties,
    init, is_available, is_bf16_supported, is_initialized, set_device, synchronize,
)  # fmt: skip
from .memory import (
    empty_cache, max_memory_allocated, max_memory_reserved, mem_get_info, memory_allocated, memory_reserved,
    reset_peak_memory_stats,
)  # fmt: skip
from .random import (
    get_rng_state, get_rng_state_all, initial_seed, manual_seed, manual_seed_all, seed, seed_all, set_rng_state,
    set_rng_state_all,
)  # fmt: skip
from .streams import Event, Stream, StreamContext, current_stream, default_stream, set_stream, stream

__all__ = [
    "Event", "Stream", "StreamContext", "current_device", "current_stream", "default_stream", "device", "device_count",
    "device_of", "empty_cache", "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state",
    "get_rng_state_all", "init", "initial_seed", "is_available", "is_bf16_supported", "is_initialized", "manual_seed",
    "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated",
    "memory_reserved", "reset_peak_memory_stats", "seed", "seed_all", "set_device", "set_rng_state",
    "set_rng_state_all", "set_stream", "stream", "synchronize",
]  # fmt: skip
