"""Tensors from data: numbers, sequences, NumPy arrays, other tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import arrays, dtypes, tracing
from .._core.abstract import Meta
from .._core.broadcast import operators
from .._core.devices import as_device
from .._core.families import method
from .._core.grad_mode import inference_enabled
from .._core.record import ABSTRACT
from .._core.tensor import INFERENCE, Tensor, initialise, new, wrap

__all__ = ["as_tensor", "asarray", "from_numpy", "tensor"]


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A tensor with a copy of ``data``: a number, nested sequences, a NumPy array, or a tensor.

    Python floats get the default dtype, integers int64, as in PyTorch; NumPy arrays keep theirs.

    Example:
        >>> import tocha
        >>> tocha.tensor([[1.0, 2.0], [3.0, 4.0]])
        tensor([[1., 2.],
                [3., 4.]])
    """
    if isinstance(data, Tensor):
        if type(data._data) in ABSTRACT:
            return finished(operators["clone"](data)._data, requires_grad)
        raw = data._data.copy()
        return placed(
            raw if dtype is None else _cast_raw(raw, dtypes.as_numpy(dtype)), device or data.device, requires_grad
        )
    return placed(array_of(data, dtype), device, requires_grad)


def placed(raw: Any, device: Any, requires_grad: bool) -> Tensor:
    target = as_device(device)
    if target.type == "meta":
        raw = Meta(raw.shape, raw.dtype)
    elif tracing.active is not None and target.type == "cpu":
        raw = tracing.active.constant(raw)
    else:
        raw = arrays.to_device(raw, target)
    return finished(raw, requires_grad)


def _cast_raw(raw: Any, d: np.dtype) -> Any:
    return raw if raw.dtype == d else operators["cast"].op.resolve(type(raw))(raw, d)[0]


def array_of(data: Any, dtype: Any = None) -> np.ndarray:
    """A new NumPy array of Python data, with PyTorch's inferred dtype."""
    want = None if dtype is None else dtypes.as_numpy(dtype)
    if isinstance(data, np.ndarray):
        dtypes.of(data.dtype)
        return (
            data.astype(want)
            if want is not None
            else data.copy()
            if data.dtype.isnative
            else data.astype(data.dtype.newbyteorder("="))
        )
    if isinstance(data, np.generic):
        return np.asarray(data).astype(want or data.dtype)
    if isinstance(data, (bool, int, float, complex)):
        return np.asarray(data).astype(want or python_dtype(data))
    if hasattr(data, "__array__") and not isinstance(data, (list, tuple)):
        return array_of(np.asarray(data), dtype)
    if isinstance(data, (list, tuple, range)) or (
        hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (str, bytes))
    ):
        return _array_of_sequence(data, want)
    if hasattr(data, "scalar_category"):
        return np.asarray(int(data) if data.scalar_category == dtypes.INTEGRAL else float(data))
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def python_dtype(value: Any) -> np.dtype:
    if isinstance(value, bool):
        return dtypes.NP_BOOL
    if isinstance(value, int):
        return dtypes.NP_INT64
    return dtypes.default_np() if isinstance(value, float) else dtypes.default_complex_np()


def _array_of_sequence(data: Any, want: np.dtype | None) -> np.ndarray:
    try:
        raw = np.array(data)
        plain = raw.dtype.kind in "biufc" and not _has_array_like(data)
    except ValueError:
        plain = False
    if plain:
        if want is not None:
            return (
                np.array(data, want)
                if want.kind in "biu"
                and raw.dtype.kind in "biu"
                and raw.dtype != want
                and want.kind != "b"
                and _fits(raw, want)
                else raw.astype(want)
            )
        if not raw.size or raw.dtype.kind == "f":
            return raw.astype(dtypes.default_np())
        return (
            raw.astype(dtypes.default_complex_np())
            if raw.dtype.kind == "c"
            else raw.astype(np.int64)
            if raw.dtype.kind in "iu"
            else raw
        )
    return _ragged(data, want)


def _fits(raw: np.ndarray, want: np.dtype) -> bool:
    if not raw.size:
        return True
    info = np.iinfo(want)
    if raw.min() < info.min or raw.max() > info.max:
        raise RuntimeError(f"value cannot be converted to type {dtypes.of(want).name} without overflow")
    return True


def _has_array_like(data: Any) -> bool:
    while isinstance(data, (list, tuple)) and data:
        if any(isinstance(d, (Tensor, np.ndarray, np.generic)) for d in data):
            return True
        data = data[0]
    return False


def _ragged(data: Any, want: np.dtype | None) -> np.ndarray:
    """Sequences of tensors or arrays, and the error for sequences whose lengths differ."""
    items = [d._data if isinstance(d, Tensor) else d for d in data]
    if isinstance(items[0], (int, float)) and any(isinstance(i, (list, tuple)) for i in items):
        wrong = next(type(i).__name__ for i in items if isinstance(i, (list, tuple)))
        raise TypeError(
            f"'{wrong}' object cannot be interpreted as an integer"
            if isinstance(items[0], int)
            else f"must be real number, not {wrong}"
        )
    parts = [arrays.to_host(i) if not isinstance(i, (list, tuple)) else array_of(i) for i in items]
    parts = [p if isinstance(p, np.ndarray) else array_of(p) for p in parts]
    shapes = {p.shape for p in parts}
    if len(shapes) > 1:
        lengths = [len(p) if p.ndim else 0 for p in parts]
        at = next(i for i, n in enumerate(lengths) if n != lengths[0]) if len(set(lengths)) > 1 else 1
        raise ValueError(f"expected sequence of length {lengths[0]} at dim 1 (got {lengths[at]})")
    dtype = want
    if dtype is None:
        dtype = parts[0].dtype
        for p in parts[1:]:
            dtype = dtypes.promote_np(dtype, p.dtype)
    return np.stack([p.astype(dtype) for p in parts])


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """``data`` as a tensor, sharing memory with a NumPy array or tensor where dtype and device allow."""
    if isinstance(data, Tensor):
        return data.to(device=device if device is not None else data.device, dtype=dtype)
    if (
        isinstance(data, np.ndarray)
        and (dtype is None or dtypes.as_numpy(dtype) == data.dtype)
        and as_device(device).type == "cpu"
    ):
        return from_numpy(data)
    return tensor(data, dtype=dtype, device=device)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """``obj`` as a tensor; ``copy`` True always copies, False never (ValueError where it must)."""
    if copy:
        return tensor(obj, dtype=dtype, device=device, requires_grad=requires_grad)
    result = as_tensor(obj, dtype, device)
    if copy is False and not (
        isinstance(obj, Tensor) and result is obj or isinstance(obj, np.ndarray) and result._data is obj
    ):
        raise ValueError("can't alias the given object: a copy is needed for this dtype, device or type")
    return result.detach().requires_grad_() if requires_grad else result


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor that shares memory with a NumPy array.

    Raises:
        TypeError: not a NumPy array, or a dtype without counterpart.
        ValueError: negative strides (copy the array first).
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dtypes.of(ndarray.dtype)
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) "
        )
    if not ndarray.flags.writeable:
        import warnings

        warnings.warn(
            "The given NumPy array is not writable, and tocha does not support non-writable tensors: in-place "
            "operations on it raise an error. Copy the array to write to it.",
            stacklevel=2,
        )
    return wrap(ndarray.view(np.ndarray) if type(ndarray) is not np.ndarray else ndarray)


def finished(raw: Any, requires_grad: bool = False) -> Tensor:
    t = wrap(raw)
    if inference_enabled():
        t._flags |= INFERENCE
    if requires_grad:
        t.requires_grad_(True)
    return t


def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """``tensor(data)`` with this tensor's dtype and device by default."""
    return tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


def tensor_like(value: Any, like: Tensor) -> Tensor:
    """Python data as a tensor of the dtype and on the device of ``like``."""
    raw = np.asarray(value) if isinstance(value, (bool, int, float, complex)) else array_of(value)
    raw = raw.astype(like._data.dtype)
    if type(like._data) is np.ndarray or type(like._data) in ABSTRACT:
        return wrap(raw)
    return wrap(arrays.to_device(raw, like.device))


def legacy_constructor(cls: type, *args: Any, device: Any = None, dtype: Any = None) -> Tensor:
    """``tocha.Tensor(2, 3)``, ``tocha.Tensor([1, 2])``, ``tocha.Tensor(tensor)``: always the default dtype."""
    d = dtypes.default_np()
    if len(args) == 1 and isinstance(args[0], Tensor):
        raw = args[0]._data
    elif len(args) == 1 and not isinstance(args[0], int):
        raw = (
            array_of(args[0], dtypes.of(d))
            if not isinstance(args[0], tuple) or not all(isinstance(a, int) for a in args[0])
            else array_of(args[0], dtypes.of(d))
        )
    else:
        raw = np.empty(args or (0,), d)
    return initialise(new(cls), arrays.to_device(raw, as_device(device)) if device is not None else raw)


operators["tensor_like"] = tensor_like
method(new_tensor)
