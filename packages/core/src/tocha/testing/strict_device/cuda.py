"""`cupy.cuda` for the stand-in: two devices, one of which is current; streams and events with nothing to wait for."""

from __future__ import annotations

import threading
import time
import types
import weakref
from typing import Any

from .counters import synchronised

__all__ = ["CUDARuntimeError", "Device", "MemoryPointer", "MemoryPool", "current_device", "make_module", "owners"]

DEVICE_COUNT = 2
_MEMORY = 8 << 30
_state = threading.local()

owners: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
"""The arrays that own memory, by identity, for the memory pool's figures."""


class CUDARuntimeError(RuntimeError):
    """An error of the CUDA runtime."""


def current_device() -> int:
    """The number of the current device."""
    return getattr(_state, "device", 0)


def _select(number: int) -> None:
    if not 0 <= number < DEVICE_COUNT:
        raise CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal")
    _state.device = number


class Device:
    """A device; inside `with Device(1):` it is the current one."""

    def __init__(self, device: int | Device | None = None) -> None:
        self.id = current_device() if device is None else int(device)
        self._previous: list[int] = []

    def __int__(self) -> int:
        return self.id

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    def __enter__(self) -> Device:
        self._previous.append(current_device())
        _select(self.id)
        return self

    def __exit__(self, *error: object) -> None:
        _select(self._previous.pop())

    def use(self) -> None:
        _select(self.id)

    def synchronize(self) -> None:
        synchronised()

    @property
    def compute_capability(self) -> str:
        return "90"

    @property
    def mem_info(self) -> tuple[int, int]:
        return _MEMORY - MemoryPool(self.id).used_bytes(), _MEMORY


class Stream:
    """A stream on which everything has already happened."""

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None
    ) -> None:
        self.ptr = 0 if null else id(self)
        self.device_id = current_device()
        self.is_non_blocking = non_blocking
        self.priority = priority or 0
        self._previous: list[Stream] = []

    done = True

    def __enter__(self) -> Stream:
        self._previous.append(_current_stream())
        _state.stream = self
        return self

    def __exit__(self, *error: object) -> None:
        _state.stream = self._previous.pop()

    def use(self) -> Stream:
        _state.stream = self
        return self

    def synchronize(self) -> None:
        synchronised()

    def record(self, event: Event | None = None) -> Event:
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Nothing to do: the event has happened."""

    null: Stream


Stream.null = Stream(null=True)


def _current_stream(device: int | None = None) -> Stream:
    return getattr(_state, "stream", Stream.null)


class Event:
    """A point in a stream."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self._time: float | None = None if disable_timing else 0.0
        self.done = True

    def record(self, stream: Stream | None = None) -> None:
        if self._time is not None:
            self._time = time.perf_counter()

    def synchronize(self) -> None:
        synchronised()


def _elapsed(start: Event, end: Event) -> float:
    if start._time is None or end._time is None:
        raise CUDARuntimeError("cudaErrorInvalidResourceHandle: invalid resource handle")
    return (end._time - start._time) * 1000


class MemoryPointer:
    """The address of an array's first element."""

    def __init__(self, ptr: int, device: int) -> None:
        self.ptr = ptr
        self.device_id = device

    @property
    def device(self) -> Device:
        return Device(self.device_id)


class MemoryPool:
    """Figures of the memory that the stand-in's arrays occupy; nothing is pooled."""

    def __init__(self, device: int | None = None) -> None:
        self._device = device

    def used_bytes(self) -> int:
        device = current_device() if self._device is None else self._device
        return sum(array.nbytes for array in list(owners.values()) if array.device.id == device)

    total_bytes = used_bytes

    def free_bytes(self) -> int:
        return 0

    def free_all_blocks(self, stream: Stream | None = None) -> None:
        """Nothing to do: freed memory is not kept."""


def _memory_info() -> tuple[int, int]:
    return Device().mem_info


def _properties(device: int) -> dict[str, Any]:
    if not 0 <= device < DEVICE_COUNT:
        raise CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal")
    return {
        "name": b"strict stand-in",
        "major": 9,
        "minor": 0,
        "totalGlobalMem": _MEMORY,
        "multiProcessorCount": 132,
        "warpSize": 32,
        "maxThreadsPerBlock": 1024,
        "sharedMemPerBlock": 49152,
    }


def make_module() -> types.ModuleType:
    """The module `cupy.cuda` with `cupy.cuda.runtime`."""
    runtime = types.ModuleType("cupy.cuda.runtime")
    runtime.__dict__.update(
        CUDARuntimeError=CUDARuntimeError,
        deviceSynchronize=synchronised,
        driverGetVersion=lambda: 12080,
        getDevice=current_device,
        getDeviceCount=lambda: DEVICE_COUNT,
        getDeviceProperties=_properties,
        is_hip=False,
        memGetInfo=_memory_info,
        runtimeGetVersion=lambda: 12080,
        setDevice=_select,
    )
    module = types.ModuleType("cupy.cuda")
    module.__dict__.update(
        Device=Device,
        Event=Event,
        MemoryPointer=MemoryPointer,
        MemoryPool=MemoryPool,
        Stream=Stream,
        get_current_stream=_current_stream,
        get_device_id=current_device,
        get_elapsed_time=_elapsed,
        is_available=lambda: True,
        runtime=runtime,
    )
    return module
