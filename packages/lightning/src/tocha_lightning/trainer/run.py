"""One run of a Trainer, from setting up to tearing down."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tocha
from tocha_lightning.core.datamodule import LightningDataModule
from tocha_lightning.core.module import LightningModule
from tocha_lightning.trainer.callback_setup import attach_model_callbacks
from tocha_lightning.trainer.configuration_check import check_module
from tocha_lightning.trainer.data_sources import DataSource
from tocha_lightning.trainer.properties import TrainerProperties
from tocha_lightning.trainer.states import RunningStage, TrainerFn, TrainerStatus
from tocha_lightning.utilities.collections import move_data_to_device
from tocha_lightning.utilities.exceptions import ExitTuner
from tocha_lightning.utilities.hparams_logging import log_hyperparameters
from tocha_lightning.utilities.overrides import is_overridden
from tocha_lightning.utilities.rank_zero import PossibleUserWarning, rank_zero_info, rank_zero_warn
from tocha_lightning.utilities.seed import isolate_rng


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Further Ctrl-C must not disturb a shutdown. Only the main thread may handle signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


class TrainerRun(TrainerProperties):
    """What all four methods of a Trainer have in common: the order in which things happen."""

    # --- one run -----------------------------------------------------------------------------------------------------

    def _start(
        self, fn: TrainerFn, stage: RunningStage, model: LightningModule, datamodule: LightningDataModule | None
    ) -> None:
        self.strategy.connect(model)
        self.state.fn = fn
        self.state.status = TrainerStatus.RUNNING
        self.state.stage = stage
        model.trainer = self
        self._hooks.forget()
        if datamodule is not None:
            datamodule.trainer = self
            self.datamodule = datamodule

    @staticmethod
    def _source(given: Any, datamodule: Any, model: LightningModule, name: str) -> DataSource:
        if given is not None:
            return DataSource(given, name)
        if datamodule is not None and is_overridden(name, datamodule):
            return DataSource(datamodule, name)
        return DataSource(model, name)

    def _guarded(self, model: LightningModule, provided: bool, ckpt_path: Any, weights_only: bool | None) -> Any:
        try:
            path = self._checkpoints.select_path(ckpt_path, provided)
            return self._run(path, weights_only)
        except ExitTuner:
            self._call_teardown_hooks()
            self._teardown()
            self.state.status = TrainerStatus.FINISHED
            self.state.stage = None
        except KeyboardInterrupt as error:
            rank_zero_info("\nDetected KeyboardInterrupt, attempting graceful shutdown ...")
            with _ignoring_interrupts():
                self._interrupt(error)
                self._teardown()
            sys.exit(1)
        except BaseException as error:
            self._interrupt(error)
            self._teardown()
            self.state.stage = None
            raise
        return None

    def _run(self, ckpt_path: str | None, weights_only: bool | None) -> Any:
        hooks, strategy = self._hooks, self.strategy
        fitting = self.state.fn is TrainerFn.FITTING
        if fitting:
            self._default_loop_limits()
        attach_model_callbacks(self)
        check_module(self)
        strategy.setup_environment()
        self.profiler.setup(stage=str(self.state.fn), local_rank=self.local_rank, log_dir=self.log_dir)
        self._prepare_data()
        self._call_setup_hooks()
        if is_overridden("configure_model", self.lightning_module):
            with strategy.precision_plugin.module_init_context():
                hooks.module("configure_model")
        self._checkpoints.restore_modules_and_callbacks(ckpt_path, weights_only)
        self._logging.hook = None
        self._logging.switch(None)
        self._logging.reset_metrics()
        for results in (self.fit_loop.epoch_loop.results, self.fit_loop.epoch_loop.val_loop.results,
                        self.validate_loop.results, self.test_loop.results):  # fmt: skip
            results.entries.clear()
        strategy.setup(self)
        self._prepare_fast_paths()
        if fitting:
            hooks.both("on_fit_start")
        if self.enable_autolog_hparams:
            log_hyperparameters(self)
        self._checkpoints.restore_training_state()
        self._checkpoints.restored()
        self._signals.register()
        outcome = self._run_stage()
        self._teardown()
        if fitting:
            hooks.both("on_fit_end")
        self._call_teardown_hooks()
        self.state.status = TrainerStatus.FINISHED
        self.state.stage = None
        return outcome

    def _default_loop_limits(self) -> None:
        from tocha_lightning.callbacks import Timer

        loop = self.fit_loop
        if loop.max_epochs is None:
            if self.max_steps == -1 and not any(isinstance(c, Timer) for c in self.callbacks):
                rank_zero_warn(
                    "`max_epochs` was not set. Setting it to 1000 epochs. To train without an epoch limit, set"
                    " `max_epochs=-1`.",
                    category=PossibleUserWarning,
                )
                loop.max_epochs = 1000
            else:
                loop.max_epochs = -1
        if loop.min_epochs is None:
            # with 1, `should_stop` is looked at again after it was set in `on_fit_start`
            loop.min_epochs = 1 if self.min_steps is not None else 0

    def _prepare_data(self) -> None:
        """Download on one process of each machine, or of all, while the others wait."""
        owners = ((self.datamodule, self._hooks.datamodule), (self.lightning_module, self._hooks.module))
        for owner, call in owners:
            if owner is None or not is_overridden("prepare_data", owner):
                continue
            if self.local_rank == 0 if owner.prepare_data_per_node else self.is_global_zero:
                call("prepare_data")
            self.strategy.barrier("prepare_data")

    def _call_setup_hooks(self) -> None:
        self.lightning_module._device = self.strategy.root_device
        for logger in self._writing_loggers:
            # made now, so that callbacks find its directory and run id
            _ = logger.experiment
        stage = str(self.state.fn)
        self.strategy.barrier("pre_setup")
        if self.datamodule is not None:
            self._hooks.datamodule("setup", stage=stage)
        self._hooks.callbacks("setup", stage)
        self._hooks.module("setup", stage)
        # the device was only announced; moving the parameters is what makes it true
        first = next(self.lightning_module.parameters(), None)
        if first is not None:
            self.lightning_module._device = first.device
        self.strategy.barrier("post_setup")

    def _prepare_fast_paths(self) -> None:
        """Find out what every batch would otherwise ask again."""
        module, precision = self.lightning_module, self.precision_plugin
        self._step_context = None if precision.plain else precision.forward_context
        self._clips_gradients = bool(self.gradient_clip_val) or is_overridden("configure_gradient_clipping", module)
        self._transfer = self._batch_transfer()

    def _batch_transfer(self) -> Callable[[Any, int], Any]:
        """The function that brings a batch to the device."""
        module, datamodule, precision = self.lightning_module, self.datamodule, self.precision_plugin
        hooks: dict[str, Callable[..., Any]] = {}
        for name in ("on_before_batch_transfer", "transfer_batch_to_device", "on_after_batch_transfer"):
            if datamodule is not None and is_overridden(name, datamodule):
                if is_overridden(name, module):
                    rank_zero_warn(
                        f"You have overridden `{name}` in both `LightningModule` and `LightningDataModule`."
                        " It will use the implementation from `LightningDataModule` instance."
                    )
                hooks[name] = getattr(datamodule, name)
            elif is_overridden(name, module):
                hooks[name] = getattr(module, name)
        device = self.strategy.root_device
        if not hooks and precision.plain:
            return lambda batch, dataloader_idx: move_data_to_device(batch, device)
        before = hooks.get("on_before_batch_transfer")
        move = hooks.get("transfer_batch_to_device")
        after = hooks.get("on_after_batch_transfer")
        logging = self._logging

        def transfer(batch: Any, dataloader_idx: int) -> Any:
            batch = precision.convert_input(batch)
            if before is not None:
                logging.hook = "on_before_batch_transfer"
                batch = before(batch, dataloader_idx)
            logging.hook = "transfer_batch_to_device"
            batch = move_data_to_device(batch, device) if move is None else move(batch, device, dataloader_idx)
            if after is not None:
                logging.hook = "on_after_batch_transfer"
                batch = after(batch, dataloader_idx)
            logging.hook = None
            return batch

        return transfer

    def _run_stage(self) -> Any:
        self.strategy.barrier("run-stage")
        self.lightning_module.zero_grad()
        if self.testing:
            return self.test_loop.run()
        if self.validating:
            return self.validate_loop.run()
        if self.predicting:
            return self.predict_loop.run()
        with isolate_rng():
            self._run_sanity_check()
        if self._detect_anomaly:
            with tocha.autograd.set_detect_anomaly(True):
                self.fit_loop.run()
        else:
            self.fit_loop.run()
        return None

    def _run_sanity_check(self) -> None:
        val_loop = self.fit_loop.epoch_loop.val_loop
        if not self.enable_validation or self.num_sanity_val_steps <= 0 or self.fit_loop.restarting:
            return
        self.state.stage = RunningStage.SANITY_CHECKING
        self._hooks.callbacks("on_sanity_check_start")
        val_loop.run()
        self._hooks.callbacks("on_sanity_check_end")
        self._logging.reset_metrics()
        val_loop.batch_progress.reset()
        val_loop.results.entries.clear()
        self.state.stage = RunningStage.TRAINING

    def _teardown(self) -> None:
        self.strategy.teardown()
        self._logging.settle()
        self._signals.teardown()

    def _call_teardown_hooks(self) -> None:
        stage = str(self.state.fn)
        if self.datamodule is not None:
            self._hooks.datamodule("teardown", stage=stage)
        self._hooks.callbacks("teardown", stage)
        self._hooks.module("teardown", stage)
        for logger in self._writing_loggers:
            logger.finalize("success")
        self.profiler.describe()

    def _interrupt(self, error: BaseException) -> None:
        self.state.status = TrainerStatus.INTERRUPTED
        where = self._logging.hook
        self._hooks.callbacks("on_exception", error)
        if self.datamodule is not None:
            self._hooks.datamodule("on_exception", error)
        self.strategy.on_exception(error)
        for logger in self._writing_loggers:
            logger.finalize("failed")
        self._logging.hook = where
