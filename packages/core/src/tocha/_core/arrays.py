"""Array modules: which module computes on which kind of raw array.

A tensor holds a raw array; its Python type says which module serves it (``numpy.ndarray`` → NumPy,
``cupy.ndarray`` → CuPy). Operators look kernels up by that type and never ask for a device.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .devices import CPU, device


class ArrayModule:
    """One array library: its module ``xp``, the type of its arrays, and how data comes in and out."""

    def __init__(self, device_type: str, xp: Any, array_type: Any, to_host: Callable[[Any], np.ndarray]) -> None:
        self.device_type, self.xp, self.array_type, self.to_host = device_type, xp, array_type, to_host


NUMPY = ArrayModule("cpu", np, np.ndarray, lambda a: a)
_by_type: dict[type, ArrayModule] = {np.ndarray: NUMPY, np.generic: NUMPY}
_by_device: dict[str, ArrayModule] = {"cpu": NUMPY}
_on_change: list[Callable[[], None]] = []


def register(module: ArrayModule) -> None:
    """Serve ``module.device_type`` by ``module`` from now on."""
    _by_type[module.array_type] = module
    _by_device[module.device_type] = module
    for forget in _on_change:
        forget()


def unregister(device_type: str) -> None:
    module = _by_device.pop(device_type, None)
    if module is not None:
        _by_type.pop(module.array_type, None)
    for forget in _on_change:
        forget()


@contextlib.contextmanager
def registered(module: ArrayModule) -> Iterator[ArrayModule]:
    """Serve a device type by ``module`` inside the block (how the tests install their stand-in for CuPy)."""
    previous = _by_device.get(module.device_type)
    register(module)
    try:
        yield module
    finally:
        unregister(module.device_type)
        if previous is not None:
            register(previous)


def for_device_type(device_type: str) -> ArrayModule:
    """The array module of a device type; loads CuPy on first use.

    Raises:
        RuntimeError: CuPy, its CUDA libraries or a driver is missing; the message says what to install.
    """
    module = _by_device.get(device_type)
    if module is None:
        if device_type != "cuda":
            raise RuntimeError(f"no array module serves device type {device_type!r}")
        module = _load_cupy()
        register(module)
    return module


def for_array(raw: Any) -> ArrayModule | None:
    return _by_type.get(type(raw))


def module_of(raw: Any) -> Any:
    """The array module ``xp`` that computes on ``raw``."""
    found = _by_type.get(type(raw))
    if found is None:
        raise TypeError(f"no array module serves {type(raw).__name__}")
    return found.xp


def to_host(raw: Any) -> np.ndarray:
    """The values of a raw array in the host's memory.

    Raises:
        TracingError: it is a value of a trace. NotImplementedError: it is on the meta device, without values.
    """
    if type(raw) is np.ndarray:
        return raw
    module = _by_type.get(type(raw))
    if module is not None:
        return module.to_host(raw)
    if getattr(type(raw), "records", False):
        from .._trace.tracer import TracingError

        raise TracingError.for_value(raw, "this operation")
    if hasattr(type(raw), "records"):
        raise NotImplementedError("this operation needs the values of a tensor on the meta device, which has none")
    return raw


def to_device(raw: Any, target: device) -> Any:
    """A raw array with the values of ``raw`` on ``target`` (``raw`` itself where it is there already)."""
    source = device_of(raw)
    if source.type == target.type and (target.index is None or source.index == target.index):
        return raw
    if target.type == "cpu":
        return to_host(raw)
    if target.type == "meta":
        from .abstract import Meta

        return Meta(raw.shape, raw.dtype)
    module = for_device_type(target.type)
    with module.xp.cuda.Device(target.index or 0):
        return module.xp.asarray(to_host(raw) if source.type == "cpu" else raw)


def device_of(raw: Any) -> device:
    if type(raw) is np.ndarray:
        return CPU
    found = _by_type.get(type(raw))
    if found is None:
        return raw.device  # abstract arrays know theirs
    if found.device_type == "cpu":
        return CPU
    return device(found.device_type, raw.device.id)


def _load_cupy() -> ArrayModule:
    try:
        import cupy
    except ImportError as error:
        raise RuntimeError(
            "device 'cuda' needs CuPy, which is not installed. Install the build for your CUDA version: "
            "pip install 'tocha[cuda12]' or pip install 'tocha[cuda13]'"
        ) from error
    if not cupy.is_available():
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        hint = f" (CUDA_VISIBLE_DEVICES={visible!r})" if visible is not None else ""
        raise RuntimeError(
            f"No CUDA GPU is available{hint}: CuPy {cupy.__version__} is installed but finds no driver or device. "
            "Install the NVIDIA driver, or use device 'cpu'"
        )
    return ArrayModule("cuda", cupy, cupy.ndarray, cupy.asnumpy)
