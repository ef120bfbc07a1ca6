"""The base of every callback."""

from __future__ import annotations

from typing import Any

from tocha import Tensor
from tocha.optim import Optimizer
from tocha_lightning.utilities.types import STEP_OUTPUT


class Callback:
    """Reusable code that runs at the hooks of a Trainer. Override any of them.

    Every hook takes the trainer and the module; callbacks run before the hook of the same name of the module.

    >>> class Epochs(Callback):
    ...     def on_train_epoch_end(self, trainer, pl_module):
    ...         print("epoch", trainer.current_epoch)
    """

    # callbacks that change how training is set up run before all others
    runs_first = False

    @property
    def state_key(self) -> str:
        """The key of this callback's state in checkpoints; unique among the callbacks of a Trainer."""
        return type(self).__qualname__

    def _generate_state_key(self, **kwargs: Any) -> str:
        """A key made of the class and the arguments that tell several instances apart."""
        return f"{type(self).__qualname__}{kwargs!r}"

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """At the beginning of ``"fit"``, ``"validate"``, ``"test"`` or ``"predict"``."""

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """At the end of the stage."""

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """At the beginning of fit."""

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """At the end of fit."""

    def on_sanity_check_start(self, trainer: Any, pl_module: Any) -> None:
        """Before the validation batches that are tried before training."""

    def on_sanity_check_end(self, trainer: Any, pl_module: Any) -> None:
        """After the validation batches that are tried before training."""

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """Before a training batch."""

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: STEP_OUTPUT, batch: Any, batch_idx: int
    ) -> None:
        """After a training batch."""

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """At the beginning of a training epoch."""

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """At the end of a training epoch."""

    def on_validation_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """At the beginning of a validation epoch."""

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """At the end of a validation epoch."""

    def on_test_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """At the beginning of a test epoch."""

    def on_test_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """At the end of a test epoch."""

    def on_predict_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """At the beginning of a prediction epoch."""

    def on_predict_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """At the end of a prediction epoch."""

    def on_validation_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Before a validation batch."""

    def on_validation_batch_end(
        self,
        trainer: Any,
        pl_module: Any,
        outputs: STEP_OUTPUT,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """After a validation batch."""

    def on_test_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Before a test batch."""

    def on_test_batch_end(
        self,
        trainer: Any,
        pl_module: Any,
        outputs: STEP_OUTPUT,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """After a test batch."""

    def on_predict_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Before a prediction batch."""

    def on_predict_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """After a prediction batch."""

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """At the beginning of training."""

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """At the end of training."""

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """At the beginning of a validation run."""

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """At the end of a validation run."""

    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        """At the beginning of testing."""

    def on_test_end(self, trainer: Any, pl_module: Any) -> None:
        """At the end of testing."""

    def on_predict_start(self, trainer: Any, pl_module: Any) -> None:
        """At the beginning of predicting."""

    def on_predict_end(self, trainer: Any, pl_module: Any) -> None:
        """At the end of predicting."""

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """A run ends with an exception."""

    def state_dict(self) -> dict[str, Any]:
        """State to keep in checkpoints."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Add to a checkpoint before it is written."""

    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Read from a checkpoint that is being restored."""

    def on_before_backward(self, trainer: Any, pl_module: Any, loss: Tensor) -> None:
        """Before ``loss.backward()``."""

    def on_after_backward(self, trainer: Any, pl_module: Any) -> None:
        """After ``loss.backward()``."""

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Optimizer) -> None:
        """Before ``optimizer.step()``."""

    def on_before_zero_grad(self, trainer: Any, pl_module: Any, optimizer: Optimizer) -> None:
        """Before the gradients are reset."""
