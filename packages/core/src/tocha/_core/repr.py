"""How a tensor prints: gathers the facts and hands them to ``printing``."""

from __future__ import annotations

from . import arrays, dtypes, duals
from .record import ABSTRACT
from .tensor import Tensor


def tensor_repr(t: Tensor) -> str:
    """The text of ``repr(t)``, PyTorch's."""
    from .printing import tensor_str

    tangent = None
    if duals.levels:
        from ..autograd.forward_ad import unpack_dual

        t, tangent = unpack_dual(t)
    node = t.grad_fn
    raw = t._data
    device = t.device
    array = raw if type(raw) in ABSTRACT else arrays.to_host(raw)
    return tensor_str(
        array,
        requires_grad=bool(t._flags & 1),
        grad_fn_name=None if node is None else node.name(),
        dtype_name=t.dtype.name,
        default_dtype_name=dtypes.get_default_dtype().name,
        device=None if device.type == "cpu" else str(device),
        tangent=None if tangent is None else repr(tangent),
    )
