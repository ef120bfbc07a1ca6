"""Logging the rates of a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import tocha
from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.trainer.states import RunningStage
from tocha_lightning.utilities.throughput import Throughput


class ThroughputMonitor(Callback):
    """Logs batches, samples, items and operations a second, as ``train/device/samples_per_sec`` and so on.

    An attribute ``flops_per_batch`` of the module gives the operations.

    Args:
        batch_size_fn: the number of samples of a batch.
        length_fn: the number of items of a batch, tokens for example.
        kwargs: arguments of `tocha_lightning.utilities.throughput.Throughput`.
    """

    def __init__(
        self, batch_size_fn: Callable[[Any], int], length_fn: Callable[[Any], int] | None = None, **kwargs: Any
    ) -> None:
        self.batch_size_fn = batch_size_fn
        self.length_fn = length_fn
        self.kwargs = kwargs
        self._throughputs: dict[RunningStage, Throughput] = {}
        self._starts: dict[RunningStage, float] = {}
        self._counts: dict[RunningStage, list[int]] = {}

    def _start(self, trainer: Any) -> None:
        stage = trainer.state.stage
        self._throughputs[stage] = Throughput(world_size=trainer.world_size, **self.kwargs)
        self._counts[stage] = [0, 0, 0]
        self._starts[stage] = time.perf_counter()

    @tocha.no_grad()
    def _update(self, trainer: Any, pl_module: Any, batch: Any, step: int | None, log: bool) -> None:
        if not trainer.is_global_zero or trainer.sanity_checking:
            return
        stage = trainer.state.stage
        if trainer.strategy.root_device.type == "cuda":
            tocha.cuda.synchronize()
        counts = self._counts[stage]
        counts[0] += 1
        counts[1] += self.batch_size_fn(batch)
        counts[2] += self.length_fn(batch) if self.length_fn is not None else 0
        self._throughputs[stage].update(
            time=time.perf_counter() - self._starts[stage],
            batches=counts[0],
            samples=counts[1],
            lengths=counts[2] if self.length_fn is not None else None,
            flops=getattr(pl_module, "flops_per_batch", None),
        )
        if log:
            separator = self._throughputs[stage].separator
            metrics = self._throughputs[stage].compute()
            trainer._logging.send({f"{stage.value}{separator}{key}": value for key, value in metrics.items()}, step)

    @staticmethod
    def _due(trainer: Any, step: int) -> bool:
        every = trainer.log_every_n_steps
        return bool(every) and step % every == 0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin to count."""
        self._start(trainer)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Count, and log at the steps that are logged."""
        loop = trainer.fit_loop.epoch_loop
        due = not loop.accumulating and self._due(trainer, loop.batches_that_stepped + 1)
        self._update(trainer, pl_module, batch, None, due)

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin to count."""
        if not trainer.sanity_checking:
            self._start(trainer)

    def on_validation_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Count and log."""
        loop = trainer.validate_loop if trainer.state.fn == "validate" else trainer.fit_loop.epoch_loop.val_loop
        step = loop.batch_progress.total.ready
        self._update(trainer, pl_module, batch, step, self._due(trainer, step))

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """The time of validation does not count for training."""
        training = RunningStage.TRAINING
        if trainer.sanity_checking or trainer.state.fn != "fit" or training not in self._starts:
            return
        self._starts[training] = time.perf_counter() - self._throughputs[training].elapsed

    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin to count."""
        self._start(trainer)

    def on_test_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Count and log."""
        step = trainer.test_loop.batch_progress.total.ready
        self._update(trainer, pl_module, batch, step, self._due(trainer, step))

    def on_predict_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin to count."""
        self._start(trainer)

    def on_predict_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Count and log."""
        step = trainer.predict_loop.batch_progress.total.ready
        self._update(trainer, pl_module, batch, step, self._due(trainer, step))
