"""The few facts about tensors that files need; every other module here leaves tensors alone."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

from .._core import arrays, dtypes
from ._storage import UNTYPED, UntypedStorage, address_of, on_device, type_for

# attributes with which the core keeps a tensor's hooks; functions are not saved
_HOOKS = frozenset({"_backward_hooks", "_post_accumulate_grad_hooks", "_retains"})


class Strided(NamedTuple):
    """A dense tensor: a view of a storage. Offset and strides count elements."""

    storage: UntypedStorage
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]


def root_of(raw: Any) -> Any:
    """The array that owns the memory under ``raw``, however many views lie between."""
    while True:
        base = raw.base
        if type(base).__name__ == "DummyArray":  # as_strided puts this, which is no array, between a view and its base
            base = base.base
        if not isinstance(base, type(raw)):
            return raw
        raw = base


def strided(raw: Any) -> Strided:
    """``raw`` as a view of the memory that it shares with other arrays.

    PyTorch has neither negative strides nor strides between elements: an array with such is copied first.
    """
    itemsize = raw.dtype.itemsize
    root = root_of(raw)
    start = address_of(raw) - address_of(root)
    regular = start >= 0 and start % itemsize == 0 and all([s >= 0 and s % itemsize == 0 for s in raw.strides])
    with on_device(raw):
        if raw.size == 0 or not regular or not (root.flags.c_contiguous or root.flags.f_contiguous):
            start, root = 0, (raw := raw.copy())
        flat = (root if root.flags.c_contiguous else root.T).reshape(-1).view(np.uint8)
    stride = tuple([s // itemsize for s in raw.strides]) if raw.size else _dense_strides(raw.shape)
    return Strided(UntypedStorage(flat), start // itemsize, tuple(raw.shape), stride)


def _dense_strides(size: tuple) -> tuple:
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def view_of(storage: UntypedStorage, dtype: dtypes.dtype, offset: int, size: tuple, stride: tuple) -> Any:
    """The raw array that ``size`` and ``stride`` describe; the caller has checked that it lies inside ``storage``."""
    data, itemsize = storage._data, dtype.itemsize
    byte_strides = tuple([s * itemsize for s in stride])
    with on_device(data):
        if 0 in size:
            return data[:0].view(dtype.np).reshape(size)
        if isinstance(data, np.ndarray):
            # unlike as_strided, this checks the bounds once more and keeps `data` as the view's base
            return np.ndarray(size, dtype.np, buffer=data, offset=offset * itemsize, strides=byte_strides)
        elements = data[: data.size // itemsize * itemsize].view(dtype.np)
        return arrays.module_of(data).lib.stride_tricks.as_strided(elements[offset:], size, byte_strides)


def tensor_class() -> Any:
    from .._core.tensor import Tensor

    return Tensor


def require_tensor(value: Any) -> None:
    """Raises RuntimeError where a file gives something else for a tensor."""
    if not isinstance(value, tensor_class()):
        raise RuntimeError(f"expected a tensor, but the file gives {type(value).__name__}")


def is_sparse(tensor: Any) -> bool:
    return getattr(tensor, "is_sparse", False)


def host_array(tensor: Any) -> np.ndarray:
    """A tensor's values on the host, of any dtype (``numpy()`` refuses bfloat16, as PyTorch's does)."""
    return arrays.to_host(tensor._data)


def require_own_memory(tensor: Any) -> None:
    """Raises RuntimeError where computing with a tensor's values would take more memory than its storage has.

    A file of a few bytes can hold a tensor that repeats one number 10**12 times.
    """
    raw = tensor._data
    if tensor.device.type != "meta" and raw.size * raw.dtype.itemsize > root_of(raw).nbytes:
        raise RuntimeError("a tensor in the file repeats its elements where it may not")


def tensor_of(raw: Any, requires_grad: bool) -> Any:
    from .._core.tensor import wrap

    tensor = wrap(raw)
    return tensor.requires_grad_(True) if requires_grad else tensor


def meta_tensor(dtype: dtypes.dtype, size: tuple, stride: tuple, requires_grad: bool) -> Any:
    import tocha

    return tocha.empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


def parameter_of(data: Any, requires_grad: bool) -> Any:
    from ..nn.parameter import Parameter

    return Parameter(data, requires_grad)


def as_kind(tensor: Any, kind: Any) -> Any:
    """``tensor`` as an instance of a subclass of Tensor."""
    if not isinstance(kind, type) or not issubclass(kind, tensor_class()):
        raise RuntimeError("the file names a class to rebuild a tensor as that is no subclass of Tensor")
    if type(tensor) is kind:
        return tensor
    from .._core.tensor import initialise, new

    return initialise(new(kind), tensor._data, tensor.requires_grad)


def sparse_tensor(layout: Any, indices: Any, values: Any, size: tuple, is_coalesced: Any) -> Any:
    import tocha

    if str(layout).rpartition(".")[2] != "sparse_coo":
        raise RuntimeError(f"the file holds a tensor of layout {layout}, of which tocha has only sparse_coo")
    options = {} if is_coalesced is None else {"is_coalesced": bool(is_coalesced)}
    make: Any = tocha.sparse_coo_tensor
    return make(indices, values, size, check_invariants=True, **options)


def layout(name: Any) -> Any:
    import tocha

    kind = name.rpartition(".")[2] if isinstance(name, str) else ""
    if kind not in {"strided", "sparse_coo"} or not hasattr(tocha, kind):
        raise RuntimeError("the file names a layout that tocha does not have")
    return getattr(tocha, kind)


def apply_lazy_bits(tensor: Any, metadata: dict[str, bool]) -> None:
    """Do to the values what PyTorch's lazy ``conj`` and ``neg`` bits promise; tocha has no such bits."""
    raw = tensor._data
    with on_device(raw):
        if metadata.get("conj"):
            raw = raw.conj()
        if metadata.get("neg"):
            raw = -raw
    tensor._data = raw


@functools.cache
def _classes() -> tuple[Any, ...]:
    from .._core import layouts
    from .._core.generator import Generator
    from .._core.tensor import Size
    from ..nn.modules.module import Module
    from ..nn.parameter import Parameter

    return tensor_class(), Parameter, Size, Generator, layouts.layout, Module


def reduce(obj: Any, reference: Any) -> Any:
    """What a pickler writes for a tensor; NotImplemented for anything else and for classes that say it themselves.

    Args:
        reference: makes what the pickler takes for a storage, of the storage and its type.
    """
    from . import _rebuild

    base, Parameter, Size, Generator, Layout, Module = _classes()
    kind = type(obj)
    if kind is Size:
        return Size, (tuple(obj),)
    if kind is Generator:
        return Generator, (str(obj.device),), (obj.initial_seed(), None, obj.get_state())
    if kind is Layout:
        return _rebuild.get_layout, (f"torch.{str(obj).rpartition('.')[2]}",)
    if not isinstance(obj, base):
        return _reduce_module(obj) if isinstance(obj, Module) else NotImplemented
    ours = kind.__reduce_ex__ in (base.__reduce_ex__, Parameter.__reduce_ex__)
    if not ours or kind.__reduce__ is not object.__reduce__:  # a class that says itself how it is pickled
        return NotImplemented
    _warn_of_hooks(obj)
    state = {name: value for name, value in obj.__dict__.items() if name not in _HOOKS}
    if kind is Parameter:
        call: tuple = (obj.data, obj.requires_grad, OrderedDict())
        if state:
            return _rebuild.rebuild_parameter_with_state, (*call, state)
        return _rebuild.rebuild_parameter, call
    function, args = _reduce_plain(obj, reference)
    if kind is base and not state:
        return function, args
    return _rebuild.rebuild_from_type, (function, kind, args, state)


def _reduce_module(obj: Any) -> Any:
    """A module with the tables of hooks that PyTorch's modules always have, and with plain dicts for its members."""
    reduced = obj.__reduce_ex__(2)
    if not isinstance(reduced, tuple) or len(reduced) < 3 or not isinstance(reduced[2], dict):
        return reduced
    from ..nn.modules._hooks import TABLES
    from ..nn.modules._members import Members

    state = {name: dict(value) if type(value) is Members else value for name, value in reduced[2].items()}
    tables: dict = {name: OrderedDict() for name in sorted(TABLES) if name not in state}
    return (*reduced[:2], tables | state, *reduced[3:])


def _warn_of_hooks(tensor: Any) -> None:
    for hook in tensor.__dict__.get("_backward_hooks", {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized. If this is expected, you can give the hook "
                "an attribute __torch_unserializable__ to suppress this warning",
                stacklevel=2,
            )


def _reduce_plain(tensor: Any, reference: Any) -> tuple:
    from . import _rebuild

    if tensor.device.type == "meta":
        return _rebuild.rebuild_meta_tensor, (
            tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()), tensor.requires_grad,
        )  # fmt: skip
    if is_sparse(tensor):
        parts = tensor._indices(), tensor._values(), tensor.size(), tensor.is_coalesced()
        return _rebuild.rebuild_sparse_tensor, (tensor.layout, parts)
    kind, view = type_for(tensor.dtype), strided(tensor._data)
    args: tuple = (reference(view.storage, kind), *view[1:], tensor.requires_grad, OrderedDict())
    if kind.name == UNTYPED:
        return _rebuild.rebuild_tensor_v3, (*args, tensor.dtype)
    return _rebuild.rebuild_tensor_v2, args
