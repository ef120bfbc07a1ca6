"""The base of progress bars."""

from __future__ import annotations

from typing import Any

from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.utilities.rank_zero import rank_zero_warn


class ProgressBar(Callback):
    """Derive from it to show progress in another way; the Trainer then adds no bar of its own."""

    def __init__(self) -> None:
        self._trainer: Any = None
        self._enabled = True

    @property
    def trainer(self) -> Any:
        """The Trainer. Raises TypeError before `setup`."""
        if self._trainer is None:
            raise TypeError(f"The `{type(self).__name__}._trainer` reference has not been set yet.")
        return self._trainer

    @property
    def is_enabled(self) -> bool:
        """Whether anything is shown."""
        return self._enabled

    @property
    def is_disabled(self) -> bool:
        """Whether nothing is shown."""
        return not self._enabled

    def enable(self) -> None:
        """Show progress."""
        self._enabled = True

    def disable(self) -> None:
        """Show nothing: done in all processes but that of rank zero."""
        self._enabled = False

    def print(self, *args: Any, **kwargs: Any) -> None:
        """Print without tearing the bar apart."""
        print(*args, **kwargs)

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Take the Trainer."""
        self._trainer = trainer
        if not trainer.is_global_zero:
            self.disable()

    @property
    def sanity_check_description(self) -> str:
        """The title of the sanity check."""
        return "Sanity Checking"

    @property
    def train_description(self) -> str:
        """The title of training."""
        return "Training"

    @property
    def validation_description(self) -> str:
        """The title of validation."""
        return "Validation"

    @property
    def test_description(self) -> str:
        """The title of testing."""
        return "Testing"

    @property
    def predict_description(self) -> str:
        """The title of predicting."""
        return "Predicting"

    @property
    def total_train_batches(self) -> int | float:
        """The number of training batches of an epoch."""
        batches: int | float = self.trainer.num_training_batches
        return batches

    @property
    def total_val_batches(self) -> int | float:
        """The number of batches of one validation run."""
        if self.trainer.sanity_checking:
            return sum(self.trainer.num_sanity_val_batches)
        return sum(self.trainer.num_val_batches)

    def get_metrics(self, trainer: Any, pl_module: Any) -> dict[str, int | str | float]:
        """What is shown: the logger's version, and everything logged with ``prog_bar=True``."""
        standard: dict[str, Any] = {}
        if trainer.loggers:
            version = trainer.loggers[0].version
            if version not in (None, ""):
                standard["v_num"] = version[-4:] if isinstance(version, str) else version
        metrics = trainer.progress_bar_metrics
        clashing = standard.keys() & metrics.keys()
        if clashing:
            rank_zero_warn(
                f"The progress bar already tracks a metric with the name(s) '{', '.join(clashing)}' and"
                f" `self.log('{next(iter(clashing))}', ..., prog_bar=True)` will overwrite this value."
            )
        return {**standard, **metrics}
