"""A callback made of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tocha_lightning.callbacks.callback import Callback

HOOKS = tuple(
    name
    for name in vars(Callback)
    if name in ("setup", "teardown") or (name.startswith("on_") and callable(getattr(Callback, name)))
)


class LambdaCallback(Callback):
    """Calls the given function at each hook: ``LambdaCallback(on_train_start=lambda trainer, pl_module: ...)``.

    Args:
        hooks: functions by the names of `Callback`'s hooks, each with the arguments of that hook; None is ignored.

    Raises:
        TypeError: there is no hook of that name, or what is given cannot be called.

    >>> LambdaCallback(on_fit_end=lambda trainer, pl_module: print("done")).on_fit_end(None, None)
    done
    """

    def __init__(self, **hooks: Callable[..., Any] | None) -> None:
        for name, function in hooks.items():
            if name not in HOOKS:
                raise TypeError(
                    f"LambdaCallback.__init__() got an unexpected keyword argument {name!r}: the hooks are"
                    f" {', '.join(HOOKS)}."
                )
            if function is None:
                continue
            if not callable(function):
                raise TypeError(f"`LambdaCallback({name}=...)` has to be a function, got {type(function).__name__}.")
            setattr(self, name, function)
