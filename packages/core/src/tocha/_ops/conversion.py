"""Between tensors and the rest: dtypes, devices, NumPy, Python numbers, copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import arrays, dtypes
from .._core.broadcast import broadcast_two, operators
from .._core.casting import cast
from .._core.devices import as_device
from .._core.devices import device as Device
from .._core.families import attribute, method, operator
from .._core.inplace import check_writable, write_back
from .._core.record import ABSTRACT
from .._core.templates import broadcast_error
from .._core.tensor import Size, Tensor, wrap

__all__ = [
    "clone",
    "get_device",
    "is_complex",
    "is_floating_point",
    "is_inference",
    "is_signed",
    "is_tensor",
    "numel",
    "result_type",
]

operators["cast"] = cast


def _clone_kernel(xp: Any, x: Any, order: str) -> Any:
    return x.copy(order=order) if hasattr(x, "ctypes") or xp is not np else x.copy()


clone_op = operator("clone", _clone_kernel, lambda n, g: (g,), lambda x, order: (x.shape, x.dtype), linear=True)


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with memory of its own, through which gradients flow."""
    return clone_op(input, _order(memory_format))


def _order(memory_format: Any) -> str:
    if memory_format is None or memory_format.name == "preserve_format":
        return "K"
    return "C"


def _transfer_kernel(xp: Any, x: Any, target: Device) -> tuple:
    return arrays.to_device(x, target), arrays.device_of(x)


def _transfer_rule(n: Any, g: Any) -> tuple:
    return (transfer(g, n.aux[0] if n.aux is not None else n.extra["source"]),)


transfer = operator("transfer", _transfer_kernel, _transfer_rule, None, aux=1, linear=True)


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a tensor."""
    return isinstance(obj, Tensor)


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return input.is_inference()


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input._data.size


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating-point one."""
    return input._data.dtype.kind in "fV"


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return input._data.dtype.kind == "c"


def result_type(tensor1: Any, tensor2: Any) -> dtypes.dtype:
    """The dtype of an arithmetic result of two operands, tensors or numbers.

    Example:
        >>> import tocha
        >>> tocha.result_type(tocha.tensor([1, 2]), 1.5)
        tocha.float32
    """
    from .._core.templates import common_dtype

    return dtypes.of(common_dtype((tensor1, tensor2)))


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return dtypes.of(input._data.dtype).is_signed


def get_device(input: Tensor) -> int:
    """The index of the CUDA device, -1 on the CPU."""
    index = input.device.index
    return -1 if index is None else index


def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor with another dtype and/or on another device: ``to(dtype)``, ``to(device)``, ``to(device, dtype)``,
    ``to(other)``.

    Returns the tensor itself where nothing changes, unless ``copy=True``.
    """
    dtype, target = kwargs.pop("dtype", None), kwargs.pop("device", None)
    copy, memory_format = kwargs.pop("copy", False), kwargs.pop("memory_format", None)
    kwargs.pop("non_blocking", None)
    other = kwargs.pop("other", None)
    if kwargs:
        raise TypeError(f"to() received an invalid combination of arguments: unexpected {sorted(kwargs)}")
    rest = []
    for a in args:
        if isinstance(a, Tensor):
            other = a
        elif type(a) is dtypes.dtype or a in (float, int, bool, complex):
            dtype = a
        elif isinstance(a, (str, Device)) or (type(a) is int and target is None):
            target = a
        elif a is not None:
            rest.append(a)
    if rest[1:2]:
        copy = bool(rest[1])
    if other is not None:
        dtype, target = other.dtype, other.device
    result = self
    if target is not None:
        result = _to_device(result, as_device(target))
    if dtype is not None:
        d = dtypes.as_numpy(dtype)
        if result._data.dtype != d:
            result = cast(result, d)
    if memory_format is not None:
        result = operators["contiguous"](result, memory_format)
    return clone(self) if copy and result is self else result


def _to_device(x: Tensor, target: Device) -> Tensor:
    here = arrays.device_of(x._data)
    if here.type == target.type and (target.index is None or target.index == here.index):
        return x
    if target.type == "meta":
        from .._core.abstract import Meta

        return wrap(Meta(x._data.shape, x._data.dtype))
    if here.type == "meta":
        raise NotImplementedError(
            "Cannot copy out of meta tensor; no data! Use to_empty() to move a module from meta to a device"
        )
    return transfer(x, target)


def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor on the CPU."""
    return to(self, "cpu")


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor on a CUDA device."""
    return to(self, "cuda" if device is None else Device(device))


def type_method(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The tensor's type as a string, or the tensor cast to ``dtype``."""
    if dtype is None:
        from .._core.templates import scalar_type_name

        prefix = "torch.cuda" if arrays.device_of(self._data).type == "cuda" else "torch"
        names = {"ComplexFloat": "ComplexFloat"}
        name = scalar_type_name(self._data.dtype)
        return f"{prefix}.{names.get(name, name)}Tensor"
    if isinstance(dtype, str):
        from .._core.templates import _SCALAR_TYPES

        by_name = {v: k for k, v in _SCALAR_TYPES.items()}
        dtype = getattr(dtypes, by_name[dtype.rsplit(".", 1)[-1].removesuffix("Tensor")].replace("bool", "bool_"))
    if isinstance(dtype, type) and isinstance(getattr(dtype, "dtype", None), dtypes.dtype):  # tocha.LongTensor
        dtype = dtype.dtype  # type: ignore[attr-defined]
    return to(self, dtype)


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """``self`` in the dtype and on the device of ``other``."""
    return to(self, other)


def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """The values as a NumPy array that shares memory with a CPU tensor.

    Raises:
        RuntimeError: the tensor requires grad (detach it first, or ``force=True``).
        TypeError: the tensor is on a CUDA device, or its dtype is bfloat16.
    """
    if force:
        return arrays.to_host(self._data)
    if self.requires_grad:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    raw = self._data
    if type(raw) is not np.ndarray:
        if type(raw) in ABSTRACT:
            raise _no_values(raw, "numpy()")
        raise TypeError(
            f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
            "memory first."
        )
    if raw.dtype.kind == "V":
        raise TypeError("Got unsupported ScalarType BFloat16")
    return raw


def _no_values(raw: Any, what: str) -> Exception:
    if getattr(type(raw), "records", False):
        from .._trace.tracer import TracingError

        return TracingError.for_value(raw, what)
    return NotImplementedError(f"{what} cannot be called on meta tensors: they have no data")


def array_protocol(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """What NumPy calls to make an array of the tensor."""
    raw = numpy(self)
    return raw if dtype is None else raw.astype(dtype, copy=False)


def item(self: Tensor) -> Any:
    """The value of a one-element tensor as a Python number.

    Raises:
        RuntimeError: the tensor has another number of elements.
    """
    raw = self._data
    if type(raw) in ABSTRACT:
        raise _no_values(raw, "item()")
    if raw.size != 1:
        raise RuntimeError(f"a Tensor with {raw.size} elements cannot be converted to Scalar")
    value = raw.item()
    return value if raw.dtype.kind != "V" else float(value)


def tolist(self: Tensor) -> Any:
    """The values as nested lists of Python numbers (a number for a 0-d tensor)."""
    raw = self._data
    if type(raw) in ABSTRACT:
        raise _no_values(raw, "tolist()")
    raw = arrays.to_host(raw)
    return (raw.astype(np.float32) if raw.dtype.kind == "V" else raw).tolist()


def _number(self: Tensor) -> Any:
    if self._data.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return item(self)


def to_float(self: Tensor) -> float:
    return float(_number(self))


def to_int(self: Tensor) -> int:
    return int(_number(self))


def to_complex(self: Tensor) -> complex:
    return complex(_number(self))


def to_index(self: Tensor) -> int:
    if self._data.dtype.kind not in "iub" or self._data.size != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(item(self))


def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Write ``src`` (broadcast, cast, moved) into this tensor; returns it."""
    if not isinstance(src, Tensor):
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type(src).__name__}")
    check_writable(self)
    shape = src._data.shape
    if len(shape) > len(self._data.shape) or any(
        n != 1 and n != m for n, m in zip(reversed(shape), reversed(self._data.shape))
    ):
        try:
            common = broadcast_two(self._data.shape, shape)
        except RuntimeError:
            raise broadcast_error(self._data.shape, shape) from None
        raise RuntimeError(
            f"output with shape {list(self._data.shape)} doesn't match the broadcast shape {list(common)}"
        )
    if type(src._data) is not type(self._data):
        src = (
            _to_device(src, self.device)
            if type(self._data) not in ABSTRACT and type(src._data) not in ABSTRACT
            else src
        )
    return write_back(self, src, broadcast=True)


def size(self: Tensor, dim: int | None = None) -> Any:
    """The sizes, or that of one dimension."""
    if dim is None:
        return Size(self._data.shape)
    from .dims import wrap_dim

    return self._data.shape[wrap_dim(dim, len(self._data.shape))]


def dim(self: Tensor) -> int:
    """The number of dimensions."""
    return len(self._data.shape)


def stride(self: Tensor, dim: int | None = None) -> Any:
    """The steps between elements along each dimension, in elements."""
    raw = self._data
    if type(raw) in ABSTRACT:
        steps = tuple([s // raw.dtype.itemsize for s in raw.strides])
    else:
        steps = tuple([s // raw.itemsize for s in raw.strides])
        if raw.size == 0 or 1 in raw.shape:
            steps = _conventional(raw.shape, steps)
    return steps if dim is None else steps[dim]


def _conventional(shape: tuple, steps: tuple) -> tuple:
    """NumPy's strides of empty arrays and size-1 dimensions say nothing: PyTorch's contiguous convention."""
    out = list(steps)
    step = 1
    if 0 in shape:
        for i in range(len(shape) - 1, -1, -1):
            out[i] = step
            step *= max(shape[i], 1)
        return tuple(out)
    return tuple(out)


def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Whether the elements lie in memory in row-major order (or in the order of ``memory_format``)."""
    raw = self._data
    if type(raw) in ABSTRACT:
        return True
    name = "contiguous_format" if memory_format is None else memory_format.name
    if name == "channels_last":
        return raw.ndim == 4 and raw.transpose(0, 2, 3, 1).flags.c_contiguous
    if name == "channels_last_3d":
        return raw.ndim == 5 and raw.transpose(0, 2, 3, 4, 1).flags.c_contiguous
    return raw.flags.c_contiguous


def _contiguous_kernel(xp: Any, x: Any, name: str) -> Any:
    if name == "channels_last":
        return xp.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    if name == "channels_last_3d":
        return xp.ascontiguousarray(x.transpose(0, 2, 3, 4, 1)).transpose(0, 4, 1, 2, 3)
    return xp.ascontiguousarray(x)


contiguous_op = operator(
    "contiguous", _contiguous_kernel, lambda n, g: (g,), lambda x, name: (x.shape, x.dtype), linear=True
)


def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself where it is contiguous in ``memory_format``, else a copy that is."""
    if is_contiguous(self, memory_format) or (memory_format is not None and memory_format.name == "preserve_format"):
        return self
    return contiguous_op(self, "contiguous_format" if memory_format is None else memory_format.name)


operators["contiguous"] = contiguous


def iterate(self: Tensor) -> Any:
    """Iterate over the first dimension."""
    if not self._data.shape:
        raise TypeError("iteration over a 0-d tensor")
    return iter([self[i] for i in range(len(self))])


def contains(self: Tensor, element: Any) -> bool:
    """Whether an element equals ``element``."""
    if isinstance(element, (Tensor, bool, int, float, complex)):
        return bool((self == element).any())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


for _fn in (clone, to, cpu, cuda, type_as, numpy, item, tolist, copy_, size, dim, stride, is_contiguous, contiguous,
            is_floating_point, is_complex, is_signed, get_device, numel):  # fmt: skip
    method(_fn)
method(numel, "nelement")
method(dim, "ndimension")
method(type_method, "type")
method(array_protocol, "__array__")
method(to_float, "__float__")
method(to_int, "__int__")
method(to_complex, "__complex__")
method(to_index, "__index__")
method(iterate, "__iter__")
method(contains, "__contains__")


def _caster(name: str, d: dtypes.dtype) -> None:
    def method_(self: Tensor, memory_format: Any = None) -> Tensor:
        return self if self._data.dtype == d.np else cast(self, d.np)

    method_.__name__, method_.__qualname__ = name, f"Tensor.{name}"
    method_.__doc__ = f"The tensor cast to {d}."
    setattr(Tensor, name, method_)


for _name, _dtype in (
    ("float", dtypes.float32), ("double", dtypes.float64), ("half", dtypes.float16), ("bfloat16", dtypes.bfloat16),
    ("int", dtypes.int32), ("long", dtypes.int64), ("short", dtypes.int16), ("char", dtypes.int8),
    ("byte", dtypes.uint8), ("bool", dtypes.bool_), ("cfloat", dtypes.complex64), ("cdouble", dtypes.complex128),
):  # fmt: skip
    _caster(_name, _dtype)


def _itemsize(self: Tensor) -> int:
    """The bytes of one element."""
    return self._data.dtype.itemsize


def _nbytes(self: Tensor) -> int:
    """The bytes of all elements."""
    return self._data.size * self._data.dtype.itemsize


def _is_cuda(self: Tensor) -> bool:
    """Whether the memory is on a CUDA device."""
    return self.device.type == "cuda"


def _is_cpu(self: Tensor) -> bool:
    """Whether the memory is the host's."""
    return self.device.type == "cpu"


def _is_meta(self: Tensor) -> bool:
    """Whether the tensor has a shape and a dtype only, and no memory."""
    return self.device.type == "meta"


attribute("itemsize", _itemsize)
attribute("nbytes", _nbytes)
attribute("is_cuda", _is_cuda)
attribute("is_cpu", _is_cpu)
attribute("is_meta", _is_meta)
method(_itemsize, "element_size")
