"""``tocha.load``: tells what kind of file it is, and what went wrong with it."""

from __future__ import annotations

import os
import pickle
import warnings
from typing import IO, Any

from . import _archive, _legacy, _names, safetensors
from ._files import FileLike, is_path, reading
from ._locations import MapLocation, is_meta, restore_function
from ._weights_unpickler import WeightsUnpickler
from ._zip_reader import MAGIC

_TRUE = ("1", "y", "yes", "true")


def load(
    f: FileLike,
    map_location: MapLocation = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load an object that ``tocha.save`` or ``torch.save`` wrote, in today's format or the one before PyTorch 1.6.

    A path that ends in ``.safetensors`` gives a dict of tensors.

    Args:
        f: a path, or a seekable object with ``read``.
        map_location: where tensors go: a device or its name; a dict from locations in the file to locations; a function
            of a storage on the CPU and its location in the file, which returns the storage moved, or None. Default:
            where they were.
        pickle_module: module whose ``Unpickler`` is used, which has to be that of ``save``; implies
            ``weights_only=False``.
        weights_only: make nothing but tensors, plain containers and what ``tocha.serialization.add_safe_globals``
            allows (the default). **False runs whatever code the file contains.** As in PyTorch, the environment
            variables ``TORCH_FORCE_WEIGHTS_ONLY_LOAD`` and, where the argument is left out,
            ``TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD`` have the last word.
        mmap: map the file instead of reading it: data is read when it is used. Needs a path.
        pickle_load_args: for the ``Unpickler``, with ``weights_only=False``; ``encoding`` decodes Python 2's strings.

    Raises:
        pickle.UnpicklingError: the file is not what it should be, or ``weights_only`` forbids what it asks for.
        RuntimeError: the archive is damaged, a tensor does not fit its storage, or a device is not there.
        EOFError: the file is empty.
        OSError: the file cannot be read.

    Source: https://pytorch.org/docs/stable/generated/torch.load.html

    Example:
        >>> import io, tocha
        >>> buffer = io.BytesIO()
        >>> tocha.save(tocha.arange(3), buffer)
        >>> _ = buffer.seek(0)
        >>> tocha.load(buffer, map_location="cpu")
        tensor([0, 1, 2])
    """
    restricted = _is_restricted(weights_only, pickle_module)
    if restricted and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if restricted and pickle_load_args.keys() - {"encoding"}:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    if is_path(f) and os.fspath(f).endswith(".safetensors"):  # type: ignore[arg-type]
        return safetensors.load_file(f, _device_of(map_location))  # type: ignore[arg-type]
    options = {"encoding": "utf-8", **pickle_load_args}

    def unpickle(data: Any, start: int, persistent_load: Any) -> tuple[Any, int]:
        if restricted:
            unpickler = WeightsUnpickler(data, start, persistent_load, options["encoding"])
            return unpickler.load(), unpickler.position
        return _unpickle_anything(data, start, persistent_load, pickle_module or pickle, options)

    with reading(f) as file:
        try:
            return _load(file, f, map_location, unpickle, bool(mmap))
        except pickle.UnpicklingError as error:
            if not restricted:
                raise
            raise pickle.UnpicklingError(_explained(str(error))) from error.__cause__


def _load(file: IO[bytes], f: FileLike, map_location: MapLocation, unpickle: _archive.Unpickle, mapped: bool) -> Any:
    restore, begin = restore_function(map_location), file.tell()
    head = file.read(len(MAGIC))
    file.seek(begin)
    if head == MAGIC:
        return _archive.load(file, f, restore, unpickle, to_meta=is_meta(map_location), mapped=mapped)
    if mapped:
        raise RuntimeError(
            "mmap can only be used with files saved with `tocha.save(_use_new_zipfile_serialization=True)`, "
            "please tocha.save your checkpoint with this option in order to use mmap."
        )
    return _legacy.load(file, restore, unpickle)


def _is_restricted(weights_only: bool | None, pickle_module: Any) -> bool:
    restrict = os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    free = os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in _TRUE
    if restrict and free:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, "
            "but both were set."
        )
    if restrict:
        return True
    if weights_only is None and free:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD is set and `weights_only` was not passed to "
            "`tocha.load`, forcing weights_only=False.",
            stacklevel=3,
        )
        return False
    return pickle_module is None if weights_only is None else bool(weights_only)


def _device_of(map_location: MapLocation) -> Any:
    """The device for a safetensors file, which names no locations.

    Raises:
        RuntimeError: ``map_location`` is a dict or a function.
    """
    if map_location is None:
        return "cpu"
    if isinstance(map_location, dict) or callable(map_location):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(
            f"Loading safetensors file with {kind} map_location is not supported. "
            "Use a device string or tocha.device instead."
        )
    return map_location


class _Stream:
    """A file over bytes in memory, for an unpickler that has to say how far it came."""

    def __init__(self, data: Any, position: int) -> None:
        self.data, self.position = memoryview(data).cast("B"), position

    def read(self, count: int) -> bytes:
        piece = bytes(self.data[self.position : self.position + count])
        self.position += len(piece)
        return piece

    def readinto(self, buffer: Any) -> int:
        piece = self.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def readline(self) -> bytes:
        length = 64
        while True:
            window = bytes(self.data[self.position : self.position + length])
            end = window.find(b"\n")
            if end >= 0 or len(window) < length:
                return self.read(end + 1 if end >= 0 else len(window))
            length *= 4


def _unpickle_anything(data: Any, start: int, persistent_load: Any, module: Any, options: dict) -> tuple[Any, int]:
    class Unpickler(module.Unpickler):
        def find_class(self, module_name: str, name: str) -> Any:
            if _names.is_theirs(module_name):
                return _names.from_file(module_name, name)
            return super().find_class(module_name, name)

        def persistent_load(self, saved_id: Any) -> Any:
            if persistent_load is None:
                raise pickle.UnpicklingError("a persistent ID where none may be")
            return persistent_load(saved_id)

    stream = _Stream(data, start)
    try:
        return Unpickler(stream, **options).load(), stream.position
    finally:
        stream.data.release()


def _explained(message: str) -> str:
    """An error of loading weights only, with what can be done about it."""
    if "not an allowed global" in message:
        return (
            "Weights only load failed. The file asks for something other than tensors and plain containers. If you "
            "trust where it comes from, either (1) allow just that, as the message below says, or (2) load it with "
            f"weights_only=False, which runs whatever code is in the file.\n\tWeightsUnpickler error: {message}"
        )
    return f"Weights only load failed. {message}"
