"""Hooks on what the graph saves, as ``torch.autograd.graph``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import grad_mode
from .._core.grad_mode import Instruments, instrumented
from .._core.node import Node
from .._core.tensor import Tensor

__all__ = ["Node", "disable_saved_tensors_hooks", "save_on_cpu", "saved_tensors_hooks"]


class saved_tensors_hooks(instrumented):
    """Inside: tensors saved for backward go through ``pack_hook``, and come back through ``unpack_hook``.

    Example:
        >>> import tocha
        >>> x = tocha.ones(2, requires_grad=True)
        >>> with tocha.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().copy(), tocha.from_numpy):
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 2.])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        now = grad_mode.instruments()
        super().__init__(Instruments(bool(now and now.anomaly), now.check_nan if now else True, pack_hook, unpack_hook))


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in host memory until backward needs them."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))


class disable_saved_tensors_hooks(instrumented):
    """Inside: no saved-tensor hook may be in force.

    Raises:
        RuntimeError: with the given message, where one is.
    """

    def __init__(self, error_message: str) -> None:
        now = grad_mode.instruments()
        if now is not None and now.pack is not None:
            raise RuntimeError(error_message)
        super().__init__(Instruments(bool(now and now.anomaly)))
