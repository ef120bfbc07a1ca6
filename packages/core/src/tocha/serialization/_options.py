"""Settings of saving and loading, by PyTorch's names."""

from __future__ import annotations

import enum
import mmap
import threading
from typing import Any


class LoadEndianness(enum.Enum):
    """Byte order of files that do not say theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


# Windows has neither flag: there a mapping is always private
MAP_PRIVATE: int | None = getattr(mmap, "MAP_PRIVATE", None)
MAP_SHARED: int | None = getattr(mmap, "MAP_SHARED", None)

_endianness: LoadEndianness | None = None
_mmap_flags: int | None = MAP_PRIVATE
_checksums = True


class _Local(threading.local):
    skip_data = False


local = _Local()


def get_default_load_endianness() -> LoadEndianness | None:
    """Byte order assumed for a file that does not say its own; None means little."""
    return _endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order assumed for a file that does not say its own (files say it since PyTorch 2.1).

    Raises:
        TypeError: ``endianness`` is not a ``LoadEndianness`` or None.
    """
    global _endianness
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _endianness = endianness


def get_crc32_options() -> bool:
    """Whether ``save`` computes each record's CRC-32 (the default)."""
    return _checksums


def set_crc32_options(compute_crc32: bool) -> None:
    """Set whether ``save`` computes each record's CRC-32.

    Without them saving is faster, but zip tools call the file damaged, and ``load`` does not notice when it is.
    """
    global _checksums
    _checksums = compute_crc32


def get_default_mmap_options() -> int | None:
    """How ``load`` with ``mmap=True`` maps a file: ``mmap.MAP_PRIVATE`` (the default) or ``mmap.MAP_SHARED``."""
    return _mmap_flags


class set_default_mmap_options:
    """Set how ``load`` with ``mmap=True`` maps a file; as a context manager, inside the block only.

    Args:
        flags: ``mmap.MAP_PRIVATE``: changes of the tensors stay in memory; ``mmap.MAP_SHARED``: they go to the file.

    Raises:
        ValueError: ``flags`` is neither.
        RuntimeError: on Windows, which has neither.
    """

    def __init__(self, flags: int) -> None:
        global _mmap_flags
        if MAP_PRIVATE is None:
            raise RuntimeError("Changing the default mmap options is currently not supported for Windows")
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, "
                f"expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"
            )
        self.previous = _mmap_flags
        _mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        global _mmap_flags
        _mmap_flags = self.previous


class skip_data:
    """Context manager: ``save`` leaves room for tensors' data without writing it, ``load`` does not read it.

    Saving so and writing the data later lets several processes fill one file. Loading so gives tensors of zeros.

    Args:
        materialize_fake_tensors: accepted for PyTorch's sake; tocha has no fake tensors.
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._previous = local.skip_data
        local.skip_data = True

    def __exit__(self, *error: Any) -> None:
        local.skip_data = self._previous
