"""What files call to make tensors. Nothing in a file is believed: every argument is checked before memory is touched.

The names and arguments are those that PyTorch writes (``torch._utils._rebuild_tensor_v2`` and its like).
"""

from __future__ import annotations

from typing import Any

from .._core import dtypes
from . import _bridge
from ._storage import TypedStorage

LIMIT = 2**63


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < LIMIT


def _geometry(offset: Any, size: Any, stride: Any, dtype: dtypes.dtype) -> tuple[int, tuple, tuple, int]:
    """Checked offset, size and stride, and the number of elements that the storage has to have.

    Raises:
        RuntimeError: a number is negative, too large or no whole number.
    """
    size, stride = _sizes(size, "sizes"), _sizes(stride, "strides")
    if not _whole(offset):
        shown = offset if type(offset) is int and -LIMIT < offset < LIMIT else type(offset).__name__
        raise RuntimeError(f"Tensor: invalid storage offset {shown}")
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(stride)} strides for {len(size)} dimensions")
    count = dtype.itemsize
    for n in size:
        count *= n
    reach = 0 if count == 0 else 1 + offset + sum([(n - 1) * s for n, s in zip(size, stride)])
    if count >= LIMIT or reach * dtype.itemsize >= LIMIT:
        raise RuntimeError("numel: integer multiplication overflow")
    return offset, size, stride, reach


def _sizes(values: Any, what: str) -> tuple:
    if not isinstance(values, (tuple, list)):
        raise RuntimeError(f"a tensor's {what} must be a tuple of ints, not {type(values).__name__}")
    if len(values) > 64:
        raise RuntimeError(f"a tensor has at most 64 dimensions, but the file asks for {len(values)}")
    values = tuple(values)
    if not all([_whole(v) for v in values]):
        raise RuntimeError(f"a tensor's {what} must be whole numbers from 0 to 2**63 - 1")
    return values


def _view(storage: Any, offset: Any, size: Any, stride: Any, dtype: dtypes.dtype, requires_grad: Any) -> Any:
    if not isinstance(storage, TypedStorage):
        raise RuntimeError(f"a tensor needs a storage, but the file gives {type(storage).__name__}")
    if type(requires_grad) is not bool:
        raise RuntimeError(f"requires_grad must be bool, not {type(requires_grad).__name__}")
    offset, size, stride, reach = _geometry(offset, size, stride, dtype)
    untyped = storage.untyped
    if reach * dtype.itemsize > untyped.nbytes():
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize "
            f"{dtype.itemsize} requiring a storage size of {reach * dtype.itemsize} are out of bounds for storage of "
            f"size {untyped.nbytes()}"
        )
    if untyped.device.type == "meta":
        return _bridge.meta_tensor(dtype, size, stride, requires_grad)
    return _bridge.tensor_of(_bridge.view_of(untyped, dtype, offset, size, stride), requires_grad)


def rebuild_tensor(storage: Any, offset: Any, size: Any, stride: Any) -> Any:
    """A tensor as files of PyTorch before 0.4 have them."""
    return rebuild_tensor_v2(storage, offset, size, stride, False, None)


def rebuild_tensor_v2(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, metadata: Any = None
) -> Any:
    """A view of a typed storage. ``hooks`` are always empty in files, and not looked at."""
    dtype = storage.dtype if isinstance(storage, TypedStorage) else dtypes.float32
    return _with_metadata(_view(storage, offset, size, stride, dtype, requires_grad), storage, metadata)


def rebuild_tensor_v3(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, dtype: Any, metadata: Any = None
) -> Any:
    """A view of an untyped storage, for the dtypes that have no typed one."""
    if type(dtype) is not dtypes.dtype:
        raise RuntimeError(f"expected a dtype, but the file gives {type(dtype).__name__}")
    if isinstance(storage, TypedStorage) and storage.untyped.foreign_order and dtype.itemsize > 1:
        raise RuntimeError(f"cannot read a tensor of {dtype} from a file of the other byte order")
    return _with_metadata(_view(storage, offset, size, stride, dtype, requires_grad), storage, metadata)


def _with_metadata(tensor: Any, storage: TypedStorage, metadata: Any) -> Any:
    if metadata:
        if not isinstance(metadata, dict) or not metadata.keys() <= {"conj", "neg"}:
            raise RuntimeError("a tensor's metadata must be a dict with the keys 'conj' and 'neg' only")
        _bridge.require_own_memory(tensor)
        storage.untyped.when_filled(lambda: _bridge.apply_lazy_bits(tensor, metadata))
    return tensor


def rebuild_meta_tensor(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Any:
    """A tensor on device ``meta``, which has no storage."""
    if type(dtype) is not dtypes.dtype:
        raise RuntimeError(f"expected a dtype, but the file gives {type(dtype).__name__}")
    _, size, stride, _ = _geometry(0, size, stride, dtype)
    return _bridge.meta_tensor(dtype, size, stride, bool(requires_grad))


def rebuild_parameter(data: Any, requires_grad: Any, hooks: Any) -> Any:
    """A Parameter over a rebuilt tensor."""
    _bridge.require_tensor(data)
    return _bridge.parameter_of(data, bool(requires_grad))


def rebuild_parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Any:
    """A Parameter with attributes of its own."""
    return set_state(rebuild_parameter(data, requires_grad, hooks), state)


def rebuild_from_type(function: Any, kind: Any, args: Any, state: Any) -> Any:
    """A tensor of a subclass, or with attributes of its own; ``function`` is another function of this module."""
    if not any([function is known for known in REBUILD.values()]):
        raise RuntimeError("a tensor subclass must be rebuilt by one of the tensor functions")
    tensor = _bridge.as_kind(function(*args), kind)
    own = getattr(type(tensor), "__setstate__", None)
    if own is not None and own is not getattr(_bridge.tensor_class(), "__setstate__", None):
        own(tensor, state)
        return tensor
    return set_state(tensor, state)


def set_state(obj: Any, state: Any) -> Any:
    """Give ``obj`` the attributes in ``state``, of which none may cover up a method or property of its class.

    Raises:
        RuntimeError: the state is no dict, or no pair of dicts, of attributes.
    """
    parts = state if isinstance(state, tuple) and len(state) == 2 else (state,)
    for part in parts:
        if part is None:
            continue
        if not isinstance(part, dict) or not all([type(name) is str for name in part]):
            raise RuntimeError(f"Invalid serialized state: expected attributes in a dict, got {type(part).__name__}")
        for name, value in part.items():
            ours = getattr(type(obj), name, None)
            if callable(ours) or hasattr(ours, "__set__") or name.startswith("__"):
                raise RuntimeError(f"Invalid serialized state: {name!r} is part of class {type(obj).__name__}")
            setattr(obj, name, value)
    return obj


def rebuild_sparse_tensor(layout: Any, data: Any) -> Any:
    """A sparse COO tensor from its indices, values, size and whether it is coalesced."""
    if not isinstance(data, tuple) or len(data) not in (3, 4):
        raise RuntimeError("a sparse tensor needs indices, values and size")
    indices, values, size = data[:3]
    for part in (indices, values):
        _bridge.require_tensor(part)
        _bridge.require_own_memory(part)
    coalesced = data[3] if len(data) == 4 else None
    return _bridge.sparse_tensor(layout, indices, values, _sizes(size, "sizes"), coalesced)


def get_layout(name: Any) -> Any:
    """A layout by its name, such as ``torch.strided``."""
    return _bridge.layout(name)


REBUILD = {
    "_rebuild_tensor": rebuild_tensor,
    "_rebuild_tensor_v2": rebuild_tensor_v2,
    "_rebuild_tensor_v3": rebuild_tensor_v3,
    "_rebuild_meta_tensor_no_storage": rebuild_meta_tensor,
    "_rebuild_parameter": rebuild_parameter,
    "_rebuild_parameter_with_state": rebuild_parameter_with_state,
    "_rebuild_sparse_tensor": rebuild_sparse_tensor,
}
