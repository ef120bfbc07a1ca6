"""Looking into a file without loading it."""

from __future__ import annotations

from typing import Any

from . import _allowlist, _names
from ._files import FileLike, reading
from ._weights_unpickler import PYTHON2
from ._zip_reader import MAGIC, ArchiveReader


def get_unsafe_globals_in_checkpoint(f: FileLike) -> list[str]:
    """Names in a file that ``load`` with ``weights_only=True`` would refuse, as ``add_safe_globals`` takes them.

    The pickle is read, not run: a name that it only puts together while it is run is not found.

    Args:
        f: a path, or a seekable object with ``read``, of the zip format.

    Raises:
        ValueError: the file is not a checkpoint in the zip format.
        RuntimeError: the archive is damaged.

    Example:
        >>> import fractions, io, tocha
        >>> buffer = io.BytesIO()
        >>> tocha.save(fractions.Fraction(1, 3), buffer)
        >>> _ = buffer.seek(0)
        >>> tocha.serialization.get_unsafe_globals_in_checkpoint(buffer)
        ['fractions.Fraction']
    """
    with reading(f) as file:
        begin = file.tell()
        head = file.read(len(MAGIC))
        file.seek(begin)
        if head != MAGIC:
            raise ValueError("Expected input to be a checkpoint returned by tocha.save")
        archive = ArchiveReader(file)
        if "constants.pkl" in archive:
            raise ValueError("Expected a checkpoint returned by tocha.save but got a torchscript checkpoint")
        data = archive.read("data.pkl").tobytes()
    safe = _allowlist.defaults().keys() | _allowlist.added().keys()
    found = []
    for module, name in _globals(data):
        module = PYTHON2.get(module, module)
        path = _names.canonical(module, name)
        if _names.known(module, name) is None and path not in safe and path not in found:
            found.append(path)
    return found


def _globals(data: bytes) -> list[tuple[str, str]]:
    """Module and name of each global, also where protocol 4 and later take them from the stack and the memo."""
    import pickletools

    found: list[tuple[str, str]] = []
    texts: list[str] = []
    memo: dict[Any, str] = {}
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name in ("GLOBAL", "INST"):
            module, _, name = str(argument).partition(" ")
            found.append((module, name))
        elif opcode.name == "STACK_GLOBAL" and len(texts) >= 2:
            found.append((texts[-2], texts[-1]))
        elif opcode.name in ("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"):
            memo[len(memo) if opcode.name == "MEMOIZE" else argument] = texts[-1] if texts else ""
        elif opcode.name in ("GET", "BINGET", "LONG_BINGET"):
            texts.append(memo.get(argument, ""))
        elif isinstance(argument, str):
            texts.append(argument)
    return found
