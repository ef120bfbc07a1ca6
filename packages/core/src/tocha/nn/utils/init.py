"""Making a module without initialising it."""

from __future__ import annotations

import inspect
from typing import Any

from ..modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters and buffers hold arbitrary values, for when they are loaded at once.

    Args:
        module_cls: takes an argument ``device``. args, kwargs: its arguments; ``device`` is where the module goes.

    Raises:
        RuntimeError: not a Module, or one without the argument.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.skip_init.html

    >>> import tocha
    >>> tocha.nn.utils.skip_init(tocha.nn.Linear, 5, 1).weight.shape
    tocha.Size([1, 5])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)
