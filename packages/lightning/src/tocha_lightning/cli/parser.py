"""The argument parser of `LightningCLI`, on jsonargparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tocha.optim import Optimizer
from tocha.optim import lr_scheduler as schedulers
from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.core import LightningDataModule, LightningModule
from tocha_lightning.trainer import Trainer
from tocha_lightning.utilities.exceptions import MisconfigurationException

if TYPE_CHECKING:
    from jsonargparse import ActionConfigFile, ArgumentParser, Namespace, class_from_function
else:
    try:
        from jsonargparse import ActionConfigFile, ArgumentParser, Namespace, class_from_function
    except ModuleNotFoundError:  # an extra: `LightningArgumentParser` says so when it is made
        ActionConfigFile = Namespace = class_from_function = None
        ArgumentParser = object


class ReduceLROnPlateau(schedulers.ReduceLROnPlateau):
    """`tocha.optim.lr_scheduler.ReduceLROnPlateau` with the name of the metric to watch.

    Args:
        optimizer: the optimizer.
        monitor: the logged metric.
        args: as in the base class.
        kwargs: as in the base class.
    """

    def __init__(self, optimizer: Optimizer, monitor: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(optimizer, *args, **kwargs)
        self.monitor = monitor


SCHEDULERS = (schedulers.LRScheduler, ReduceLROnPlateau)
Kinds = type | tuple[type, ...]


class LightningArgumentParser(ArgumentParser):
    """jsonargparse's parser, which knows about modules, Trainers, optimizers and schedulers.

    Args:
        args: as in jsonargparse.
        description: shown by ``--help``.
        env_prefix: before the names of environment variables.
        default_env: read environment variables.
        kwargs: as in jsonargparse.

    Raises:
        ModuleNotFoundError: jsonargparse is not installed.
    """

    def __init__(
        self,
        *args: Any,
        description: str = "Lightning Trainer command line tool",
        env_prefix: str = "PL",
        default_env: bool = False,
        **kwargs: Any,
    ) -> None:
        if ArgumentParser is object:
            raise ModuleNotFoundError("The command line needs jsonargparse: `pip install tocha-lightning[cli]`.")
        super().__init__(*args, description=description, env_prefix=env_prefix, default_env=default_env, **kwargs)
        self.callback_keys: list[str] = []
        self._optimizers: dict[str, tuple[Kinds, str]] = {}
        self._lr_schedulers: dict[str, tuple[Kinds, str]] = {}

    def add_lightning_class_args(
        self,
        lightning_class: Any,
        nested_key: str,
        subclass_mode: bool = False,
        required: bool = True,
    ) -> list[str]:
        """Add the arguments of a Trainer, module, data module or callback.

        Args:
            lightning_class: the class, or a function that makes an instance.
            nested_key: where its arguments go.
            subclass_mode: let the configuration choose a subclass by ``class_path``.
            required: it has to be given.

        Returns:
            the names of the arguments.

        Raises:
            MisconfigurationException: another class.
        """
        if callable(lightning_class) and not isinstance(lightning_class, type):
            lightning_class = class_from_function(lightning_class)
        if not issubclass(lightning_class, (Trainer, LightningModule, LightningDataModule, Callback)):
            raise MisconfigurationException(
                f"Cannot add arguments from: {lightning_class}. You should provide either a callable or a subclass of:"
                " Trainer, LightningModule, LightningDataModule, or Callback."
            )
        if issubclass(lightning_class, Callback):
            self.callback_keys.append(nested_key)
        if subclass_mode:
            added = self.add_subclass_arguments(lightning_class, nested_key, fail_untyped=False, required=required)
        else:
            added = self.add_class_arguments(
                lightning_class,
                nested_key,
                fail_untyped=False,
                instantiate=not issubclass(lightning_class, Trainer),
                sub_configs=True,
            )
        return list(added or [])

    def add_optimizer_args(
        self, optimizer_class: Kinds = (Optimizer,), nested_key: str = "optimizer", link_to: str = "AUTOMATIC"
    ) -> None:
        """Add the arguments of an optimizer.

        Args:
            optimizer_class: the class, or a tuple of classes whose subclasses may be chosen.
            nested_key: where the arguments go.
            link_to: the argument of the model that takes them; by default `configure_optimizers` is made.
        """
        self._add(optimizer_class, nested_key, {"params"})
        self._optimizers[nested_key] = (optimizer_class, link_to)

    def add_lr_scheduler_args(
        self, lr_scheduler_class: Kinds = SCHEDULERS, nested_key: str = "lr_scheduler", link_to: str = "AUTOMATIC"
    ) -> None:
        """Add the arguments of a learning-rate scheduler; as `add_optimizer_args`."""
        self._add(lr_scheduler_class, nested_key, {"optimizer"})
        self._lr_schedulers[nested_key] = (lr_scheduler_class, link_to)

    def _add(self, kind: Kinds, nested_key: str, skip: set[str]) -> None:
        options: dict[str, Any] = {"instantiate": False, "fail_untyped": False, "skip": skip}
        if isinstance(kind, tuple):
            self.add_subclass_arguments(kind, nested_key, **options)
        else:
            self.add_class_arguments(kind, nested_key, sub_configs=True, **options)
