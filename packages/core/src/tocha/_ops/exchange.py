"""Memory shared with others: storages, DLPack, buffers, NumPy's hooks, pinned memory, other processes."""

from __future__ import annotations

import mmap
import warnings
from typing import Any

import numpy as np

from .._core import arrays, dtypes
from .._core.families import method
from .._core.record import ABSTRACT
from .._core.storage import TypedStorage, UntypedStorage, is_storage, root_of, warn_typed
from .._core.tensor import Tensor, initialise, new, wrap
from .from_data import finished, from_numpy

__all__ = ["TypedStorage", "UntypedStorage", "from_dlpack", "frombuffer", "is_storage", "to_dlpack"]

# ---------------------------------------------------------------- storages


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that this tensor and its views share, as bytes."""
    return UntypedStorage.over(self._data)


def storage(self: Tensor) -> TypedStorage:
    """The memory as elements of this tensor's dtype; PyTorch wants ``untyped_storage`` used instead, and warns."""
    warn_typed()
    return TypedStorage(wrap_storage=untyped_storage(self), dtype=self.dtype, _internal=True)


def storage_type(self: Tensor) -> type:
    """The class of ``storage()``."""
    return TypedStorage


# ---------------------------------------------------------------- buffers and DLPack


def frombuffer(
    buffer: Any, *, dtype: dtypes.dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A 1-d tensor over the memory of an object with Python's buffer protocol.

    Args:
        count: elements to take (-1: all). offset: bytes to skip.

    Raises:
        ValueError: no buffer, or ``count`` and ``offset`` do not fit it.

    Example:
        >>> import tocha
        >>> tocha.frombuffer(bytearray(b"ab"), dtype=tocha.uint8)
        tensor([97, 98], dtype=tocha.uint8)
    """
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length, item = view.nbytes, dtype.itemsize
    if not length or not count:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if count > 0 and (length - offset) // item < count:
        raise ValueError(
            f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({length} bytes)"
        )
    if count < 0 and (length - offset) % item:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
            f"({item})"
        )
    if view.readonly:
        warnings.warn(
            "The given buffer is not writable, so that the tensor over it cannot be written to. Copy the buffer "
            "(bytearray(buffer)) to get one that can.",
            UserWarning,
            stacklevel=2,
        )
    return finished(np.frombuffer(buffer, dtype.np, count, offset), requires_grad)


class _Capsule:
    """A DLPack capsule as an object with the protocol's methods, which is what NumPy takes."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array, through DLPack.

    Args:
        ext_tensor: an object with ``__dlpack__``, or a capsule of CPU memory.
        device: where the result is to be. copy: True: always copy, False: never (an error where that is needed).

    Raises:
        TypeError: the object has no DLPack method. BufferError: its memory cannot be shared.

    Example:
        >>> import numpy, tocha
        >>> tocha.from_dlpack(numpy.arange(3))
        tensor([0, 1, 2])
    """
    if type(ext_tensor).__name__ == "PyCapsule":
        ext_tensor = _Capsule(ext_tensor)
    if not hasattr(ext_tensor, "__dlpack__"):
        raise TypeError(f"from_dlpack(): expected an object with __dlpack__, got {type(ext_tensor).__name__}")
    kind, _ = ext_tensor.__dlpack_device__()
    raw = (np if int(kind) in (1, 3) else arrays.for_device_type("cuda").xp).from_dlpack(ext_tensor)
    dtypes.of(raw.dtype)
    t = wrap(raw.copy() if copy else raw)
    return t if device is None else t.to(device)


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule over the tensor's memory. Libraries take the tensor itself nowadays: ``other.from_dlpack(tensor)``."""
    return dlpack(tensor, max_version=(1, 0))  # older capsules cannot say that they may be written to


def _exportable(self: Tensor) -> Any:
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if type(self._data) in ABSTRACT:
        raise BufferError("Can't export tensors without memory")
    if self._data.dtype.kind == "V":
        raise BufferError("NumPy cannot export bfloat16 through DLPack: cast to float32 first")
    return self._data


def dlpack(
    self: Tensor,
    *,
    stream: Any = None, max_version: tuple[int, int] | None = None,
    dl_device: Any = None,
    copy: bool | None = None,
) -> Any:
    """What ``from_dlpack`` of other libraries calls."""
    raw = _exportable(self)
    given = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
    return raw.__dlpack__(**{k: v for k, v in given.items() if v is not None})


def dlpack_device(self: Tensor) -> tuple[int, int]:
    """The device, as DLPack numbers it."""
    return _exportable(self).__dlpack_device__()


# ---------------------------------------------------------------- NumPy and Python


def array_wrap(self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Tensor:
    """What NumPy's functions make of a result whose argument was a tensor; truth values become uint8, as in PyTorch."""
    array = np.asarray(array)
    return from_numpy(array.astype(np.uint8) if array.dtype == bool else array)


def buffer(self: Tensor, flags: int) -> memoryview:
    """Python's buffer protocol (3.12 and later): the memory of a CPU tensor."""
    return memoryview(self.numpy())  # type: ignore[arg-type]


def as_subclass(self: Tensor, cls: type) -> Tensor:
    """The same memory and history as an instance of a subclass of ``Tensor``.

    Raises:
        TypeError: ``cls`` is no such class.
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
            "class inherits from Tensor."
        )
    from ..autograd._levels import alias

    t = initialise(new(cls), self._data)
    t._counter = self._counter
    if self.requires_grad:
        t._node, t._flags = alias(self)._node, 1
    return t


def new_legacy(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of this one's dtype and device: of sizes (``new(2, 3)``), of data (``new([1, 2])``), of a tensor, or
    empty."""
    from .legacy import build

    return build(self._data.dtype, self.device if device is None else device, args)


# ---------------------------------------------------------------- pinned and shared memory


def is_shared_memory(raw: Any) -> bool:
    return type(raw) is np.ndarray and isinstance(root_of(raw).base, mmap.mmap)


def is_pinned_memory(raw: Any) -> bool:
    return type(raw) is np.ndarray and type(root_of(raw).base).__name__ == "PinnedMemoryPointer"


def is_shared(self: Tensor) -> bool:
    """Whether other processes see the memory: after ``share_memory_``, and always on CUDA."""
    return self.device.type == "cuda" or is_shared_memory(self._data)


def share_memory_(self: Tensor) -> Tensor:
    """Move the tensor to memory that processes forked from now on share; returns it.

    Views made before keep the old memory. A tensor that is pickled to another process arrives as a copy.
    """
    raw = self._data
    if type(raw) is np.ndarray and not is_shared_memory(raw):
        memory = np.ndarray(max(raw.size, 1), raw.dtype, mmap.mmap(-1, max(raw.nbytes, 1)))
        order = sorted(range(raw.ndim), key=lambda d: -raw.strides[d])
        back = sorted(range(raw.ndim), key=order.__getitem__)
        shared = memory[: raw.size].reshape([raw.shape[d] for d in order]).transpose(back)
        shared[...] = raw
        self._data = shared
    return self


def is_pinned(self: Tensor, device: Any = "cuda") -> bool:
    """Whether the memory is page-locked, so that copies to a CUDA device can overlap with computing."""
    return is_pinned_memory(self._data)


def pin_memory(self: Tensor, device: Any = "cuda") -> Tensor:
    """A copy in page-locked memory; the tensor itself where it is there already.

    Raises:
        RuntimeError: there is no CUDA device, or the tensor is not on the CPU.
    """
    if is_pinned(self):
        return self
    raw = self._data
    if type(raw) is not np.ndarray:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    xp = arrays.for_device_type("cuda").xp
    memory = np.frombuffer(xp.cuda.alloc_pinned_memory(max(raw.nbytes, 1)), raw.dtype, raw.size).reshape(raw.shape)
    memory[...] = raw
    return wrap(memory)


for _fn in (untyped_storage, storage, storage_type, as_subclass, is_shared, share_memory_, is_pinned, pin_memory):
    method(_fn)
method(dlpack, "__dlpack__")
method(dlpack_device, "__dlpack_device__")
method(array_wrap, "__array_wrap__")
method(buffer, "__buffer__")
method(new_legacy, "new")
