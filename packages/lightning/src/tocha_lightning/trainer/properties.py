"""What a Trainer tells about itself."""

from __future__ import annotations

import math
import os
from typing import Any

import tocha
from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.trainer.states import RunningStage, TrainerFn, TrainerState, TrainerStatus
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.overrides import is_overridden
from tocha_lightning.utilities.rank_zero import rank_zero_info

INFINITY = float("inf")


class TrainerProperties:
    """The properties of `Trainer`."""

    state: TrainerState
    fit_loop: Any
    validate_loop: Any
    test_loop: Any
    predict_loop: Any
    strategy: Any
    datamodule: Any
    accumulate_grad_batches: int
    num_sanity_val_steps: int | float
    limit_val_batches: int | float
    gradient_clip_val: int | float | None
    enable_autolog_hparams: bool
    profiler: Any
    _detect_anomaly: bool
    _hooks: Any
    _logging: Any
    _checkpoints: Any
    _signals: Any
    _callbacks: list[Callback]
    _loggers: list[Any]
    _num_nodes: int
    _default_root_dir: str

    # --- devices and processes ----------------------------------------------------------------------------------

    @property
    def accelerator(self) -> Any:
        """The kind of device."""
        return self.strategy.accelerator

    @property
    def precision_plugin(self) -> Any:
        """The numerical precision, as an object."""
        return self.strategy.precision_plugin

    @property
    def precision(self) -> str:
        """The numerical precision, as a name."""
        return str(self.precision_plugin.precision)

    @property
    def scaler(self) -> Any:
        """The gradient scaler of mixed precision, or None."""
        return getattr(self.precision_plugin, "scaler", None)

    @property
    def global_rank(self) -> int:
        """The number of this process among all of them."""
        return int(self.strategy.global_rank)

    @property
    def local_rank(self) -> int:
        """The number of this process on its machine."""
        return int(self.strategy.local_rank)

    @property
    def node_rank(self) -> int:
        """The number of this machine."""
        return int(self.strategy.node_rank)

    @property
    def world_size(self) -> int:
        """The number of processes."""
        return int(self.strategy.world_size)

    @property
    def num_nodes(self) -> int:
        """The number of machines."""
        return self._num_nodes

    @property
    def is_global_zero(self) -> bool:
        """Whether this process writes files, logs and prints."""
        return bool(self.strategy.is_global_zero)

    @property
    def device_ids(self) -> list[int]:
        """The indices of the devices of this machine."""
        devices = getattr(self.strategy, "parallel_devices", None) or [self.strategy.root_device]
        return [i if device.type == "cpu" else (device.index or 0) for i, device in enumerate(devices)]

    @property
    def num_devices(self) -> int:
        """The number of devices of this machine."""
        return len(self.device_ids)

    @property
    def distributed_sampler_kwargs(self) -> dict[str, Any] | None:
        """The arguments of the sampler that splits the data between processes."""
        found = self.strategy.distributed_sampler_kwargs
        return None if found is None else dict(found)

    # --- the model -----------------------------------------------------------------------------------------------

    @property
    def lightning_module(self) -> Any:
        """The module of the current or last run."""
        return self.strategy.lightning_module

    @property
    def model(self) -> Any:
        """The module as the strategy runs it."""
        return self.strategy.model

    @property
    def optimizers(self) -> list[Any]:
        """The optimizers."""
        return list(self.strategy.optimizers)

    @optimizers.setter
    def optimizers(self, optimizers: list[Any]) -> None:
        self.strategy.optimizers = optimizers

    @property
    def lr_scheduler_configs(self) -> list[Any]:
        """The learning-rate schedulers with their configuration."""
        configs: list[Any] = self.strategy.lr_scheduler_configs
        return configs

    # --- what runs ---------------------------------------------------------------------------------------------------

    @property
    def interrupted(self) -> bool:
        """Whether the last run ended with an exception."""
        return self.state.status is TrainerStatus.INTERRUPTED

    def _set_stage(self, stage: RunningStage, on: bool) -> None:
        if on:
            self.state.stage = stage
        elif self.state.stage is stage:
            self.state.stage = None

    @property
    def training(self) -> bool:
        """Whether training batches run."""
        return self.state.stage is RunningStage.TRAINING

    @training.setter
    def training(self, value: bool) -> None:
        self._set_stage(RunningStage.TRAINING, value)

    @property
    def validating(self) -> bool:
        """Whether validation batches run, also during fit."""
        return self.state.stage is RunningStage.VALIDATING

    @validating.setter
    def validating(self, value: bool) -> None:
        self._set_stage(RunningStage.VALIDATING, value)

    @property
    def testing(self) -> bool:
        """Whether test batches run."""
        return self.state.stage is RunningStage.TESTING

    @testing.setter
    def testing(self, value: bool) -> None:
        self._set_stage(RunningStage.TESTING, value)

    @property
    def predicting(self) -> bool:
        """Whether prediction batches run."""
        return self.state.stage is RunningStage.PREDICTING

    @predicting.setter
    def predicting(self, value: bool) -> None:
        self._set_stage(RunningStage.PREDICTING, value)

    @property
    def sanity_checking(self) -> bool:
        """Whether validation batches are tried before training."""
        return self.state.stage is RunningStage.SANITY_CHECKING

    @sanity_checking.setter
    def sanity_checking(self, value: bool) -> None:
        self._set_stage(RunningStage.SANITY_CHECKING, value)

    @property
    def evaluating(self) -> bool:
        """Whether validation or test batches run."""
        return self.state.stage is not None and self.state.stage.evaluating

    @property
    def received_sigterm(self) -> bool:
        """Whether the process was asked to end."""
        return bool(self._signals.received_sigterm)

    @property
    def enable_validation(self) -> bool:
        """Whether fit validates at all."""
        loop = self.fit_loop.epoch_loop.val_loop
        has_step = is_overridden("validation_step", self.lightning_module)
        return bool(loop.source.is_defined() and has_step and self.limit_val_batches > 0)

    # --- how far --------------------------------------------------------------------------------------------------

    @property
    def current_epoch(self) -> int:
        """The number of the current epoch, from 0."""
        return int(self.fit_loop.epoch_progress.current.completed)

    @property
    def global_step(self) -> int:
        """How many steps the optimizers have made."""
        return int(self.fit_loop.epoch_loop.global_step)

    @property
    def max_epochs(self) -> int | None:
        """Training stops after so many epochs."""
        found: int | None = self.fit_loop.max_epochs
        return found

    @property
    def min_epochs(self) -> int | None:
        """Training does not stop early before so many epochs."""
        found: int | None = self.fit_loop.min_epochs
        return found

    @property
    def max_steps(self) -> int:
        """Training stops after so many steps."""
        return int(self.fit_loop.epoch_loop.max_steps)

    @property
    def min_steps(self) -> int | None:
        """Training does not stop early before so many steps."""
        found: int | None = self.fit_loop.epoch_loop.min_steps
        return found

    @property
    def is_last_batch(self) -> bool:
        """Whether the current training batch is the last one of its epoch."""
        return bool(self.fit_loop.epoch_loop.batch_progress.is_last_batch)

    @property
    def num_training_batches(self) -> int | float:
        """The number of training batches of an epoch; infinite where it is not known."""
        batches: int | float = self.fit_loop.max_batches
        return batches

    @property
    def num_sanity_val_batches(self) -> list[int | float]:
        """The number of validation batches tried before training, for every loader."""
        return [min(self.num_sanity_val_steps, batches) for batches in self.fit_loop.epoch_loop.val_loop._max_batches]

    @property
    def num_val_batches(self) -> list[int | float]:
        """The number of validation batches of every loader."""
        loop = self.validate_loop if self.state.fn is TrainerFn.VALIDATING else self.fit_loop.epoch_loop.val_loop
        return list(loop._max_batches)

    @property
    def num_test_batches(self) -> list[int | float]:
        """The number of test batches of every loader."""
        return list(self.test_loop.max_batches)

    @property
    def num_predict_batches(self) -> list[int | float]:
        """The number of prediction batches of every loader."""
        return list(self.predict_loop.max_batches)

    @property
    def estimated_stepping_batches(self) -> int | float:
        """How many steps the optimizer will make in all: for schedulers that need to know.

        Loads the training data if that was not done. Infinite where neither epochs nor steps are limited.

        Raises:
            MisconfigurationException: the data has no length and ``max_steps`` is not given.
        """
        from tocha_lightning.callbacks import GradientAccumulationScheduler

        if self.max_epochs == -1:
            return INFINITY if self.max_steps == -1 else self.max_steps
        if self.fit_loop.combined_loader is None:
            rank_zero_info("Loading `train_dataloader` to estimate number of stepping batches.")
            state = self.state
            stage = state.stage
            state.stage = RunningStage.TRAINING
            self.fit_loop.setup_data()
            state.stage = stage
        batches = self.num_training_batches
        if batches == INFINITY:
            if self.max_steps == -1:
                raise MisconfigurationException(
                    "Unable to estimate total stepping batches of an `IterableDataset`: set `Trainer(max_steps=...)`."
                )
            return self.max_steps
        epochs = 1 if self.max_epochs is None else max(self.max_epochs, 1)
        scheduler = next((c for c in self.callbacks if isinstance(c, GradientAccumulationScheduler)), None)
        if scheduler is None:
            steps = math.ceil(batches / self.accumulate_grad_batches) * epochs
        else:
            steps = sum(math.ceil(batches / scheduler.get_accumulate_grad_batches(epoch)) for epoch in range(epochs))
        return min(self.max_steps, steps) if self.max_steps != -1 else steps

    # --- data -----------------------------------------------------------------------------------------------------

    @property
    def train_dataloader(self) -> Any:
        """The training loaders as they were given."""
        combined = self.fit_loop.combined_loader
        return None if combined is None else combined.iterables

    @property
    def val_dataloaders(self) -> Any:
        """The validation loaders as they were given."""
        combined = self.fit_loop.epoch_loop.val_loop.combined_loader or self.validate_loop.combined_loader
        return None if combined is None else combined.iterables

    @property
    def test_dataloaders(self) -> Any:
        """The test loaders as they were given."""
        combined = self.test_loop.combined_loader
        return None if combined is None else combined.iterables

    @property
    def predict_dataloaders(self) -> Any:
        """The prediction loaders as they were given."""
        combined = self.predict_loop.combined_loader
        return None if combined is None else combined.iterables

    # --- callbacks, loggers, files --------------------------------------------------------------------------------

    @property
    def callbacks(self) -> list[Callback]:
        """The callbacks in the order in which they run."""
        return self._callbacks

    @callbacks.setter
    def callbacks(self, callbacks: list[Callback]) -> None:
        self._callbacks = callbacks
        self._hooks.forget()

    def _all(self, *kinds: type) -> list[Any]:
        return [callback for callback in self.callbacks if isinstance(callback, kinds)]

    @property
    def early_stopping_callbacks(self) -> list[Any]:
        """All `EarlyStopping` callbacks."""
        from tocha_lightning.callbacks import EarlyStopping

        return self._all(EarlyStopping)

    @property
    def early_stopping_callback(self) -> Any:
        """The first `EarlyStopping` callback, or None."""
        return next(iter(self.early_stopping_callbacks), None)

    @property
    def checkpoint_callbacks(self) -> list[Any]:
        """All callbacks that write checkpoints."""
        from tocha_lightning.callbacks import Checkpoint

        return self._all(Checkpoint)

    @property
    def checkpoint_callback(self) -> Any:
        """The first callback that writes checkpoints, or None."""
        return next(iter(self.checkpoint_callbacks), None)

    @property
    def progress_bar_callback(self) -> Any:
        """The progress bar, or None."""
        from tocha_lightning.callbacks import ProgressBar

        return next(iter(self._all(ProgressBar)), None)

    @property
    def ckpt_path(self) -> str | None:
        """The checkpoint of the last run, or the one set for the next."""
        path: str | None = self._checkpoints.ckpt_path
        return path

    @ckpt_path.setter
    def ckpt_path(self, path: str | os.PathLike[str] | None) -> None:
        self._checkpoints.ckpt_path = None if path is None else os.fspath(path)
        self._checkpoints._user_managed = bool(path)

    @property
    def default_root_dir(self) -> str:
        """Where logs and checkpoints go."""
        return os.path.normpath(os.path.expanduser(self._default_root_dir))

    @property
    def loggers(self) -> list[Any]:
        """All loggers."""
        return self._loggers

    @loggers.setter
    def loggers(self, loggers: list[Any] | None) -> None:
        self._loggers = list(loggers or [])

    @property
    def _writing_loggers(self) -> list[Any]:
        """The loggers, where this process is the one that writes."""
        return self._loggers if self.is_global_zero else []

    @property
    def logger(self) -> Any:
        """The first logger, or None."""
        return self._loggers[0] if self._loggers else None

    @logger.setter
    def logger(self, logger: Any) -> None:
        self._loggers = [logger] if logger else []

    @property
    def log_dir(self) -> str | None:
        """The directory of the first logger, or `default_root_dir`."""
        if not self._loggers:
            return self.default_root_dir
        logger = self._loggers[0]
        found = logger.log_dir if logger.log_dir is not None else logger.save_dir
        return None if found is None else str(found)

    # --- metrics ---------------------------------------------------------------------------------------------------

    @property
    def callback_metrics(self) -> dict[str, tocha.Tensor]:
        """The metrics that callbacks may monitor."""
        found: dict[str, tocha.Tensor] = self._logging.callback_metrics
        return found

    @property
    def logged_metrics(self) -> dict[str, tocha.Tensor]:
        """The metrics that were sent to the loggers."""
        found: dict[str, tocha.Tensor] = self._logging.logged_metrics
        return found

    @property
    def progress_bar_metrics(self) -> dict[str, float]:
        """The metrics that the progress bar shows."""
        found: dict[str, float] = self._logging.progress_bar_metrics
        return found
