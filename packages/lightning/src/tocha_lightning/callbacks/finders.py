"""Finding a learning rate or a batch size when a run begins."""

from __future__ import annotations

from typing import Any

from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.utilities.exceptions import ExitTuner


class LearningRateFinder(Callback):
    """Tries increasing learning rates at the beginning of fit and goes on with the suggested one.

    Arguments as in `tocha_lightning.tuner.Tuner.lr_find`.

    Attributes:
        optimal_lr: the `tocha_lightning.tuner.LRFinder` with all results.
    """

    runs_first = True
    SUPPORTED_MODES = ("linear", "exponential")

    def __init__(
        self,
        min_lr: float = 1e-8,
        max_lr: float = 1,
        num_training_steps: int = 100,
        mode: str = "exponential",
        early_stop_threshold: float | None = 4.0,
        update_attr: bool = True,
        attr_name: str = "",
    ) -> None:
        if mode not in self.SUPPORTED_MODES:
            raise ValueError(f"`mode` should be either of {self.SUPPORTED_MODES}")
        self._min_lr = min_lr
        self._max_lr = max_lr
        self._num_training_steps = num_training_steps
        self._mode = mode
        self._early_stop_threshold = early_stop_threshold
        self._update_attr = update_attr
        self._attr_name = attr_name
        self._early_exit = False
        self.optimal_lr: Any = None

    def lr_find(self, trainer: Any, pl_module: Any) -> None:
        """Search now."""
        from tocha_lightning.tuner.lr_finder import lr_find

        self.optimal_lr = lr_find(
            trainer,
            pl_module,
            self._min_lr,
            self._max_lr,
            self._num_training_steps,
            self._mode,
            self._early_stop_threshold,
            self._update_attr,
            self._attr_name,
        )
        if self._early_exit:
            raise ExitTuner()

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Search."""
        self.lr_find(trainer, pl_module)


class BatchSizeFinder(Callback):
    """Tries increasing batch sizes when a run begins and goes on with the largest that fits.

    Arguments as in `tocha_lightning.tuner.Tuner.scale_batch_size`.

    Attributes:
        optimal_batch_size: what was found.
    """

    runs_first = True
    SUPPORTED_MODES = ("power", "binsearch")

    def __init__(
        self,
        mode: str = "power",
        steps_per_trial: int = 3,
        init_val: int = 2,
        max_trials: int = 25,
        batch_arg_name: str = "batch_size",
        margin: float = 0.05,
        max_val: int = 8192,
    ) -> None:
        if mode not in self.SUPPORTED_MODES:
            raise ValueError(f"`mode` should be either of {self.SUPPORTED_MODES}")
        self._arguments = (mode, steps_per_trial, init_val, max_trials, batch_arg_name, margin, max_val)
        self._early_exit = False
        self.optimal_batch_size: int | None = None

    def scale_batch_size(self, trainer: Any, pl_module: Any) -> None:
        """Search now."""
        from tocha_lightning.tuner.batch_size_scaling import scale_batch_size

        self.optimal_batch_size = scale_batch_size(trainer, *self._arguments)
        if self._early_exit:
            raise ExitTuner()

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Search."""
        self.scale_batch_size(trainer, pl_module)

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Search, in ``validate``."""
        self._search_once(trainer, pl_module)

    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        """Search, in ``test``."""
        self._search_once(trainer, pl_module)

    def on_predict_start(self, trainer: Any, pl_module: Any) -> None:
        """Search, in ``predict``."""
        self._search_once(trainer, pl_module)

    def _search_once(self, trainer: Any, pl_module: Any) -> None:
        # validation during fit comes after the search at its start
        if trainer.state.fn != "fit" and self.optimal_batch_size is None:
            self.scale_batch_size(trainer, pl_module)
