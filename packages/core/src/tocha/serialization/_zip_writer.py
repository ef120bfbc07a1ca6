"""Writing PyTorch's archives: a zip file written from front to back, whose records begin at multiples of 64 bytes.

Layout: https://github.com/pytorch/pytorch/blob/main/caffe2/serialize/inline_container.h. PyTorch can compute where a
record lies from the sizes of those before it, so headers, padding and descriptors are laid out exactly as it does.
"""

from __future__ import annotations

import struct
import zlib
from typing import IO, Any, NamedTuple

ALIGNMENT = 64
_CHUNK = 1 << 24
_MAX32 = 0xFFFFFFFF
_STREAMED, _UTF8 = 0x0008, 0x0800


class _Record(NamedTuple):
    name: bytes
    offset: int
    size: int
    crc: int


class ArchiveWriter:
    """Writes records one after the other; ``close`` writes the directory.

    Args:
        file: anything with ``write``.
        folder: the folder that all records are in.
        checksums: compute each record's CRC-32; without, 0 stands in its place.
    """

    def __init__(self, file: IO[bytes], folder: str, *, checksums: bool = True) -> None:
        self.file, self.folder, self.checksums = file, folder, checksums
        self.position = 0
        self.records: list[_Record] = []

    def write_record(self, name: str, data: Any, *, blank: bool = False) -> None:
        """Add a record.

        Args:
            name: its name inside the folder.
            data: object with the buffer protocol, of bytes.
            blank: leave room for the data and fill it with zeros.
        """
        path, view = f"{self.folder}/{name}".encode(), memoryview(data).cast("B")
        size, offset = len(view), self.position
        crc = zlib.crc32(view) if self.checksums and not blank else 0
        flags = _UTF8 | (_STREAMED if size else 0)
        extra = _sizes64(size, offset) + _padding(offset, len(path), size)
        # sizes and checksum of a streamed record follow it
        numbers = (0, flags, 0, 0, 0, 0, 0, 0, len(path), len(extra))
        self._write(struct.pack("<4s5H3I2H", b"PK\x03\x04", *numbers) + path + extra)
        for begin in range(0, size, _CHUNK):
            piece = view[begin : begin + _CHUNK]
            self._write(bytes(len(piece)) if blank else piece)
        if size:
            form = "<4sIQQ" if size >= _MAX32 or offset >= _MAX32 else "<4sIII"
            self._write(struct.pack(form, b"PK\x07\x08", crc, size, size))
        self.records.append(_Record(path, offset, size, crc))

    def close(self) -> None:
        """Write the directory. An archive without it cannot be read."""
        begin = self.position
        for record in self.records:
            self._write(_directory_entry(record))
        length, count = self.position - begin, len(self.records)
        if begin >= _MAX32 or length >= _MAX32 or count >= 0xFFFF:
            end = self.position
            self._write(struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, length, begin))
            self._write(struct.pack("<4sIQI", b"PK\x06\x07", 0, end, 1))
        short = min(count, 0xFFFF)
        sizes = min(length, _MAX32), min(begin, _MAX32)
        self._write(struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, short, short, *sizes, 0))

    def _write(self, data: Any) -> None:
        done = 0
        while done < len(data):
            # raw files may write less than they are given; buffered ones return nothing or all
            count = self.file.write(data[done:] if done else data)
            if count == 0:
                raise OSError("the file takes no more data")
            done += len(data) if count is None else count
        self.position += len(data)


def _sizes64(size: int, offset: int) -> bytes:
    """The field with the numbers that need more than 32 bits."""
    large = [struct.pack("<QQ", size, size)] if size >= _MAX32 else []
    large += [struct.pack("<Q", offset)] if offset >= _MAX32 else []
    return struct.pack("<HH", 1, sum(map(len, large))) + b"".join(large) if large else b""


def _padding(offset: int, name_length: int, size: int) -> bytes:
    """A field of such a length that the record's data begins at a multiple of 64."""
    begin = offset + 30 + name_length + len(_sizes64(size, offset)) + 4
    fill = -begin % ALIGNMENT
    return struct.pack("<2sH", b"FB", fill) + b"Z" * fill


def _directory_entry(record: _Record) -> bytes:
    extra = _sizes64(record.size, record.offset)
    size, offset = min(record.size, _MAX32), min(record.offset, _MAX32)
    flags = _UTF8 | (_STREAMED if record.size else 0)
    numbers = (0, 0, flags, 0, 0, 0, record.crc, size, size, len(record.name), len(extra), 0, 0, 0, 0, offset)
    return struct.pack("<4s6H3I5H2I", b"PK\x01\x02", *numbers) + record.name + extra
