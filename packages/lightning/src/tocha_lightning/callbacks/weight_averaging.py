"""A running average of the weights, used for validation and kept in checkpoints."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import tocha
from tocha import Tensor
from tocha.optim.swa_utils import AveragedModel, get_ema_avg_fn
from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.utilities.overrides import is_overridden
from tocha_lightning.utilities.rank_zero import rank_zero_info, rank_zero_warn


class WeightAveraging(Callback):
    """Keeps an average of the weights beside the model.

    Validation uses the average, checkpoints hold it as ``state_dict`` (the model's own weights are in
    ``current_model_state``), and at the end the model gets it. Override `should_update` to choose when it is updated.

    Args:
        device: where the average is kept; None: where the model is.
        use_buffers: average buffers too, not only parameters.
        kwargs: passed to `tocha.optim.swa_utils.AveragedModel`.
    """

    def __init__(self, device: tocha.device | str | int | None = None, use_buffers: bool = True, **kwargs: Any) -> None:
        self._device = None if device is None else tocha.device(device)
        self._use_buffers = use_buffers
        self._kwargs = kwargs
        self._average_model: Any = None
        self._latest_update_step = 0
        self._latest_update_epoch = -1

    def should_update(self, step_idx: int | None = None, epoch_idx: int | None = None) -> bool:
        """Whether to take the weights into the average, after the step or the epoch of this number (from 0)."""
        return step_idx is not None

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Make the average."""
        if stage != "fit":
            return
        if is_overridden("configure_model", pl_module):
            pl_module.configure_model()
        device = self._device or trainer.strategy.root_device
        self._average_model = AveragedModel(pl_module, device=device, use_buffers=self._use_buffers, **self._kwargs)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Update after a step."""
        step = trainer.global_step
        if step > self._latest_update_step and self.should_update(step_idx=step - 1):
            self._average_model.update_parameters(pl_module)
            self._latest_update_step = step

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Update after an epoch."""
        epoch = trainer.current_epoch
        if epoch > self._latest_update_epoch and self.should_update(epoch_idx=epoch):
            self._average_model.update_parameters(pl_module)
            self._latest_update_epoch = epoch

    def _pairs(self, pl_module: Any) -> Iterator[tuple[Tensor, Tensor]]:
        average = self._average_model.module
        return zip(
            itertools.chain(average.parameters(), average.buffers()),
            itertools.chain(pl_module.parameters(), pl_module.buffers()),
            strict=True,
        )

    @tocha.no_grad()
    def _swap(self, pl_module: Any) -> None:
        for average, current in self._pairs(pl_module):
            kept = average.detach().clone()
            average.copy_(current)
            current.copy_(kept)

    def on_validation_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Validate the average."""
        if self._average_model is not None:
            self._swap(pl_module)

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Back to the model's own weights."""
        if self._average_model is not None:
            self._swap(pl_module)

    @tocha.no_grad()
    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Give the model the average."""
        for average, current in self._pairs(pl_module):
            current.copy_(average)

    def state_dict(self) -> dict[str, Any]:
        """When the average was updated last."""
        return {"latest_update_step": self._latest_update_step, "latest_update_epoch": self._latest_update_epoch}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore when the average was updated last."""
        self._latest_update_step = state_dict["latest_update_step"]
        self._latest_update_epoch = state_dict.get("latest_update_epoch", -1)

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Put the average where a checkpoint has its weights."""
        if self._average_model is None:
            rank_zero_info("`WeightAveraging` keeps no state in checkpoints that are saved outside of fit.")
            return
        state = self._average_model.state_dict()
        checkpoint["current_model_state"] = checkpoint["state_dict"]
        checkpoint["state_dict"] = {k[len("module.") :]: v for k, v in state.items() if k.startswith("module.")}
        checkpoint["averaging_state"] = {k: v for k, v in state.items() if not k.startswith("module.")}

    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Restore the average and the model's own weights."""
        if self._average_model is None:
            rank_zero_warn(
                "You're using the WeightAveraging callback, but loading a checkpoint outside the 'fit' stage. The"
                " WeightAveraging state cannot be restored. If you're using the checkpoint for prediction or"
                " testing, you"
                " can ignore this warning. To disable the warning, remove the WeightAveraging callback."
            )
        elif "current_model_state" in checkpoint and "averaging_state" in checkpoint:
            state = {f"module.{name}": value for name, value in checkpoint["state_dict"].items()}
            self._average_model.load_state_dict({**state, **checkpoint["averaging_state"]})
            pl_module.load_state_dict(checkpoint["current_model_state"])
        else:
            rank_zero_warn(
                "The checkpoint was not created with WeightAveraging. Both the current and the average model will be"
                " initialized with state_dict."
            )
            self._average_model.module.load_state_dict(deepcopy(checkpoint["state_dict"]), strict=False)


class EMAWeightAveraging(WeightAveraging):
    """An exponential moving average of the weights.

    Args:
        device: where the average is kept; None: where the model is.
        use_buffers: average buffers too.
        decay: how much of the average stays at every update.
        update_every_n_steps: update after every so many steps.
        update_starting_at_step: not before this step.
        update_starting_at_epoch: also update at the end of epochs, from this one on.
        kwargs: passed to `tocha.optim.swa_utils.AveragedModel`.
    """

    def __init__(
        self,
        device: tocha.device | str | int | None = None,
        use_buffers: bool = True,
        decay: float = 0.999,
        update_every_n_steps: int = 1,
        update_starting_at_step: int | None = None,
        update_starting_at_epoch: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(device=device, use_buffers=use_buffers, avg_fn=get_ema_avg_fn(decay=decay), **kwargs)
        self.update_every_n_steps = update_every_n_steps
        self.update_starting_at_step = update_starting_at_step
        self.update_starting_at_epoch = update_starting_at_epoch

    def should_update(self, step_idx: int | None = None, epoch_idx: int | None = None) -> bool:
        """Every so many steps, and at the end of epochs from `update_starting_at_epoch` on."""
        if step_idx is not None:
            late_enough = self.update_starting_at_step is None or step_idx >= self.update_starting_at_step
            return late_enough and self.update_every_n_steps > 0 and step_idx % self.update_every_n_steps == 0
        start = self.update_starting_at_epoch
        return epoch_idx is not None and start is not None and epoch_idx >= start
