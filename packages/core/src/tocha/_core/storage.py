"""Storages: the memory that a tensor and its views share, as bytes and as elements. As ``torch.UntypedStorage``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import arrays, dtypes
from .devices import META, as_device, device
from .record import ABSTRACT


def root_of(raw: Any) -> Any:
    """The array that owns the memory under ``raw``, however many views lie between."""
    while True:
        base = raw.base
        if type(base).__name__ == "DummyArray":  # as_strided puts this, which is no array, between a view and its base
            base = base.base
        if type(base) is not type(raw):
            return raw
        raw = base


def address(raw: Any) -> int:
    """The address of the first element, in the memory of its device."""
    return int(raw.__array_interface__["data"][0]) if type(raw) is np.ndarray else int(raw.data.ptr)


def root_bytes(raw: Any) -> tuple[Any, int] | None:
    """The memory under ``raw`` as a one-dimensional array of uint8, and the offset of its first element in bytes.

    None where the owner is not dense, so that there is no such array.
    """
    root = root_of(raw)
    if root.ndim > 1 and not root.flags.c_contiguous:
        root = root.transpose(sorted(range(root.ndim), key=lambda d: -root.strides[d]))
    if not root.flags.c_contiguous:
        return None
    flat = root.reshape(-1).view(np.uint8) if root.size else root.reshape(-1)[:0].view(np.uint8)
    return flat, address(raw) - address(flat) if raw.size else 0


class UntypedStorage:
    """Bytes on a device: ``UntypedStorage(n)``, ``UntypedStorage([0, 255])``, or ``tensor.untyped_storage()``.

    Writing to it writes to the tensors over it.

    Example:
        >>> import tocha
        >>> tocha.ones(3)[1:].untyped_storage().nbytes()
        12
    """

    __slots__ = ("_raw", "_resizable")

    def __init__(self, *args: Any, device: Any = None) -> None:
        if len(args) > 1:
            raise TypeError(
                f"UntypedStorage() takes at most one argument, a size or a sequence of bytes, got {len(args)}"
            )
        data = args[0] if args else 0
        raw = np.empty(data, np.uint8) if isinstance(data, int) else np.array(data, np.uint8).reshape(-1)
        target = as_device(device)
        self._raw: Any = int(raw.size) if target.type == "meta" else arrays.to_device(raw, target)
        self._resizable = True

    @classmethod
    def over(cls, raw: Any) -> UntypedStorage:
        """The storage under a raw array."""
        made = object.__new__(cls)
        made._resizable = False
        if type(raw) in ABSTRACT:
            made._raw = raw.size * raw.dtype.itemsize
            return made
        found = root_bytes(raw)
        if found is None:
            raise RuntimeError(
                "the memory of this tensor belongs to an array with gaps: clone() the tensor to get at its storage"
            )
        made._raw = found[0]
        return made

    @classmethod
    def from_buffer(cls, buffer: Any, dtype: Any = None, byte_order: str = "native") -> UntypedStorage:
        """The bytes of an object with the buffer protocol, without a copy."""
        made = object.__new__(cls)
        made._raw, made._resizable = np.frombuffer(buffer, np.uint8), False
        return made

    @property
    def device(self) -> device:
        """Where the memory is."""
        return META if isinstance(self._raw, int) else arrays.device_of(self._raw)

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is on a CUDA device."""
        return self.device.type == "cuda"

    @property
    def is_sparse(self) -> bool:
        """False: there are no sparse storages."""
        return False

    def get_device(self) -> int:
        """The index of the CUDA device, -1 in host memory."""
        return -1 if self.device.index is None else self.device.index

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._raw if isinstance(self._raw, int) else int(self._raw.size)

    size = __len__ = nbytes

    def element_size(self) -> int:
        """The bytes of one element: 1."""
        return 1

    def data_ptr(self) -> int:
        """The address of the first byte, 0 where there is none."""
        return 0 if isinstance(self._raw, int) or not self._raw.size else address(self._raw)

    def _bytes(self) -> Any:
        if isinstance(self._raw, int):
            raise NotImplementedError("Not available for 'meta' device type")
        return self._raw

    def __getitem__(self, index: Any) -> Any:
        raw = self._bytes()
        if isinstance(index, slice):
            part = raw[index]
            made = object.__new__(UntypedStorage)
            made._raw, made._resizable = part, False
            return made
        return int(raw[index])

    def __setitem__(self, index: Any, value: int) -> None:
        self._bytes()[index] = value

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        return arrays.to_host(self._bytes()).tolist()

    def fill_(self, value: int) -> UntypedStorage:
        """Write ``value`` to every byte."""
        self._bytes()[...] = value
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool | None = None) -> UntypedStorage:
        """Write the bytes of ``source``, which must be as many."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"Attempted to copy storage of {source.nbytes()} bytes to one of {self.nbytes()}: sizes must be equal"
            )
        self._bytes()[...] = arrays.to_device(source._bytes(), self.device)
        return self

    def clone(self) -> UntypedStorage:
        """A copy of the bytes."""
        made = object.__new__(UntypedStorage)
        made._raw, made._resizable = self._bytes().copy(), True
        return made

    def resize_(self, size: int) -> UntypedStorage:
        """Change the number of bytes of a storage that no tensor uses.

        Raises:
            RuntimeError: the storage is a tensor's, whose memory NumPy cannot move.
        """
        if not self._resizable:
            raise RuntimeError("Trying to resize storage that is not resizable")
        old = self._bytes()
        raw = arrays.module_of(old).empty(size, np.uint8)
        kept = min(size, old.size)
        raw[:kept] = old[:kept]
        self._raw = raw
        return self

    def resizable(self) -> bool:
        """Whether ``resize_`` may change the size: not where a tensor uses the memory."""
        return self._resizable

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """This storage on ``device``: itself where it is there already."""
        target = as_device(device)
        made = object.__new__(UntypedStorage)
        made._resizable = True
        made._raw = self.nbytes() if target.type == "meta" else arrays.to_device(self._bytes(), target)
        return self if made._raw is self._raw else made

    def cpu(self) -> UntypedStorage:
        """This storage in host memory: itself where it is there already."""
        return self.to(device="cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """This storage on a CUDA device: itself where it is there already."""
        return self.to(device="cuda" if device is None else device)

    def is_shared(self) -> bool:
        """Whether other processes can see the memory; always so on CUDA."""
        from .._ops.exchange import is_shared_memory

        return self.device.type == "cuda" or is_shared_memory(self._raw)

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Whether the memory is page-locked, for fast copies to a CUDA device."""
        from .._ops.exchange import is_pinned_memory

        return is_pinned_memory(self._raw)

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def __repr__(self) -> str:
        text = "...\n" if isinstance(self._raw, int) else "".join(f" {b}\n" for b in self.tolist())
        return f"{text}[tocha.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, UntypedStorage)
            and self.data_ptr() == other.data_ptr()
            and self.nbytes() == other.nbytes()
        )

    def __hash__(self) -> int:
        return hash((self.data_ptr(), self.nbytes()))


class TypedStorage:
    """A storage as elements of one dtype; PyTorch keeps it for old programs.

    Args:
        wrap_storage: the bytes; otherwise ``TypedStorage(size, dtype=...)`` or ``TypedStorage(values, dtype=...)``.
    """

    __slots__ = ("_untyped_storage", "dtype")

    def __init__(
        self,
        *args: Any,
        wrap_storage: UntypedStorage | None = None,
        dtype: Any = None,
        device: Any = None,
        _internal: bool = False,
    ) -> None:
        if not _internal:
            warn_typed()
        self.dtype = dtypes.get_default_dtype() if dtype is None else dtype
        if wrap_storage is None:
            data = args[0] if args else 0
            values = (
                np.empty(data, self.dtype.np)
                if isinstance(data, int)
                else np.asarray(data).astype(self.dtype.np).reshape(-1)
            )
            wrap_storage = UntypedStorage(values.view(np.uint8), device=device)
        self._untyped_storage = wrap_storage

    def _elements(self) -> Any:
        raw = self._untyped_storage._bytes()
        return raw[: len(self) * self.dtype.itemsize].view(self.dtype.np)

    @property
    def device(self) -> device:
        """Where the memory is."""
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is on a CUDA device."""
        return self._untyped_storage.is_cuda

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped_storage.nbytes()

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def element_size(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first element, 0 where there is none."""
        return self._untyped_storage.data_ptr()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements()[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements()[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list:
        """The elements as Python numbers."""
        return arrays.to_host(self._elements()).tolist()

    def fill_(self, value: Any) -> TypedStorage:
        """Write ``value`` to every element."""
        self._elements()[...] = value
        return self

    def copy_(self, source: TypedStorage, non_blocking: bool | None = None) -> TypedStorage:
        """Write the elements of ``source``, which must be as many."""
        self._elements()[...] = arrays.to_device(source._elements(), self.device)
        return self

    def clone(self) -> TypedStorage:
        """A copy of the memory."""
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype, _internal=True)

    def resize_(self, size: int) -> TypedStorage:
        """Change the number of elements. See ``UntypedStorage.resize_``."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def to(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        """This storage on ``device``: itself where it is there already."""
        return TypedStorage(wrap_storage=self._untyped_storage.to(device=device), dtype=self.dtype, _internal=True)

    def cpu(self) -> TypedStorage:
        """This storage in host memory: itself where it is there already."""
        return self.to(device="cpu")

    def is_shared(self) -> bool:
        """Whether other processes can see the memory; always so on CUDA."""
        return self._untyped_storage.is_shared()

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Whether the memory is page-locked, for fast copies to a CUDA device."""
        return self._untyped_storage.is_pinned()

    def __repr__(self) -> str:
        text = "".join(f" {v}\n" for v in self.tolist())
        return f"{text}[tocha.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


def warn_typed() -> None:
    warnings.warn(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
        "class. This should only matter to you if you are using storages directly. To access UntypedStorage directly, "
        "use tensor.untyped_storage() instead of tensor.storage()",
        UserWarning,
        stacklevel=3,
    )


def is_storage(obj: Any) -> bool:
    """Whether ``obj`` is a storage."""
    return isinstance(obj, (UntypedStorage, TypedStorage))
