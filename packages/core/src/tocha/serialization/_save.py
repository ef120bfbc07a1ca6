"""``tocha.save``: PyTorch's zip format, and its older one on request."""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
import types
from typing import Any

from .._core import arrays
from .._core.dtypes import dtype
from . import _bridge, _names, _options
from ._files import FileLike, is_path, writing
from ._locations import location_tag
from ._storage import StorageType, UntypedStorage, swapped
from ._zip_writer import ALIGNMENT, ArchiveWriter

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
DEFAULT_PROTOCOL = 2
_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set})


def save(
    obj: object,
    f: FileLike,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Save an object, with the tensors in it, to a file that ``tocha.load`` and ``torch.load`` read.

    Tensors that share memory are written once and share memory again when they are loaded. A file with a path is
    complete when it appears: until then, and if an error stops the writing, what was there before stays.

    Args:
        obj: what to save: tensors, containers of them, ``state_dict``s; anything that pickle can take.
        f: a path, or an object with ``write`` (and ``flush``, if it needs it).
        pickle_module: module whose ``Pickler`` takes the parts that are not tensors. Only with ``pickle`` itself do
            names in the file follow PyTorch's.
        pickle_protocol: 2 is the only one that ``torch.load`` reads by default.
        _use_new_zipfile_serialization: False for the format before PyTorch 1.6.
        _disable_byteorder_record: leave out the record that tells the byte order.

    Raises:
        AttributeError: ``f`` is neither a path nor has it ``write``.
        RuntimeError: the folder does not exist, or one memory is saved as two dtypes.

    Source: https://pytorch.org/docs/stable/generated/torch.save.html

    Example:
        >>> import io, tocha
        >>> buffer = io.BytesIO()
        >>> tocha.save({"weight": tocha.tensor([1.0, 2.0])}, buffer)
        >>> _ = buffer.seek(0)
        >>> tocha.load(buffer)
        {'weight': tensor([1., 2.])}
    """
    if not is_path(f) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if _use_new_zipfile_serialization:
        _save_zip(obj, f, pickle_module, pickle_protocol, _disable_byteorder_record)
    else:
        if _options.local.skip_data:
            raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
        _save_legacy(obj, f, pickle_module, pickle_protocol)


class _Storages:
    """The storages that a pickle has named so far."""

    def __init__(self) -> None:
        self.by_place: dict[tuple, tuple[str, UntypedStorage, StorageType, str]] = {}

    def name(self, reference: StorageReference) -> tuple:
        """What the pickle says of a storage: type, key, location and number of elements."""
        storage, kind = reference.storage, reference.kind
        place: tuple = (str(storage.device), storage.data_ptr(), storage.nbytes())
        if not storage.nbytes():  # nothing to share
            place = ("empty", len(self.by_place))
        if place not in self.by_place:
            self.by_place[place] = str(len(self.by_place)), storage, kind, location_tag(storage)
        key, _, first_kind, location = self.by_place[place]
        if kind is not first_kind:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        return "storage", kind, key, location, storage.nbytes() // kind.dtype.itemsize

    def items(self) -> list[tuple[str, UntypedStorage, StorageType]]:
        return [(key, storage, kind) for key, storage, kind, _ in self.by_place.values()]


class StorageReference:
    """Stands for a storage in what a pickler is given."""

    __slots__ = ("storage", "kind")

    def __init__(self, storage: UntypedStorage, kind: StorageType) -> None:
        self.storage, self.kind = storage, kind


def pickler_class(base: Any, storages: _Storages, legacy: bool) -> type:
    """A pickler that names what is PyTorch's by PyTorch's names and leaves storages' bytes out.

    ``base`` must be written in Python for the names: the one in C imports what it names, and torch need not be there.
    """

    class Pickler(base):
        def persistent_id(self, obj: Any) -> tuple | None:
            if type(obj) is not StorageReference:
                return None
            name = storages.name(obj)
            return (*name, None) if legacy else name

        def reducer_override(self, obj: Any) -> Any:
            kind = type(obj)
            if kind in _ATOMS:
                return NotImplemented
            if kind is StorageType or kind is dtype:
                return obj.name if base is pickle._Pickler else NotImplemented
            reduced = _bridge.reduce(obj, StorageReference)
            if reduced is not NotImplemented:
                return reduced
            inherited = getattr(super(), "reducer_override", None)
            return NotImplemented if inherited is None else inherited(obj)

        def save_global(self, obj: Any, name: str | None = None) -> None:
            own = str(name or getattr(obj, "__qualname__", "") or getattr(obj, "__name__", ""))
            module = getattr(obj, "__module__", None) or ""
            target = _names.to_file(obj, module, own)
            if target == (module, own) or not _names.finds(*target, obj):
                super().save_global(obj, name)
                return
            if self.proto >= 4:
                self.save(target[0])
                self.save(target[1])
                self.write(pickle.STACK_GLOBAL)
            else:
                self.write(pickle.GLOBAL + "{}\n{}\n".format(*target).encode("utf-8"))
            self.memoize(obj)

        if base is pickle._Pickler:
            dispatch = {**base.dispatch, types.FunctionType: save_global}

    return Pickler


def _dump(obj: object, module: Any, protocol: int, storages: _Storages, legacy: bool) -> bytes:
    buffer = io.BytesIO()
    base = pickle._Pickler if module is pickle else module.Pickler
    pickler_class(base, storages, legacy)(buffer, protocol=protocol).dump(obj)
    return buffer.getvalue()


def _save_zip(obj: object, f: FileLike, module: Any, protocol: int, no_byteorder: bool) -> None:
    storages = _Storages()
    # before the file is touched: most errors are those of objects that cannot be pickled
    data = _dump(obj, module, protocol, storages, legacy=False)
    with writing(f) as file:
        archive = ArchiveWriter(file, _folder(f), checksums=_options.get_crc32_options())
        archive.write_record("data.pkl", data)
        archive.write_record(".format_version", b"1")
        archive.write_record(".storage_alignment", str(ALIGNMENT).encode())
        if not no_byteorder:
            archive.write_record("byteorder", sys.byteorder.encode())
        for key, storage, _ in storages.items():
            archive.write_record(f"data/{key}", arrays.to_host(storage._data), blank=_options.local.skip_data)
        archive.write_record("version", b"3\n")
        archive.close()


def _folder(f: FileLike) -> str:
    """The archive's folder is called like the file."""
    name = os.path.splitext(os.path.basename(os.fspath(f)))[0] if is_path(f) else ""  # type: ignore[arg-type]
    return name if isinstance(name, str) and name.isascii() and name.strip(".") else "archive"


def _save_legacy(obj: object, f: FileLike, module: Any, protocol: int) -> None:
    storages = _Storages()
    system = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": struct.calcsize("=l")},
    }
    head = [module.dumps(part, protocol=protocol) for part in (MAGIC_NUMBER, PROTOCOL_VERSION, system)]
    body = _dump(obj, module, protocol, storages, legacy=True)
    items = sorted(storages.items(), key=lambda item: item[0])
    with writing(f) as file:
        for part in (*head, body, module.dumps([key for key, _, _ in items], protocol=protocol)):
            file.write(part)
        for _, storage, kind in items:
            count = storage.nbytes() // kind.dtype.itemsize
            data = arrays.to_host(storage._data)[: count * kind.dtype.itemsize]
            if sys.byteorder == "big":
                data = swapped(data, kind)
            file.write(struct.pack("<q", count))
            file.write(data.data)
