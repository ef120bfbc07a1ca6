"""Loading the format before PyTorch 1.6: five pickles in a row, then the storages one after the other.

The pickles are: a magic number, a version, facts about the machine, the object, and the storages' keys in the order in
which their data follows. A storage is a number of elements in eight bytes and the elements, little end first.
"""

from __future__ import annotations

import io
import mmap
import struct
import sys
import warnings
from pickle import UnpicklingError
from typing import IO, Any

import numpy as np

from ._archive import Restore, Unpickle, checked_id
from ._save import MAGIC_NUMBER, PROTOCOL_VERSION
from ._storage import StorageType, TypedStorage, UntypedStorage, swapped

_FOREIGN = {
    b"<": "an HTML or XML page: has the download failed?",
    b"version https://git-lfs": "a Git LFS pointer: fetch the file itself with `git lfs pull`",
    b"\x93NUMPY": "a NumPy array: use numpy.load",
    b"\x1f\x8b": "a gzip file: open it with gzip.open and load that",
    b"\x89HDF": "an HDF5 file",
    b"Rar!": "a RAR archive",
    b"7z\xbc\xaf": "a 7-Zip archive",
}


class SourceChangeWarning(Warning):
    """The source of a module's class is not what it was when the module was saved."""


def load(file: IO[bytes], restore: Restore, unpickle: Unpickle) -> Any:
    """Load an object that begins where the file stands, and leave the file at its end."""
    begin = file.tell()
    data = _memory(file, begin)
    _check_head(data)

    def plain(position: int) -> tuple[Any, int]:
        return unpickle(data, position, None)

    magic, position = plain(0)
    if type(magic) is not int or magic != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version, position = plain(position)
    if type(version) is not int or version != PROTOCOL_VERSION:
        shown = version if type(version) is int and abs(version) < 2**63 else type(version).__name__
        raise RuntimeError(f"Invalid protocol version: {shown}")
    _, position = plain(position)
    storages = _Storages(restore, len(data))
    result, position = unpickle(data, position, storages.load)
    keys, position = plain(position)
    position = storages.fill(keys, data, position)
    file.seek(begin + position)
    return result


class _Storages:
    """Makes storages as the pickle names them; their data comes later.

    Args:
        limit: bytes in the file. Storages that say they are larger together are lying.
    """

    def __init__(self, restore: Restore, limit: int) -> None:
        self.restore, self.left = restore, limit
        self.made: dict[str, tuple[UntypedStorage, StorageType]] = {}
        self.views: dict[str, UntypedStorage] = {}

    def load(self, saved_id: Any) -> Any:
        if isinstance(saved_id, tuple) and len(saved_id) == 4 and saved_id[0] in ("module", b"module"):
            _check_source(*saved_id[1:])
            return saved_id[1]
        kind, key, location, count = checked_id(saved_id, 6)
        itemsize = kind.dtype.itemsize
        if key not in self.made:
            self.left -= count * itemsize
            if self.left < 0:
                raise RuntimeError("the file is cut off: its storages would be larger than all of it")
            storage = self.restore(UntypedStorage(np.empty(count, kind.dtype.np).view(np.uint8)), location)
            storage.fill_later()
            self.made[key] = storage, kind
        storage, first_kind = self.made[key]
        if kind is not first_kind or count * itemsize != storage.nbytes():
            raise RuntimeError(f"storage {key[:100]!r} is said to have two sizes or two dtypes")
        if saved_id[5] is None:
            return TypedStorage(storage, kind.dtype)
        return TypedStorage(self._part(storage, itemsize, saved_id[5]), kind.dtype)

    def _part(self, storage: UntypedStorage, itemsize: int, view: Any) -> UntypedStorage:
        """A storage that is part of another one, which PyTorch had before 0.4."""
        if not isinstance(view, tuple) or len(view) != 3:
            raise RuntimeError("a storage's view must be a key, an offset and a size")
        key, offset, count = view
        key = key.decode("ascii", "replace") if type(key) is bytes else key
        numbers = all([type(n) is int and 0 <= n for n in (offset, count)])
        if type(key) is not str or not numbers or (offset + count) * itemsize > storage.nbytes():
            raise RuntimeError("a storage's view lies outside of the storage")
        if key not in self.views:
            self.views[key] = storage.part(offset * itemsize, count * itemsize)
        return self.views[key]

    def fill(self, keys: Any, data: Any, position: int) -> int:
        if not isinstance(keys, list) or not all(map(_is_key, keys)):
            raise RuntimeError("the file has no list of its storages' keys")
        names = [k.decode("ascii", "replace") if type(k) is bytes else str(k) for k in keys]
        if sorted(names) != sorted(self.made):
            raise RuntimeError("the storages that the file's tensors need are not those that it has")
        for name in names:
            storage, kind = self.made[name]
            position = _fill(storage, kind, data, position)
        return position


def _is_key(key: Any) -> bool:
    return type(key) in (str, bytes) or type(key) is int and abs(key) < 2**64


def _fill(storage: UntypedStorage, kind: StorageType, data: Any, position: int) -> int:
    if position + 8 > len(data):
        raise RuntimeError("the file is cut off: a storage's size is missing")
    (count,) = struct.unpack_from("<q", data, position)
    if count * kind.dtype.itemsize != storage.nbytes():
        raise RuntimeError(
            f"storage has wrong byte size: expected {storage.nbytes()} got {count * kind.dtype.itemsize}"
        )
    begin, end = position + 8, position + 8 + storage.nbytes()
    if end > len(data):
        raise RuntimeError(f"the file is cut off: {end - len(data)} bytes are missing")
    content = np.frombuffer(data, np.uint8, storage.nbytes(), begin) if storage.nbytes() else np.empty(0, np.uint8)
    storage.fill(swapped(content, kind) if sys.byteorder == "big" else content)
    return end


def _memory(file: IO[bytes], begin: int) -> Any:
    """What the file still holds; mapped, not read, where it is a real file."""
    if type(file) is io.BufferedReader and begin == 0:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # an empty file, or one that cannot be mapped
            pass
    return file.read()


def _check_head(data: Any) -> None:
    """Say at once what a file is that cannot be a pickle."""
    if not len(data):
        raise EOFError("Ran out of input: the file is empty")
    if not isinstance(data, (bytes, mmap.mmap)):
        raise TypeError("the file must be opened in binary mode")
    head = bytes(data[:512])
    if head[257:262] == b"ustar":
        raise RuntimeError(
            "the file is in the .tar format of PyTorch before 0.1.10, which tocha does not read: "
            "load it with PyTorch and save it again"
        )
    if head[0] == 0x80 and len(head) > 1 and head[1] <= 5:
        return
    found = next((what for magic, what in _FOREIGN.items() if head.lstrip().startswith(magic)), None)
    if found is None and head[8:9] == b"{" and struct.unpack_from("<Q", head)[0] < len(data):
        found = "safetensors: its name must end in .safetensors"
    hint = f" It looks like {found}." if found else ""
    raise UnpicklingError(f"invalid load key, {head[:1]!r}: the file is neither an archive nor a pickle.{hint}")


def _check_source(kind: Any, file: Any, source: Any) -> None:
    """Warn where a module's class, which the file has the source of, has changed."""
    if not isinstance(kind, type) or not source or kind.__module__.startswith("tocha."):
        return
    import inspect

    try:
        changed = inspect.getsource(kind) != source
    except (OSError, TypeError):
        return
    if changed:
        warnings.warn(
            f"source code of class '{kind.__module__}.{kind.__qualname__}' has changed since the file was saved.",
            SourceChangeWarning,
            stacklevel=2,
        )
