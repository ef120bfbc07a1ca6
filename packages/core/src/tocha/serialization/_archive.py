"""Loading from PyTorch's zip format: a pickle that names storages, and a record for each of those."""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from . import _options
from ._files import FileLike, is_path
from ._storage import StorageType, TypedStorage, UntypedStorage, swapped
from ._zip_reader import ArchiveReader

Restore = Callable[[UntypedStorage, str], UntypedStorage]
Unpickle = Callable[[Any, int, Callable[[Any], Any] | None], tuple[Any, int]]


def load(file: IO[bytes], f: FileLike, restore: Restore, unpickle: Unpickle, *, to_meta: bool, mapped: bool) -> Any:
    """Load an archive.

    Args:
        file: stands at its first byte.
        f: what the caller gave; only a path can be mapped.
        restore: moves a storage to the device that it belongs to.
        unpickle: reads a pickle.
        to_meta: everything goes to device ``meta``: no storage is read.
        mapped: map the file instead of reading storages.
    """
    archive = ArchiveReader(file)
    if "constants.pkl" in archive:
        raise RuntimeError(
            "the file is a TorchScript archive, which holds code: tocha does not run it. "
            "Save the model's state_dict() with PyTorch and load that"
        )
    if mapped and not is_path(f):
        raise ValueError("f must be a file path in order to use the mmap argument")
    storages = _Storages(archive, restore, to_meta, _map(f) if mapped else None)
    return unpickle(archive.read("data.pkl"), 0, storages.load)[0]


class _Storages:
    """Makes each storage when the pickle first names it."""

    def __init__(self, archive: ArchiveReader, restore: Restore, to_meta: bool, mapping: mmap.mmap | None) -> None:
        self.archive, self.restore, self.to_meta, self.mapping = archive, restore, to_meta, mapping
        self.loaded: dict[str, tuple[UntypedStorage, StorageType]] = {}
        self.foreign = _is_foreign(archive)

    def load(self, saved_id: Any) -> TypedStorage:
        kind, key, location, count = checked_id(saved_id, 5)
        if key not in self.loaded:
            name = f"data/{key}"
            nbytes = count * kind.dtype.itemsize
            # a storage may end with a part of an element, which its number of elements does not count
            if not 0 <= self.archive.size(name) - nbytes < kind.dtype.itemsize:
                raise RuntimeError(
                    f"storage {key[:100]!r} should have {nbytes} bytes, but its record has {self.archive.size(name)}"
                )
            self.loaded[key] = self._read(name, kind, count, location), kind
        storage, first_kind = self.loaded[key]
        if count * kind.dtype.itemsize != storage.nbytes() or self.foreign and kind is not first_kind:
            raise RuntimeError(f"storage {key[:100]!r} is said to have two sizes or two dtypes")
        return TypedStorage(storage, kind.dtype)

    def _read(self, name: str, kind: StorageType, count: int, location: str) -> UntypedStorage:
        dtype = kind.dtype.np
        if self.to_meta:
            return UntypedStorage(count * dtype.itemsize)
        if _options.local.skip_data:
            data = np.zeros(count, dtype).view(np.uint8)
        elif self.mapping is not None and count:
            # a buffer of its own, so that saving a tensor on it does not take the whole file
            data = np.frombuffer(self.mapping, dtype, count, self.archive.offset(name)).view(np.uint8)
        else:
            data = self.archive.read(name, dtype)[: count * dtype.itemsize]
        storage = UntypedStorage(swapped(data, kind) if self.foreign else data)
        storage.foreign_order = self.foreign
        return self.restore(storage, location)


def checked_id(saved_id: Any, length: int) -> tuple[StorageType, str, str, int]:
    """Type, key, location and number of elements out of what a pickle says of a storage.

    Raises:
        RuntimeError: it says something else.
    """
    if not isinstance(saved_id, tuple) or len(saved_id) != length:
        raise RuntimeError(f"saved_id must be a tuple of {length}, got {type(saved_id).__name__}")
    name, kind, key, location, count = [v.decode("ascii", "replace") if type(v) is bytes else v for v in saved_id[:5]]
    if name != "storage":
        raise RuntimeError("Unknown typename for persistent_load, expected 'storage'")
    key = str(key) if type(key) is int and abs(key) < 2**64 else key
    if not isinstance(kind, StorageType) or type(key) is not str or type(location) is not str:
        raise RuntimeError("a storage in the file must have a type, a key and a location")
    if type(count) is not int or not 0 <= count < 2**63:
        raise RuntimeError("a storage's number of elements must be a whole number from 0 to 2**63 - 1")
    return kind, key, location, count


def _is_foreign(archive: ArchiveReader) -> bool:
    """Whether the data's byte order is not this machine's."""
    if "byteorder" in archive:
        order = archive.text("byteorder")
        if order not in ("little", "big"):
            raise ValueError(f"Unknown endianness type: {order[:20]}")
        return order != sys.byteorder
    assumed = _options.get_default_load_endianness()
    if assumed is _options.LoadEndianness.NATIVE:
        return False
    return sys.byteorder != ("big" if assumed is _options.LoadEndianness.BIG else "little")


def _map(f: FileLike) -> mmap.mmap:
    """The whole file in memory; kept alive by the arrays on it."""
    flags = _options.get_default_mmap_options()
    if flags is None:
        with open(os.fspath(f), "rb") as file:  # type: ignore[arg-type]
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    shared = flags == _options.MAP_SHARED
    with open(os.fspath(f), "r+b" if shared else "rb") as file:  # type: ignore[arg-type]
        return mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)
