"""Copying and pickling tensors."""

from __future__ import annotations

import copy
from typing import Any

from . import arrays
from .tensor import Tensor, initialise, new


def deep_copy(t: Tensor, memo: dict) -> Tensor:
    """``copy.deepcopy`` of a leaf: memory of its own, the same type, ``grad`` and attributes; aliases stay aliases."""
    if id(t) in memo:
        return memo[id(t)]
    if t.grad_fn is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. "
            "If you were attempting to deepcopy a module, this may be because of a tensor that is not a leaf: detach() "
            "it first"
        )
    data = t._data
    root = getattr(data, "base", None)
    if root is not None and type(root) is type(data):
        key = ("tensor memory", id(root))
        if key not in memo:
            memo[key] = (root.copy(order="K") if root.flags.forc else None, root)
        copied = memo[key][0]
        fresh = _same_view(data, root, copied) if copied is not None else data.copy()
    else:
        fresh = data.copy()
    again = initialise(new(type(t)), fresh, bool(t._flags & 1))
    memo[id(t)] = again
    if t._grad is not None:
        again._grad = copy.deepcopy(t._grad, memo)
    hooks = ("_backward_hooks", "_post_accumulate_grad_hooks", "_retains")
    attributes = {k: v for k, v in t.__dict__.items() if k not in hooks}
    if attributes:
        again.__dict__.update(copy.deepcopy(attributes, memo))
    return again


def _same_view(data: Any, root: Any, copied: Any) -> Any:
    import numpy as np

    if type(data) is not np.ndarray:
        return data.copy()
    offset = data.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    if root.strides != copied.strides:
        return data.copy()
    flat = np.ndarray((copied.nbytes,), np.uint8, copied) if copied.flags.c_contiguous else None
    if flat is None:
        return data.copy()
    return np.ndarray(data.shape, data.dtype, flat, offset, data.strides)


def rebuild(cls: type, array: Any, device: str, requires_grad: bool, attributes: dict | None) -> Tensor:
    """A tensor from its pickled parts."""
    from .devices import device as make_device

    raw = arrays.to_device(array, make_device(device)) if device != "cpu" else array
    t = initialise(new(cls), raw, requires_grad)
    if attributes:
        t.__dict__.update(attributes)
    return t


def reduce_tensor(t: Tensor) -> tuple:
    """What pickle stores: the values on the host, the device, the flags and the attributes; never the history."""
    attributes = {k: v for k, v in t.__dict__.items() if k not in ("_backward_hooks", "_post_accumulate_grad_hooks")}
    return rebuild, (type(t), arrays.to_host(t._data), str(t.device), bool(t._flags & 1), attributes or None)
