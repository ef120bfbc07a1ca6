"""Files to write and to read: a path or an object that behaves like a file."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import stat
from collections.abc import Iterator
from typing import IO, Any

FileLike = str | os.PathLike | IO[bytes]


def is_path(f: Any) -> bool:
    return isinstance(f, (str, os.PathLike))


@contextlib.contextmanager
def writing(f: FileLike) -> Iterator[IO[bytes]]:
    """A binary file to write. One with a path appears under its name when the block has ended without an error.

    Until then the data is in a file beside it, and what was there before stays as it is.

    Raises:
        AttributeError: ``f`` is neither a path nor has it ``write``.
        RuntimeError: the folder does not exist.
        OSError: the file cannot be written.
    """
    if not is_path(f):
        if not hasattr(f, "write"):
            raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
        yield f  # type: ignore[misc]
        flush = getattr(f, "flush", None)
        if flush is not None:
            flush()
        return
    path = os.path.realpath(os.fspath(f))  # type: ignore[arg-type]
    parent = os.path.dirname(path)
    if not os.path.isdir(parent):
        raise RuntimeError(f"Parent directory {os.path.dirname(os.fspath(f))} does not exist.")  # type: ignore[arg-type]
    with _replacing(path) if not os.path.exists(path) or os.path.isfile(path) else open(path, "wb") as file:
        yield file


@contextlib.contextmanager
def _replacing(path: str) -> Iterator[IO[bytes]]:
    temporary = f"{path}.{secrets.token_hex(8)}.tmp"
    try:
        with open(temporary, "xb") as file:
            with contextlib.suppress(FileNotFoundError):
                os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def reading(f: FileLike) -> Iterator[IO[bytes]]:
    """A seekable binary file to read; a path is opened and closed.

    Raises:
        AttributeError, io.UnsupportedOperation: ``f`` cannot seek.
    """
    if is_path(f):
        with open(f, "rb") as file:  # type: ignore[arg-type]
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise RuntimeError(f"{os.fspath(f)} is not a regular file")  # type: ignore[arg-type]
            yield file
        return
    try:
        f.seek(f.tell())  # type: ignore[union-attr]
    except (AttributeError, io.UnsupportedOperation) as error:
        raise type(error)(
            f"{error}. A file can be loaded only if it is seekable: read it into an io.BytesIO and load that."
        ) from None
    yield f  # type: ignore[misc]
