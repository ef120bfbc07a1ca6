"""Accumulating more or fewer batches as training goes on."""

from __future__ import annotations

from typing import Any

from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.overrides import is_overridden
from tocha_lightning.utilities.rank_zero import rank_zero_warn


class GradientAccumulationScheduler(Callback):
    """Changes ``accumulate_grad_batches`` from given epochs on.

    Args:
        scheduling: the number of batches by the epoch from which it holds: ``{0: 8, 4: 1}``.

    Raises:
        TypeError: no dictionary, or an empty one.
        MisconfigurationException: a key or value that is no such number.

    >>> GradientAccumulationScheduler({4: 2}).get_accumulate_grad_batches(3)
    1
    """

    def __init__(self, scheduling: dict[int, int]) -> None:
        if not isinstance(scheduling, dict) or not scheduling:
            raise TypeError("Empty dict cannot be interpreted correct")
        for epoch in scheduling:
            if not isinstance(epoch, int) or epoch < 0:
                raise MisconfigurationException(f"Epoch should be an int greater than or equal to 0. Got {epoch}.")
        for batches in scheduling.values():
            if not isinstance(batches, int) or batches < 1:
                raise MisconfigurationException(f"Accumulation factor should be an int greater than 0. Got {batches}.")
        self.scheduling = {0: 1, **scheduling} if min(scheduling) > 0 else dict(scheduling)
        self.epochs = sorted(self.scheduling)

    def get_accumulate_grad_batches(self, epoch: int) -> int:
        """The number of batches that holds in `epoch`."""
        return self.scheduling[max(start for start in self.epochs if start <= epoch)]

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Check that nothing else accumulates."""
        if not pl_module.automatic_optimization:
            raise RuntimeError(
                "Automatic gradient accumulation and the `GradientAccumulationScheduler` is not supported for manual"
                " optimization. Please remove the callback or switch to automatic optimization."
            )
        for hook in ("optimizer_step", "optimizer_zero_grad"):
            if is_overridden(hook, pl_module) and max(self.scheduling.values()) > 1:
                rank_zero_warn(
                    "When using `Trainer(accumulate_grad_batches != 1)` and overriding"
                    f" `LightningModule.{hook}`, the hook"
                    " will not be called on every batch (rather, it will be called on every optimization step)."
                )
        if trainer.accumulate_grad_batches != 1:
            raise ValueError(
                "You have set `accumulate_grad_batches` and are using the `GradientAccumulationScheduler` callback."
                " Either remove `accumulate_grad_batches` from the Trainer or remove the callback."
            )

        # a run that is resumed within an epoch does not come to its start
        trainer.accumulate_grad_batches = self.get_accumulate_grad_batches(trainer.current_epoch)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Leave the Trainer as it was."""
        trainer.accumulate_grad_batches = 1

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Set the number of this epoch."""
        trainer.accumulate_grad_batches = self.get_accumulate_grad_batches(trainer.current_epoch)
