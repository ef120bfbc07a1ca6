"""The Tuner."""

from __future__ import annotations

from typing import Any

from tocha_lightning.callbacks.finders import BatchSizeFinder, LearningRateFinder
from tocha_lightning.tuner.lr_finder import LRFinder
from tocha_lightning.utilities.exceptions import MisconfigurationException


class Tuner:
    """Finds a learning rate or a batch size before training.

    Args:
        trainer: the Trainer to do it with.
    """

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer

    def _run(self, callback: Any, method: str, model: Any, kwargs: dict[str, Any]) -> None:
        trainer = self._trainer
        if any(isinstance(c, type(callback)) for c in trainer.callbacks):
            raise ValueError(
                f"Trainer is already configured with a `{type(callback).__name__}` callback. Please remove it if you"
                " want to use the Tuner."
            )
        callback._early_exit = True
        before = trainer.callbacks
        trainer.callbacks = [callback, *before]
        try:
            getattr(trainer, method)(model, **{key: value for key, value in kwargs.items() if value is not None})
        finally:
            trainer.callbacks = [c for c in trainer.callbacks if c is not callback]

    def lr_find(
        self,
        model: Any,
        train_dataloaders: Any = None,
        val_dataloaders: Any = None,
        dataloaders: Any = None,
        datamodule: Any = None,
        method: str = "fit",
        min_lr: float = 1e-8,
        max_lr: float = 1,
        num_training: int = 100,
        mode: str = "exponential",
        early_stop_threshold: float | None = 4.0,
        update_attr: bool = True,
        attr_name: str = "",
    ) -> LRFinder | None:
        """Try increasing learning rates and suggest one.

        Args:
            model: what to train.
            train_dataloaders: as in ``fit``.
            val_dataloaders: as in ``fit``.
            dataloaders: not used.
            datamodule: as in ``fit``.
            method: only ``"fit"``.
            min_lr: the first learning rate.
            max_lr: the last one.
            num_training: how many.
            mode: ``"exponential"`` or ``"linear"`` steps.
            early_stop_threshold: stop when the loss is so many times the best one; None: never.
            update_attr: set the model's learning rate to the suggestion.
            attr_name: the attribute that holds it; by default ``lr`` or ``learning_rate``.

        Raises:
            MisconfigurationException: another method.
            AttributeError: the model has no such attribute.
        """
        if method != "fit":
            raise MisconfigurationException("method='fit' is the only valid configuration to run lr finder.")
        finder = LearningRateFinder(min_lr, max_lr, num_training, mode, early_stop_threshold, update_attr, attr_name)
        self._run(
            finder,
            "fit",
            model,
            {"train_dataloaders": train_dataloaders, "val_dataloaders": val_dataloaders, "datamodule": datamodule},
        )
        return finder.optimal_lr

    def scale_batch_size(
        self,
        model: Any,
        train_dataloaders: Any = None,
        val_dataloaders: Any = None,
        dataloaders: Any = None,
        datamodule: Any = None,
        method: str = "fit",
        mode: str = "power",
        steps_per_trial: int = 3,
        init_val: int = 2,
        max_trials: int = 25,
        batch_arg_name: str = "batch_size",
        margin: float = 0.05,
        max_val: int = 8192,
    ) -> int | None:
        """Try increasing batch sizes until memory is exhausted.

        Args:
            model: what to run.
            train_dataloaders: as in ``fit``; has to come from a method that reads the batch size.
            val_dataloaders: as in ``fit``.
            dataloaders: as in the other methods.
            datamodule: as in ``fit``.
            method: ``"fit"``, ``"validate"``, ``"test"`` or ``"predict"``.
            mode: ``"power"`` doubles; ``"binsearch"`` then searches between what fitted and what did not.
            steps_per_trial: how many steps a batch size has to go through.
            init_val: the first batch size.
            max_trials: try at most so many.
            batch_arg_name: the attribute of model, data module or hyperparameters that holds it.
            margin: with ``"binsearch"``, stay so much below what fitted.
            max_val: the largest to try.

        Returns:
            the batch size, which is also set.

        Raises:
            MemoryError: not even 1 fits.
            MisconfigurationException: there is no such attribute, or loaders were passed.
        """
        finder = BatchSizeFinder(mode, steps_per_trial, init_val, max_trials, batch_arg_name, margin, max_val)
        if method == "fit":
            kwargs = {"train_dataloaders": train_dataloaders, "val_dataloaders": val_dataloaders}
        else:
            kwargs = {"dataloaders": dataloaders}
        self._run(finder, method, model, {**kwargs, "datamodule": datamodule})
        return finder.optimal_batch_size
