"""Reading PyTorch's archives: zip files whose records are stored as they are, each where a tensor can lie on it.

Nothing is ever extracted to a file, so names in the archive are names only. Every record is checked to lie inside the
file and apart from all others before a byte of it is read: together they cannot be larger than the file.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from typing import IO

import numpy as np

MAGIC = b"PK\x03\x04"
_BYTE = np.dtype("uint8")
_LOCAL = struct.Struct("<4s22xHH")


class ArchiveReader:
    """The records of an archive by name, without the folder that all of them are in.

    Args:
        file: seekable binary file that stands at the archive's first byte; the archive ends where the file does.

    Raises:
        RuntimeError: the archive is cut off, corrupt, or not one that PyTorch or tocha writes.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.start = file, file.tell()
        self.file_size = file.seek(0, os.SEEK_END) - self.start
        try:
            with zipfile.ZipFile(file) as archive:
                entries, self.directory = archive.infolist(), archive.start_dir
        except Exception as error:  # zipfile lets through what struct, decoding and arithmetic on bad numbers raise
            raise _broken(f"failed finding central directory ({error})") from error
        if not entries:
            raise _broken("the archive is empty")
        folder, slash, _ = entries[0].filename.partition("/")
        if not slash:
            hint = ". This is NumPy's archive: use numpy.load" if entries[0].filename.endswith(".npy") else ""
            raise RuntimeError(f"file in archive is not in a subdirectory: {entries[0].filename[:100]}{hint}")
        self._records = _checked(entries, folder + "/", self.start, self.directory)

    def __contains__(self, name: str) -> bool:
        return name in self._records

    def names(self) -> list[str]:
        return list(self._records)

    def size(self, name: str) -> int:
        """Bytes in a record."""
        return self._find(name)[0].file_size

    def offset(self, name: str) -> int:
        """Where a record's bytes begin, from the beginning of the file."""
        entry, limit = self._find(name)
        self.file.seek(entry.header_offset)
        header = self.file.read(_LOCAL.size)
        if len(header) < _LOCAL.size:
            raise _broken(f"record {name[:100]!r} is cut off")
        magic, name_length, extra_length = _LOCAL.unpack(header)
        own_name = self.file.read(name_length).decode("utf-8" if entry.flag_bits & 0x800 else "cp437", "replace")
        begin = entry.header_offset + _LOCAL.size + name_length + extra_length
        if magic != MAGIC or own_name != entry.orig_filename or begin + entry.file_size > limit:
            raise _broken(f"record {name[:100]!r} does not lie where the archive says")
        return begin

    def read(self, name: str, dtype: np.dtype = _BYTE) -> np.ndarray:
        """A record's bytes, in memory allocated for elements of ``dtype`` (whose arrays then own it).

        Raises:
            RuntimeError: there is no such record, it is cut off, or its checksum is not the one it was written with.
        """
        entry, _ = self._find(name)
        begin = self.offset(name)
        size = entry.file_size
        data = np.empty(size // dtype.itemsize, dtype) if size % dtype.itemsize == 0 else np.empty(size, _BYTE)
        data = data.view(_BYTE)
        self.file.seek(begin)
        read_into(self.file, data, name)
        # PyTorch can leave out the checksum, and then writes 0
        if entry.CRC and zlib.crc32(data.data) != entry.CRC:
            raise _broken(f"record {name[:100]!r} is damaged: its bytes do not have its checksum")
        return data

    def text(self, name: str) -> str:
        """A short record, as text."""
        if self.size(name) > 4096:
            raise _broken(f"record {name[:100]!r} is too long")
        return self.read(name).tobytes().decode("ascii", "replace").strip()

    def _find(self, name: str) -> tuple[zipfile.ZipInfo, int]:
        found = self._records.get(name)
        if found is None:
            raise _broken(f"the archive has no record {name[:100]!r}")
        return found


def read_into(file: IO[bytes], data: np.ndarray, name: str) -> None:
    """Fill ``data`` from a file, raising RuntimeError if the file ends before that."""
    rest = data.data
    fill = getattr(file, "readinto", None)
    while len(rest):
        if fill is not None:
            count = fill(rest)
        else:
            piece = file.read(len(rest))
            count = len(piece)
            rest[:count] = piece
        if not count:
            raise _broken(f"record {name[:100]!r} is cut off")
        rest = rest[count:]


def _checked(
    entries: list[zipfile.ZipInfo], folder: str, start: int, directory: int
) -> dict[str, tuple[zipfile.ZipInfo, int]]:
    """Each record with the place where the next one begins."""
    entries = sorted(entries, key=lambda entry: entry.header_offset)
    if entries[0].header_offset != start:
        raise _broken("the archive does not begin where the file does")
    records: dict[str, tuple[zipfile.ZipInfo, int]] = {}
    for entry, following in zip(entries, [*[e.header_offset for e in entries[1:]], directory]):
        name = entry.filename
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1 or entry.file_size != entry.compress_size:
            raise _broken(f"record {name[:100]!r} is compressed or encrypted, which PyTorch's files never are")
        if entry.header_offset + _LOCAL.size + len(name) + entry.file_size > following:
            raise _broken(f"record {name[:100]!r} overlaps with another one or with the end of the file")
        if name.startswith(folder):
            if name[len(folder) :] in records:
                raise _broken(f"record {name[:100]!r} is there twice")
            records[name[len(folder) :]] = entry, following
    return records


def _broken(why: str) -> RuntimeError:
    return RuntimeError(
        f"failed reading zip archive: {why}. The file is not one that tocha.save or torch.save wrote, or it was "
        "damaged: cut off while it was written or copied, or changed since."
    )
