"""The optimization of one batch: automatically, or by the module itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tocha import Tensor
from tocha_lightning.loops.progress import OptimizerProgress, Progress, StepTracker
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.rank_zero import WarningCache

_warnings = WarningCache()


class AutomaticOptimization:
    """Runs `training_step`, ``zero_grad``, backward and the optimizer's step in the optimizer's closure."""

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.optim_progress = OptimizerProgress()
        # the learning-rate finder and others that only want the loss
        self.skip_backward = False

    def run(self, batch: Any, batch_idx: int, step_args: tuple[Any, ...], accumulating: bool) -> dict[str, Any]:
        """Optimize with one batch; `accumulating` leaves out the optimizer's step.

        Returns:
            what `training_step` returned, as a dictionary with the detached loss.
        """
        trainer = self.trainer
        optimizer = trainer.strategy.optimizers[0]
        outputs: dict[str, Any] = {}

        def closure() -> Any:
            loss = self._training_step(step_args, outputs)
            if self.skip_backward:
                return loss
            if batch_idx % trainer.accumulate_grad_batches == 0:
                self._zero_grad(batch_idx, optimizer)
            if loss is None:
                return None
            trainer.strategy.backward(loss, optimizer)
            return outputs["loss"]

        if accumulating or self.skip_backward:
            with trainer.strategy.block_backward_sync():
                closure()
            return outputs
        step = self.optim_progress.step
        step.increment_ready()
        # what the hook logs outside of the closure belongs to `optimizer_step`
        trainer._hooks.module(
            "optimizer_step", trainer.current_epoch, batch_idx, trainer.strategy.lightning_optimizers[0], closure
        )
        step.increment_completed()
        return outputs

    def _training_step(self, step_args: tuple[Any, ...], outputs: dict[str, Any]) -> Tensor | None:
        trainer = self.trainer
        outputs.clear()
        context = trainer._step_context
        if context is None:
            output = trainer._hooks.module("training_step", *step_args)
        else:
            with context():
                output = trainer._hooks.module("training_step", *step_args)
        if isinstance(output, Tensor):
            loss = output
        elif output is None:
            _warnings.warn("`training_step` returned `None`. If this was on purpose, ignore this warning...")
            return None
        elif isinstance(output, Mapping):
            if "loss" not in output:
                raise MisconfigurationException(
                    "In automatic_optimization, when `training_step` returns a dict, the 'loss' key needs to be present"
                )
            loss = output["loss"]
            if loss is None:
                return None
            outputs.update(output)
        else:
            raise MisconfigurationException(
                "In automatic optimization, `training_step` must return a Tensor, a dict, or None (where the step will"
                f" be skipped). Found {type(output).__name__}."
            )
        if trainer.accumulate_grad_batches > 1:
            loss = loss / trainer.accumulate_grad_batches
        outputs["loss"] = loss.detach()
        return loss

    def _zero_grad(self, batch_idx: int, optimizer: Any) -> None:
        trainer = self.trainer
        progress = self.optim_progress.zero_grad
        progress.increment_ready()
        trainer._hooks.callbacks("on_before_zero_grad", optimizer)
        trainer._hooks.module("on_before_zero_grad", optimizer)
        progress.increment_started()
        trainer._hooks.module("optimizer_zero_grad", trainer.current_epoch, batch_idx, optimizer)
        progress.increment_completed()


class ManualOptimization:
    """Runs `training_step`, in which the module steps its optimizers itself, and counts the steps."""

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.optim_step_progress = Progress(StepTracker)

    def run(self, step_args: tuple[Any, ...]) -> dict[str, Any]:
        """Run one batch. Returns what `training_step` returned, as a dictionary."""
        trainer = self.trainer
        # every step of every optimizer counts, wherever the module makes it
        for optimizer in trainer.strategy.lightning_optimizers:
            optimizer._on_before_step = self._before_step
            optimizer._on_after_step = self._after_step
        context = trainer._step_context
        if context is None:
            output = trainer._hooks.module("training_step", *step_args)
        else:
            with context():
                output = trainer._hooks.module("training_step", *step_args)
        if output is None:
            return {}
        if isinstance(output, Tensor):
            return {"loss": output.detach()}
        if isinstance(output, Mapping):
            outputs = dict(output)
            if isinstance(outputs.get("loss"), Tensor):
                outputs["loss"] = outputs["loss"].detach()
            return outputs
        raise MisconfigurationException(
            "In manual optimization, `training_step` must either return a Tensor or have no return."
            f" Found {type(output).__name__}."
        )

    def _before_step(self) -> None:
        self.optim_step_progress.increment_ready()
        self.trainer.profiler.start("optimizer_step")

    def _after_step(self) -> None:
        self.trainer.profiler.stop("optimizer_step")
        self.optim_step_progress.increment_completed()
