"""Calling hooks: of callbacks first, then of the module, skipping those that nobody has overridden."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.core.hooks import CheckpointHooks, ModelHooks
from tocha_lightning.utilities.overrides import is_overridden

# hooks of the module whose default does something, so that they are always called
_WITH_DEFAULT = frozenset(
    f"on_{stage}_model_{mode}" for stage in ("validation", "test", "predict") for mode in ("eval", "train", "zero_grad")
)


class HookCalls:
    """Finds out once which hooks are overridden, and calls only those.

    While a hook runs, its name is `LoggingConnector.hook`: what `self.log` means depends on it. After an exception the
    name stays, so that the error can tell where it happened.
    """

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer
        self._callbacks: dict[str, list[Callable[..., Any]]] = {}
        self._module: dict[str, Callable[..., Any] | None] = {}

    def forget(self) -> None:
        """The callbacks or the module have changed."""
        self._callbacks = {}
        self._module = {}

    def callback_hooks(self, name: str, chosen: list[Callback] | None = None) -> list[Callable[..., Any]]:
        """The overridden hooks `name` of all callbacks, or of the `chosen` ones."""
        profiler = self._trainer.profiler
        hooks = []
        for callback in self._trainer.callbacks if chosen is None else chosen:
            if is_overridden(name, callback, Callback):
                hook = getattr(callback, name)
                hooks.append(profiler.wrap(f"[Callback]{callback.state_key}.{name}", hook) if profiler.active else hook)
        return hooks

    def callbacks(self, name: str, *args: Any) -> None:
        """Call the hook `name` of every callback."""
        hooks = self._callbacks.get(name)
        if hooks is None:
            hooks = self._callbacks[name] = self.callback_hooks(name)
        if not hooks:
            return
        trainer = self._trainer
        module = trainer.lightning_module
        logging = trainer._logging
        previous = logging.hook
        logging.hook = name
        for hook in hooks:
            hook(trainer, module, *args)
        logging.hook = previous

    def monitoring(self, name: str, monitoring: bool) -> None:
        """Call the hook `name` of the callbacks that monitor a metric, or of the others."""
        from tocha_lightning.callbacks import Checkpoint, EarlyStopping

        key = f"{name}:{monitoring}"
        hooks = self._callbacks.get(key)
        if hooks is None:
            chosen = [c for c in self._trainer.callbacks if isinstance(c, (EarlyStopping, Checkpoint)) == monitoring]
            hooks = self._callbacks[key] = self.callback_hooks(name, chosen)
        logging = self._trainer._logging
        previous = logging.hook
        logging.hook = name
        for hook in hooks:
            hook(self._trainer, self._trainer.lightning_module)
        logging.hook = previous

    def _find_module_hook(self, name: str) -> Callable[..., Any] | None:
        module = self._trainer.lightning_module
        hook = getattr(module, name)
        if name not in _WITH_DEFAULT:
            for parent in (ModelHooks, CheckpointHooks):
                if hasattr(parent, name) and not is_overridden(name, module, parent):
                    return None
        profiler = self._trainer.profiler
        return profiler.wrap(f"[LightningModule]{type(module).__name__}.{name}", hook) if profiler.active else hook

    def module(self, name: str, *args: Any) -> Any:
        """Call the hook `name` of the module."""
        try:
            hook = self._module[name]
        except KeyError:
            hook = self._module[name] = self._find_module_hook(name)
        if hook is None:
            return None
        logging = self._trainer._logging
        previous = logging.hook
        logging.hook = name
        output = hook(*args)
        logging.hook = previous
        return output

    def datamodule(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of the data module."""
        datamodule = self._trainer.datamodule
        hook = getattr(datamodule, name)
        with self._trainer.profiler.profile(f"[LightningDataModule]{type(datamodule).__name__}.{name}"):
            return hook(*args, **kwargs)

    def both(self, name: str, *args: Any) -> Any:
        """Call the hook `name` of the callbacks, then of the module, and return what the module returned."""
        self.callbacks(name, *args)
        return self.module(name, *args)
