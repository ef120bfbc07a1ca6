"""Which CUDA devices there are, and which one is current."""

from __future__ import annotations

import importlib.util
from typing import Any, NamedTuple

from .._core import arrays
from .._core.devices import device as Device
from .._core.tensor import Tensor


def module() -> Any:
    """CuPy, once it serves tocha's ``cuda`` device.

    Raises:
        RuntimeError: CuPy or a driver is missing; the message says what to install.
    """
    return arrays.for_device_type("cuda").xp


def is_available() -> bool:
    """Whether CuPy is installed and finds a device. Never raises."""
    if "cuda" in arrays._by_device:
        return True
    if importlib.util.find_spec("cupy") is None:
        return False
    try:
        module()
    except (RuntimeError, ImportError):
        return False
    return True


def device_count() -> int:
    """The number of CUDA devices (0 where CUDA is not available)."""
    return module().cuda.runtime.getDeviceCount() if is_available() else 0


def init() -> None:
    """Load CuPy and find the devices now, instead of on first use."""
    module()


def is_initialized() -> bool:
    """Whether CuPy has been loaded for the ``cuda`` device."""
    return "cuda" in arrays._by_device


def current_device() -> int:
    """The index of the device that new CUDA tensors go to."""
    return module().cuda.runtime.getDevice()


def index_of(device: Any) -> int:
    """The index that a device argument means; None is the current device.

    Raises:
        ValueError: the device is not a CUDA device.
    """
    if device is None:
        return current_device()
    if isinstance(device, int):
        return device
    target = Device(device)
    if target.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {target}")
    return current_device() if target.index is None else target.index


def set_device(device: Any) -> None:
    """Make a device the current one."""
    index = index_of(device)
    if index >= 0:
        module().cuda.runtime.setDevice(index)


def synchronize(device: Any = None) -> None:
    """Wait until all work on a device is done."""
    with module().cuda.Device(index_of(device)):
        module().cuda.runtime.deviceSynchronize()


class device:
    """Make a device current inside a ``with`` block."""

    def __init__(self, device: Any) -> None:
        self.idx = index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> device:
        self.prev_idx = current_device()
        set_device(self.idx)
        return self

    def __exit__(self, *error: object) -> None:
        set_device(self.prev_idx)


class device_of(device):
    """Make the device of a tensor current inside a ``with`` block; a CPU tensor changes nothing."""

    def __init__(self, obj: Tensor) -> None:
        self.idx = obj.device.index if obj.device.type == "cuda" else -1  # type: ignore[assignment]
        self.prev_idx = -1

    def __enter__(self) -> device_of:
        if self.idx >= 0:
            super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self.idx >= 0:
            super().__exit__(*error)


class DeviceProperties(NamedTuple):
    """What is known of a device; memory in bytes."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Name, compute capability, memory and processors of a device."""
    found = module().cuda.runtime.getDeviceProperties(index_of(device))
    name = found["name"]
    return DeviceProperties(
        name.decode() if isinstance(name, bytes) else name,
        found["major"],
        found["minor"],
        found["totalGlobalMem"],
        found["multiProcessorCount"],
    )


def get_device_name(device: Any = None) -> str:
    """The name of a device."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a device, such as (9, 0)."""
    found = get_device_properties(device)
    return found.major, found.minor


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current device computes in bfloat16 (compute capability 8 and more)."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)
