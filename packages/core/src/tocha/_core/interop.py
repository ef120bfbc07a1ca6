"""When a function of PyTorch meets a tensor of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def counterpart(func: Any) -> Callable:
    """Our function of the same name as PyTorch's ``func``; other functions as they are.

    Raises:
        TypeError: there is none.
    """
    module, name = getattr(func, "__module__", None) or "", getattr(func, "__name__", "")
    if module.partition(".")[0] != "torch":
        return func
    import tocha

    functional, top = tocha.nn.functional, (tocha, tocha.Tensor)
    for place in (functional, *top) if "nn" in module else (*top, functional):
        found = getattr(place, name, None)
        if callable(found):
            return found
    raise TypeError(f"{module}.{name} was called with a tensor of tocha, which has no function of this name")
