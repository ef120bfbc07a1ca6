"""The hooks that a LightningModule (and, for data, a LightningDataModule) may override.

They are listed in the order in which a run meets them. None of them has to be overridden.
"""

from __future__ import annotations

from typing import Any

import tocha
from tocha import Tensor
from tocha.optim import Optimizer
from tocha_lightning.utilities.collections import move_data_to_device
from tocha_lightning.utilities.types import STEP_OUTPUT


class ModelHooks:
    """Hooks around the stages, epochs and batches of a run, and around the optimization of one batch."""

    trainer: Any

    def configure_model(self) -> None:
        """Create layers here rather than in ``__init__`` where they are large: it runs after `setup`, once a stage.

        Make it idempotent: it is called again by every ``fit``, ``validate``, ``test`` and ``predict``.
        """

    def on_fit_start(self) -> None:
        """At the very beginning of fit."""

    def on_fit_end(self) -> None:
        """At the very end of fit."""

    def on_train_start(self) -> None:
        """At the beginning of training, after the sanity check."""

    def on_train_end(self) -> None:
        """At the end of training, before the loggers are closed."""

    def on_validation_start(self) -> None:
        """At the beginning of a validation run."""

    def on_validation_end(self) -> None:
        """At the end of a validation run, when its metrics are logged."""

    def on_test_start(self) -> None:
        """At the beginning of testing."""

    def on_test_end(self) -> None:
        """At the end of testing."""

    def on_predict_start(self) -> None:
        """At the beginning of predicting."""

    def on_predict_end(self) -> None:
        """At the end of predicting."""

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> int | None:
        """Before a training batch. Return -1 to skip the rest of the epoch."""

    def on_train_batch_end(self, outputs: STEP_OUTPUT, batch: Any, batch_idx: int) -> None:
        """After a training batch; `outputs` is what `training_step` returned, its loss detached."""

    def on_validation_batch_start(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Before a validation batch."""

    def on_validation_batch_end(
        self, outputs: STEP_OUTPUT, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """After a validation batch."""

    def on_test_batch_start(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Before a test batch."""

    def on_test_batch_end(self, outputs: STEP_OUTPUT, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """After a test batch."""

    def on_predict_batch_start(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Before a prediction batch."""

    def on_predict_batch_end(self, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        """After a prediction batch."""

    def on_validation_model_zero_grad(self) -> None:
        """Frees the gradients before a validation run inside fit."""
        self.zero_grad()  # type: ignore[attr-defined]

    def on_validation_model_eval(self) -> None:
        """Puts the model in evaluation mode for a validation run."""
        self.eval()  # type: ignore[attr-defined]

    def on_validation_model_train(self) -> None:
        """Override to choose the mode after a validation run; by default every module gets back the mode it had."""
        self.train()  # type: ignore[attr-defined]

    def on_test_model_eval(self) -> None:
        """Puts the model in evaluation mode for testing."""
        self.eval()  # type: ignore[attr-defined]

    def on_test_model_train(self) -> None:
        """Override to choose the mode after testing; by default every module gets back the mode it had."""
        self.train()  # type: ignore[attr-defined]

    def on_predict_model_eval(self) -> None:
        """Puts the model in evaluation mode for predicting."""
        self.eval()  # type: ignore[attr-defined]

    def on_train_epoch_start(self) -> None:
        """At the beginning of a training epoch."""

    def on_train_epoch_end(self) -> None:
        """At the end of a training epoch, after the validation that belongs to it."""

    def on_validation_epoch_start(self) -> None:
        """At the beginning of a validation epoch."""

    def on_validation_epoch_end(self) -> None:
        """At the end of a validation epoch; metrics may still be logged."""

    def on_test_epoch_start(self) -> None:
        """At the beginning of a test epoch."""

    def on_test_epoch_end(self) -> None:
        """At the end of a test epoch; metrics may still be logged."""

    def on_predict_epoch_start(self) -> None:
        """At the beginning of a prediction epoch."""

    def on_predict_epoch_end(self) -> None:
        """At the end of a prediction epoch."""

    def on_before_zero_grad(self, optimizer: Optimizer) -> None:
        """After `training_step`, before the gradients are reset."""

    def on_before_backward(self, loss: Tensor) -> None:
        """Before ``loss.backward()``; `loss` is divided by the number of accumulated batches already."""

    def on_after_backward(self) -> None:
        """After ``loss.backward()``, before any gradient is clipped or unscaled."""

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        """Before ``optimizer.step()``: gradients are complete and unscaled, not clipped yet."""


class DataHooks:
    """Hooks around data: where it is prepared, loaded and moved to the device."""

    prepare_data_per_node: bool = True
    allow_zero_length_dataloader_with_multiple_devices: bool = False

    def prepare_data(self) -> None:
        """Download or unpack data. Called by one process only: do not set state here, use `setup`."""

    def setup(self, stage: str) -> None:
        """At the beginning of ``"fit"``, ``"validate"``, ``"test"`` or ``"predict"``, in every process."""

    def teardown(self, stage: str) -> None:
        """At the end of the stage."""

    def train_dataloader(self) -> Any:
        """The training data: a DataLoader, any iterable of batches, or nested collections of them."""
        raise NotImplementedError("`train_dataloader` must be implemented to be used with the Trainer.")

    def val_dataloader(self) -> Any:
        """The validation data: a DataLoader, any iterable of batches, or a list of them."""
        raise NotImplementedError("`val_dataloader` must be implemented to be used with the Trainer.")

    def test_dataloader(self) -> Any:
        """The test data: a DataLoader, any iterable of batches, or a list of them."""
        raise NotImplementedError("`test_dataloader` must be implemented to be used with the Trainer.")

    def predict_dataloader(self) -> Any:
        """The data to predict: a DataLoader, any iterable of batches, or a list of them."""
        raise NotImplementedError("`predict_dataloader` must be implemented to be used with the Trainer.")

    def on_before_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        """Change the batch before it goes to the device."""
        return batch

    def transfer_batch_to_device(self, batch: Any, device: tocha.device, dataloader_idx: int) -> Any:
        """Move the batch; override it for types without a method ``to``."""
        return move_data_to_device(batch, device)

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        """Change the batch when it is on the device."""
        return batch


class CheckpointHooks:
    """Hooks around checkpoints."""

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Read from `checkpoint`, or change it, before the weights are restored from it."""

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add to `checkpoint` before it is written."""
