"""Writing predictions rather than returning them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.utilities.exceptions import MisconfigurationException


class BasePredictionWriter(Callback):
    """Override `write_on_batch_end` or `write_on_epoch_end`.

    Args:
        write_interval: call the first at every ``"batch"``, the second at the end of the ``"epoch"``, or
            ``"batch_and_epoch"``.

    Raises:
        MisconfigurationException: another interval.
    """

    def __init__(self, write_interval: str = "batch") -> None:
        if write_interval not in ("batch", "epoch", "batch_and_epoch"):
            raise MisconfigurationException(
                f"`write_interval` should be one of ['batch', 'epoch', 'batch_and_epoch'], got {write_interval!r}."
            )
        self.interval = write_interval

    def write_on_batch_end(
        self,
        trainer: Any,
        pl_module: Any,
        prediction: Any,
        batch_indices: Sequence[int] | None,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int,
    ) -> None:
        """Write the predictions of a batch; `batch_indices` are those of its samples in the dataset."""
        raise NotImplementedError()

    def write_on_epoch_end(
        self, trainer: Any, pl_module: Any, predictions: Sequence[Any], batch_indices: Sequence[Any]
    ) -> None:
        """Write all predictions."""
        raise NotImplementedError()

    def on_predict_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Call `write_on_batch_end`."""
        if self.interval != "epoch":
            indices = trainer.predict_loop.current_batch_indices
            self.write_on_batch_end(trainer, pl_module, outputs, indices, batch, batch_idx, dataloader_idx)

    def on_predict_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Call `write_on_epoch_end`."""
        if self.interval == "batch":
            return
        indices = trainer.predict_loop.epoch_batch_indices
        self.write_on_epoch_end(
            trainer, pl_module, trainer.predict_loop.predictions, indices[0] if len(indices) == 1 else indices
        )
