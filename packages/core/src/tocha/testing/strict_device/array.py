"""The array of the stand-in: memory of a device that only the stand-in's own functions may touch."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from .counters import synchronised, uploaded
from .cuda import Device, MemoryPointer, current_device, owners

__all__ = ["Flags", "ndarray", "saturating_cast"]

_POISON = {"b": True, "i": -(2**7) + 1, "u": 2**8 - 1}


class Flags:
    """Layout of an array's memory (CuPy's arrays know no other flags)."""

    def __init__(self, flags: Any) -> None:
        self.c_contiguous: bool = flags.c_contiguous
        self.f_contiguous: bool = flags.f_contiguous
        self.owndata: bool = flags.owndata
        self.fnc: bool = flags.fnc
        self.forc: bool = flags.forc

    def __getitem__(self, name: str) -> bool:
        return getattr(self, {"C": "c_contiguous", "F": "f_contiguous", "O": "owndata"}.get(name, name.lower()))


class ndarray:
    """`cupy.ndarray`, strictly: no conversion to or from host memory that is not asked for by name.

    The constructor allocates; what is in the memory is unlike anything a program would want to read.
    """

    __slots__ = ("__weakref__", "_base", "_device", "_host")
    __array_ufunc__ = None  # np.add(x, y) must fail, not find its way to the device
    __hash__ = None  # type: ignore[assignment]
    _host: np.ndarray
    _device: int
    _base: ndarray | None

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C"
    ) -> None:
        if memptr is not None or strides is not None:
            raise NotImplementedError("the stand-in has no memory to point into: memptr and strides are not supported")
        self._host = np.empty(shape, dtype, order)  # type: ignore[call-overload]
        self._host.fill(_POISON.get(self._host.dtype.kind, np.nan))
        self._device = current_device()
        self._base = None
        owners[id(self)] = self

    @classmethod
    def _of(cls, host: np.ndarray, device: int, base: ndarray | None = None) -> ndarray:
        self = object.__new__(cls)
        self._host = host
        self._device = device
        self._base = base if base is None or base._base is None else base._base
        if base is None:
            owners[id(self)] = self
        return self

    # -- description ---------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self._host.shape

    @shape.setter
    def shape(self, shape: tuple[int, ...]) -> None:
        self._host = self._host.view()
        self._host.shape = shape

    dtype = property(lambda self: self._host.dtype)
    strides = property(lambda self: self._host.strides)
    ndim = property(lambda self: self._host.ndim)
    size = property(lambda self: self._host.size)
    itemsize = property(lambda self: self._host.itemsize)
    nbytes = property(lambda self: self._host.nbytes)
    base = property(lambda self: self._base)
    device = property(lambda self: Device(self._device))
    data = property(lambda self: MemoryPointer(self._host.ctypes.data, self._device))
    T = property(lambda self: self._view(self._host.T))
    mT = property(lambda self: self._view(self._host.mT))

    @property
    def flags(self) -> Flags:
        flags = Flags(self._host.flags)
        flags.owndata = self._base is None
        return flags

    @property
    def real(self) -> ndarray:
        return self._view(self._host.real) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> ndarray:
        return self._view(self._host.imag) if self.dtype.kind == "c" else self._of(self._host.imag, self._device)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    def _view(self, host: np.ndarray) -> ndarray:
        return self._of(host, self._device, self)

    # -- to the host, by name ------------------------------------------------------------------------------------

    def get(self, stream: Any = None, order: str = "C", out: np.ndarray | None = None, blocking: bool = True) -> Any:
        """A copy in host memory."""
        synchronised()
        if out is None:
            return np.array(self._host, order=order)  # type: ignore[call-overload]
        np.copyto(out, self._host)
        return out

    def set(self, arr: np.ndarray, stream: Any = None) -> None:
        """Copy from host memory."""
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if arr.dtype != self.dtype or arr.shape != self.shape:
            raise ValueError(f"expected {self.dtype}{list(self.shape)}, got {arr.dtype}{list(arr.shape)}")
        uploaded()
        self._host[...] = arr

    def item(self) -> Any:
        return self.get().item()

    def tolist(self) -> Any:
        return self.get().tolist()

    def tobytes(self, order: str = "C") -> bytes:
        return self.get().tobytes(order)

    def __float__(self) -> float:
        return float(self.get())

    def __int__(self) -> int:
        return int(self.get())

    def __complex__(self) -> complex:
        return complex(self.get())

    def __bool__(self) -> bool:
        if self.size == 0:
            warnings.warn("The truth value of an empty array is ambiguous", DeprecationWarning, stacklevel=2)
            return False
        if self.size > 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )
        return bool(self.get())

    def __repr__(self) -> str:
        return repr(self.get())

    def __str__(self) -> str:
        return str(self.get())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise TypeError(f"numpy.{function.__name__} was called on a device array: call it on the array module instead")

    # -- container -----------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return len(self._host)

    def __iter__(self) -> Iterator[ndarray]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[position] for position in range(len(self)))

    def __getitem__(self, key: Any) -> ndarray:
        from .indexing import get

        return get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from .indexing import put

        put(self, key, value)

    # -- copies --------------------------------------------------------------------------------------------------

    def copy(self, order: str = "C") -> ndarray:
        return self._of(self._host.copy(order), current_device())  # type: ignore[arg-type]

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> ndarray:
        return self._of(self._host.copy(), self._device)

    def __reduce__(self) -> tuple[Any, ...]:
        from .namespace import xp

        return xp.asarray, (self.get(),)

    def astype(
        self, dtype: Any, order: str = "K", casting: str | None = None, subok: Any = None, copy: bool = True
    ) -> ndarray:
        dtype = np.dtype(dtype)
        if casting is not None and not np.can_cast(self.dtype, dtype, casting):  # type: ignore[arg-type]
            raise TypeError(
                f"Cannot cast array data from {self.dtype!r} to {dtype!r} according to the rule {casting!r}"
            )
        if dtype == self.dtype and not copy:
            return self
        return self._of(saturating_cast(self._host, dtype, order), self._device)

    def view(self, dtype: Any = None, type: Any = None) -> ndarray:
        return self._view(self._host.view() if dtype is None else self._host.view(dtype))

    def fill(self, value: Any) -> None:
        if isinstance(value, np.ndarray | list | tuple):
            raise TypeError(f"Unsupported type {value.__class__}")
        if isinstance(value, ndarray) and value.shape != ():
            raise ValueError("non-scalar cupy.ndarray cannot be used for fill")
        self[...] = value


def saturating_cast(array: np.ndarray, dtype: np.dtype, order: Any = "K") -> np.ndarray:
    """`array.astype(dtype)` as CUDA does it: a float out of an integer's range becomes its limit, nan becomes 0.

    Source: PTX ISA, `cvt`; integers narrower than 32 bits keep the low bits of the 32-bit result.
    """
    if array.dtype.kind not in "fV" or dtype.kind not in "iu":
        return array.astype(dtype, order)
    wide = np.dtype(f"{dtype.kind}{max(4, dtype.itemsize)}")
    limits = np.iinfo(wide)
    exact = np.nan_to_num(np.trunc(array.astype(np.float64)), nan=0.0)
    with np.errstate(invalid="ignore"):
        cast = exact.astype(wide)
    cast = np.where(exact >= float(limits.max), limits.max, np.where(exact <= float(limits.min), limits.min, cast))
    return cast.astype(wide).astype(dtype, order)
