"""Questions about what a user has overridden and which parameters a hook takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def is_overridden(name: str, instance: Any, parent: type | None = None) -> bool:
    """Whether `instance` has its own version of the method `name` of `parent`.

    `parent` defaults to `LightningModule`, `LightningDataModule` or `Callback`, whichever `instance` is.

    >>> from tocha_lightning import Callback
    >>> class Hello(Callback):
    ...     def on_train_start(self, trainer, pl_module):
    ...         print("hello")
    >>> is_overridden("on_train_start", Hello()), is_overridden("on_train_end", Hello())
    (True, False)
    """
    if instance is None:
        return False
    if parent is None:
        parent = _parent_of(instance)
    if not hasattr(parent, name):
        raise ValueError(f"The parent class {parent.__name__} has no method {name!r}.")
    if name in getattr(instance, "__dict__", ()):
        return True
    return getattr(type(instance), name, None) is not getattr(parent, name)


def _parent_of(instance: Any) -> type:
    from tocha_lightning.callbacks.callback import Callback
    from tocha_lightning.core.datamodule import LightningDataModule
    from tocha_lightning.core.module import LightningModule

    for parent in (LightningModule, LightningDataModule, Callback):
        if isinstance(instance, parent):
            return parent
    raise ValueError(
        "Expected a LightningModule, a LightningDataModule or a Callback, or an explicit `parent`;"
        f" got {type(instance).__name__}."
    )


def takes_param(fn: Callable[..., Any], name: str, explicit: bool = False, min_args: int | None = None) -> bool:
    """Whether the hook `fn` takes a parameter called `name`.

    Unless `explicit`, ``*args`` or, with `min_args`, that many positional parameters are enough too.
    """
    params = inspect.signature(fn).parameters
    if name in params:
        return True
    if explicit:
        return False
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in params.values()):
        return True
    return min_args is not None and len(params) >= min_args
