"""Storages: the one-dimensional memory under tensors, and the names that files give to their types."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from .._core import arrays, devices, dtypes

UNTYPED = "UntypedStorage"
_DTYPE_OF = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexDoubleStorage": "complex128",
    "ComplexFloatStorage": "complex64",
    UNTYPED: "uint8",
}
# dtypes younger than PyTorch's typed storages are written over UntypedStorage, with their name beside it
_NAME_OF = {dtype: name for name, dtype in _DTYPE_OF.items() if name != UNTYPED}
_QUANTIZED = {"QInt8Storage", "QUInt8Storage", "QInt32Storage", "QUInt4x2Storage", "QUInt2x4Storage"}


class StorageType:
    """A storage's type as files name it: ``StorageType("FloatStorage").dtype`` is ``tocha.float32``.

    Raises:
        KeyError: PyTorch has no storage type of that name.
        RuntimeError: the type is one of PyTorch's quantized storages, which tocha has not.
    """

    def __init__(self, name: str) -> None:
        if name in _QUANTIZED:
            raise RuntimeError(f"the file holds a quantized tensor ({name}), which tocha does not have")
        self.name = name
        self._dtype_name = _DTYPE_OF[name]

    @property
    def dtype(self) -> dtypes.dtype:
        """The type of the elements; bytes count as ``uint8``."""
        return named_dtype(self._dtype_name)

    @property
    def file_name(self) -> tuple[str, str]:
        """Module and name under which PyTorch has this type."""
        return ("torch.storage" if self.name == UNTYPED else "torch"), self.name

    def __repr__(self) -> str:
        return f"StorageType(dtype={self.dtype})"

    def __reduce__(self) -> tuple:
        return storage_type, (self.name,)


@functools.cache
def storage_type(name: str) -> StorageType:
    """The one storage type of a name; errors as for ``StorageType``."""
    return StorageType(name)


def type_for(dtype: dtypes.dtype) -> StorageType:
    """The storage type that holds ``dtype``; ``UntypedStorage`` for a dtype that has none of its own."""
    return storage_type(_NAME_OF.get(dtype.name, UNTYPED))


def named_dtype(name: str) -> dtypes.dtype:
    """tocha's dtype called ``name``.

    Raises:
        RuntimeError: tocha has no such dtype.
    """
    found = next((d for d in dtypes.ALL if d.name == name), None)
    if found is None:
        raise RuntimeError(f"the file holds dtype {name}, which tocha does not have")
    return found


class UntypedStorage:
    """Bytes on one device; what ``map_location`` is called with and what it gives back.

    Args:
        data: one-dimensional raw array of ``uint8``, or the number of bytes of a storage on device ``meta``.
    """

    __slots__ = ("_data", "_nbytes", "_waiting", "foreign_order")

    def __init__(self, data: Any) -> None:
        self._data: Any = None if isinstance(data, int) else data
        self._nbytes = data if isinstance(data, int) else int(data.size)
        self._waiting: list[Callable[[], None]] | None = None
        self.foreign_order = False

    @property
    def device(self) -> devices.device:
        return devices.META if self._data is None else arrays.device_of(self._data)

    def nbytes(self) -> int:
        return self._nbytes

    def size(self) -> int:
        return self._nbytes

    def __len__(self) -> int:
        return self._nbytes

    def data_ptr(self) -> int:
        """Address of the first byte; 0 where there is none."""
        return 0 if self._data is None or not self._nbytes else address_of(self._data)

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """This storage on ``device``; itself where it is there already."""
        target = devices.as_device(device)
        if target.type == "meta":
            return UntypedStorage(self._nbytes)
        if self._data is None:
            raise NotImplementedError("Cannot copy out of meta storage; no data!")
        moved = arrays.to_device(self._data, target)
        return self if moved is self._data else UntypedStorage(moved)

    def cpu(self) -> UntypedStorage:
        return self.to(device="cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        return self.to(device="cuda" if device is None else device)

    def part(self, start: int, nbytes: int) -> UntypedStorage:
        """Bytes of this storage as a storage, filled when this one is."""
        view = UntypedStorage(nbytes if self._data is None else self._data[start : start + nbytes])
        view._waiting = self._waiting
        return view

    def fill_later(self) -> None:
        """The bytes are not there yet: whoever needs them waits for ``fill``."""
        self._waiting = []

    def when_filled(self, action: Callable[[], None]) -> None:
        """Run ``action`` as soon as the bytes are there."""
        if self._waiting is None:
            action()
        else:
            self._waiting.append(action)

    def fill(self, data: np.ndarray) -> None:
        """Put a host array's bytes in."""
        if self._data is not None:
            with on_device(self._data):
                self._data[...] = arrays.to_device(data, self.device)
        waiting, self._waiting = self._waiting or [], None
        for action in waiting:
            action()

    def __repr__(self) -> str:
        return f"UntypedStorage(device='{self.device}', nbytes={self._nbytes})"


class TypedStorage:
    """A storage together with the type of its elements, as pickles in a file refer to it."""

    __slots__ = ("untyped", "dtype")

    def __init__(self, untyped: UntypedStorage, dtype: dtypes.dtype) -> None:
        self.untyped, self.dtype = untyped, dtype

    def __len__(self) -> int:
        return self.untyped.nbytes() // self.dtype.itemsize

    def __repr__(self) -> str:
        return f"TypedStorage(dtype={self.dtype}, device='{self.untyped.device}', size={len(self)})"


def on_device(raw: Any) -> AbstractContextManager:
    """Context in which arrays of ``raw``'s device may be made and changed: CuPy wants it to be the current one."""
    if isinstance(raw, np.ndarray):
        return nullcontext()
    return arrays.module_of(raw).cuda.Device(raw.device.id)


def address_of(raw: Any) -> int:
    """Address of a raw array's first element, in its own device's memory."""
    if isinstance(raw, np.ndarray):
        return int(raw.__array_interface__["data"][0])
    return int(raw.data.ptr)


def swapped(data: Any, kind: StorageType) -> Any:
    """Bytes of a storage in the other byte order; a complex number is two numbers."""
    unit = kind.dtype.itemsize // (2 if kind.dtype.is_complex else 1)
    flipped = np.empty(data.size // kind.dtype.itemsize, kind.dtype.np).view(np.uint8)
    flipped[:] = data[: flipped.size].reshape(-1, unit)[:, ::-1].reshape(-1)
    return flipped
