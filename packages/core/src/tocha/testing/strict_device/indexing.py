"""Reading and writing parts of arrays, with CuPy's rules where they differ from NumPy's.

Integers in index arrays wrap around instead of raising, and where an assignment names a place twice it is undefined
which value stays: here it is the first, so that code which counts on NumPy's last one is found out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .array import ndarray, saturating_cast
from .boundary import host
from .counters import synchronised

__all__ = ["get", "host_key", "put", "scatter", "take"]

_WIDE = {"i4", "i8", "u4", "u8"}
_SCATTER_DTYPES = {
    "add": _WIDE | {"f2", "f4", "f8"},
    "subtract": {"i4", "u4"},
    "maximum": _WIDE | {"f4", "f8"},
    "minimum": _WIDE | {"f4", "f8"},
    "bitwise_and": _WIDE,
    "bitwise_or": _WIDE,
    "bitwise_xor": _WIDE,
}


def get(array: ndarray, key: Any) -> ndarray:
    """`array[key]`: a view for integers and slices, a copy for index arrays."""
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(part, ndarray) and part.dtype == bool for part in parts):
        synchronised()  # the result's size is in the mask
    if not any(isinstance(part, ndarray) for part in parts):
        result = array._host[host_key(array, key)]
        return array._view(result) if isinstance(result, np.ndarray) else array._view(_scalar_view(array, key))
    return ndarray._of(np.asarray(host(array)[host_key(array, key)]), array._device)


def _scalar_view(array: ndarray, key: Any) -> np.ndarray:
    return array._host[(*key, ...) if isinstance(key, tuple) else (key, ...)]


def host_key(array: ndarray, key: Any) -> Any:
    """The key with host arrays for device arrays, their integers wrapped into range.

    Raises:
        TypeError: a list or a NumPy array is used as an index (CuPy would copy it to the device).
        IndexError: an array that is neither integer nor boolean, more than one boolean array.
    """
    parts = key if isinstance(key, tuple) else (key,)
    masks = 0
    spent = sum(_axes(part) for part in parts)
    axis = 0
    converted: list[Any] = []
    for part in parts:
        if isinstance(part, list | tuple | np.ndarray):
            raise TypeError(f"a {type(part).__name__} as an index is an implicit upload: use xp.asarray first")
        if isinstance(part, ndarray):
            index = host(part)
            if index.dtype.kind not in "biu":
                raise IndexError(f"arrays used as indices must be of integer or boolean type (actual: {index.dtype})")
            masks += index.dtype == bool
            if index.dtype != bool and array.ndim > axis and array.shape[axis]:
                index = np.mod(index.astype(np.int64), array.shape[axis])
            converted.append(index)
        elif isinstance(part, slice) and any(isinstance(x, ndarray) for x in (part.start, part.stop, part.step)):
            raise TypeError("slice indices must be integers or None or have an __index__ method")
        else:
            converted.append(part)
        axis += array.ndim - spent if part is Ellipsis else _axes(part)
    if masks > 1:
        raise IndexError("CuPy does not support more than one boolean array in an index")
    return tuple(converted) if isinstance(key, tuple) else converted[0]


def _axes(part: Any) -> int:
    """How many axes of the array a part of the key uses up."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return part.ndim if isinstance(part, ndarray) and part.dtype == bool else 1


def put(array: ndarray, key: Any, value: Any) -> None:
    """`array[key] = value`."""
    where, source = host_key(array, key), host(value)
    if isinstance(source, list | tuple):
        raise TypeError(f"Unsupported type {type(source)}")
    target = host(array)
    if isinstance(source, np.ndarray):
        source = saturating_cast(source, target.dtype)
    parts = key if isinstance(key, tuple) else (key,)
    repeated = any(isinstance(part, ndarray) and part.dtype != bool for part in parts)
    if repeated and np.size(source) > 1:
        places = np.arange(target.size).reshape(target.shape)[where]
        source = np.broadcast_to(source, places.shape)
        where = np.unravel_index(places.reshape(-1)[::-1], target.shape)
        source = source.reshape(-1)[::-1]
    target[where] = source


def take(array: ndarray, indices: Any, axis: int | None = None, out: ndarray | None = None) -> ndarray:
    """`array.take`, whose integers wrap around."""
    if array.size == 0 and np.size(host(indices)):
        raise IndexError("cannot do a non-empty take from an empty axes.")
    if out is not None and out.dtype != array.dtype:
        raise TypeError("Output dtype mismatch")
    result = np.asarray(host(array).take(host(indices), axis, mode="wrap"))
    if out is None:
        return ndarray._of(result, array._device)
    host(out)[...] = result
    return out


def scatter(operation: str, array: ndarray, key: Any, value: Any) -> None:
    """`ufunc.at`: combine every value with the place that the key names, however often it is named."""
    where = host_key(array, key)
    target, source = host(array), host(value)
    parts = key if isinstance(key, tuple) else (key,)
    indexed = any(isinstance(part, ndarray) and part.dtype != bool for part in parts)
    allowed = _SCATTER_DTYPES[operation]
    if indexed and target.dtype.str[1:] not in allowed:
        raise TypeError(f"cupy.{operation}.at only supports {', '.join(sorted(allowed))}, got {target.dtype}")
    getattr(np, operation).at(target, where, np.asarray(source).astype(target.dtype))
