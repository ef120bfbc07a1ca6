"""The typed constructors of old programs: ``tocha.FloatTensor`` and its like."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import arrays, dtypes
from .._core.devices import CPU, as_device
from .._core.tensor import Tensor, wrap
from .from_data import array_of

__all__ = ["BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor",
           "IntTensor", "LongTensor", "ShortTensor"]  # fmt: skip


def build(np_dtype: Any, device: Any, args: tuple) -> Tensor:
    """A tensor of sizes, of a sequence or an array, of a tensor (which it aliases), or empty."""
    if len(args) == 1 and isinstance(args[0], Tensor):
        (source,) = args
        if source._data.dtype != np_dtype:
            raise TypeError(
                f"expected a tensor of dtype {dtypes.of(np_dtype)} on device {device}, got one of {source.dtype} on "
                f"{source.device}"
            )
        return wrap(source._data)
    if len(args) == 1 and not isinstance(args[0], int):
        (data,) = args
        from .._core.tensor import Size

        raw = np.empty(tuple(data), np_dtype) if isinstance(data, Size) else array_of(data).astype(np_dtype)
    else:
        raw = np.empty(args or (0,), np_dtype)
    return wrap(arrays.to_device(raw, as_device(device)))


class _TensorType(type):
    """A class whose instances are the CPU tensors of one dtype."""

    dtype: dtypes.dtype

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, Tensor) and other.dtype is cls.dtype and other.device == CPU

    def __call__(cls, *args: Any, device: Any = "cpu") -> Tensor:
        return build(cls.dtype.np, device, args)


def _type(name: str, dtype: dtypes.dtype) -> Any:
    doc = (
        f"``{name}(2, 3)``, ``{name}([1, 2])``: a tensor of dtype {dtype}. New programs write "
        f"``tocha.tensor(..., dtype={dtype})``."
    )
    return _TensorType(name, (), {"dtype": dtype, "__doc__": doc, "__module__": "tocha"})


FloatTensor, DoubleTensor = _type("FloatTensor", dtypes.float32), _type("DoubleTensor", dtypes.float64)
HalfTensor, BFloat16Tensor = _type("HalfTensor", dtypes.float16), _type("BFloat16Tensor", dtypes.bfloat16)
ByteTensor, CharTensor = _type("ByteTensor", dtypes.uint8), _type("CharTensor", dtypes.int8)
ShortTensor, IntTensor = _type("ShortTensor", dtypes.int16), _type("IntTensor", dtypes.int32)
LongTensor, BoolTensor = _type("LongTensor", dtypes.int64), _type("BoolTensor", dtypes.bool_)
