"""Logging figures about the device."""

from __future__ import annotations

from typing import Any

from tocha_lightning.accelerators import CPUAccelerator
from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.utilities.exceptions import MisconfigurationException


class DeviceStatsMonitor(Callback):
    """Logs memory and load of the device before and after the batches that are logged.

    Args:
        cpu_stats: also those of the CPU (None: only if it is the device). They need psutil.

    Raises:
        MisconfigurationException: the Trainer has no logger.
        ModuleNotFoundError: psutil is missing.
    """

    def __init__(self, cpu_stats: bool | None = None) -> None:
        self._cpu_stats = cpu_stats

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Check for loggers and psutil."""
        if stage != "fit":
            return
        if not trainer.loggers:
            raise MisconfigurationException("Cannot use `DeviceStatsMonitor` callback with `Trainer(logger=False)`.")
        self._stats(trainer)

    def _stats(self, trainer: Any) -> dict[str, Any]:
        device = trainer.strategy.root_device
        on_cpu = device.type == "cpu"
        stats: dict[str, Any] = {}
        if not on_cpu:
            stats.update(trainer.accelerator.get_device_stats(device))
        if self._cpu_stats or (on_cpu and self._cpu_stats is None):
            stats.update(CPUAccelerator().get_device_stats(device))
        return stats

    def _log(self, trainer: Any, key: str, due: bool) -> None:
        if not due:
            return
        prefix = f"{type(self).__name__}.{key}/{trainer.strategy.root_device}"
        stats = {f"{prefix}/{name}": value for name, value in self._stats(trainer).items()}
        for logger in trainer._writing_loggers:
            logger.log_metrics(stats, step=trainer.fit_loop.epoch_loop.batches_that_stepped)

    @staticmethod
    def _due(trainer: Any) -> bool:
        every = trainer.log_every_n_steps
        return bool(every) and (trainer.fit_loop.epoch_loop.batches_that_stepped + 1) % every == 0

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """Log."""
        self._log(trainer, "on_train_batch_start", self._due(trainer))

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Log."""
        self._log(trainer, "on_train_batch_end", self._due(trainer))

    def on_validation_batch_start(self, trainer: Any, pl_module: Any, *args: Any) -> None:
        """Log."""
        self._log(trainer, "on_validation_batch_start", self._due(trainer))

    def on_validation_batch_end(self, trainer: Any, pl_module: Any, *args: Any) -> None:
        """Log."""
        self._log(trainer, "on_validation_batch_end", self._due(trainer))

    def on_test_batch_start(self, trainer: Any, pl_module: Any, *args: Any) -> None:
        """Log."""
        self._log(trainer, "on_test_batch_start", self._due(trainer))

    def on_test_batch_end(self, trainer: Any, pl_module: Any, *args: Any) -> None:
        """Log."""
        self._log(trainer, "on_test_batch_end", self._due(trainer))
