"""One epoch of training: its batches, and the validation runs among them."""

from __future__ import annotations

import time
from typing import Any

from tocha_lightning.logging.results import Results
from tocha_lightning.loops.evaluation import EvaluationLoop
from tocha_lightning.loops.fetcher import BatchFetcher, StepIterator
from tocha_lightning.loops.optimization import AutomaticOptimization, ManualOptimization
from tocha_lightning.loops.progress import BatchProgress, Progress, StepTracker
from tocha_lightning.trainer.states import RunningStage, TrainerFn
from tocha_lightning.utilities.collections import describe
from tocha_lightning.utilities.exceptions import MisconfigurationException, SIGTERMException
from tocha_lightning.utilities.rank_zero import WarningCache, rank_zero_warn

INFINITY = float("inf")


class TrainingEpochLoop:
    """Runs the batches of an epoch and validates when it is due."""

    def __init__(self, trainer: Any, min_steps: int | None = None, max_steps: int = -1) -> None:
        if max_steps < -1:
            raise MisconfigurationException(
                f"`max_steps` must be a non-negative integer or -1 (infinite steps). You passed in {max_steps}."
            )
        self.trainer = trainer
        self.min_steps = min_steps
        self.max_steps = max_steps
        self.batch_progress = BatchProgress()
        self.scheduler_progress = Progress(StepTracker)
        self.automatic_optimization = AutomaticOptimization(trainer)
        self.manual_optimization = ManualOptimization(trainer)
        self.val_loop = EvaluationLoop(
            trainer, TrainerFn.FITTING, RunningStage.VALIDATING, verbose=False, inference_mode=False
        )
        self.results = Results(training=True)
        self.batches_that_stepped = 0
        self._warnings = WarningCache()
        # set by `prepare` for the run: what the module's `training_step` takes
        self.takes_batch_idx = True
        self.takes_iterator = False
        self._batch: Any = None
        self._validates = False

    # --- where the epoch stands ----------------------------------------------------------------------------------

    @property
    def total_batch_idx(self) -> int:
        """The number of the batch over all epochs."""
        return self.batch_progress.total.ready - 1

    @property
    def batch_idx(self) -> int:
        """The number of the batch in this epoch."""
        return self.batch_progress.current.ready - 1

    @property
    def global_step(self) -> int:
        """How many steps the optimizers made."""
        module = self.trainer.lightning_module
        if module is None or module.automatic_optimization:
            return self.automatic_optimization.optim_progress.step.total.completed
        return self.manual_optimization.optim_step_progress.total.completed

    @property
    def last_batch_reached(self) -> bool:
        """Whether the current batch is the last one of the epoch."""
        progress = self.batch_progress
        return progress.is_last_batch or progress.current.ready == self.trainer.fit_loop.max_batches

    @property
    def accumulating(self) -> bool:
        """Whether the gradients of the current batch wait for those of the next."""
        every = self.trainer.accumulate_grad_batches
        if every == 1:
            return False
        return self.batch_progress.current.ready % every != 0 and not self.last_batch_reached

    @property
    def _training_done(self) -> bool:
        return (self.max_steps != -1 and self.global_step >= self.max_steps) or self.last_batch_reached

    @property
    def done(self) -> bool:
        """Whether the epoch is over."""
        if self._training_done:
            return True
        if not self.trainer.should_stop:
            return False
        fit_loop = self.trainer.fit_loop
        if not fit_loop.can_stop_early:
            self._warnings.info(
                f"Trainer was signaled to stop but the required `min_epochs={fit_loop.min_epochs!r}` or"
                f" `min_steps={self.min_steps!r}` has not been met. Training will continue..."
            )
        return bool(fit_loop.can_stop_early)

    # --- running --------------------------------------------------------------------------------------------------

    def run(self, fetcher: BatchFetcher, restart: str | None) -> None:
        """Run the epoch, or the rest of it after the point where a checkpoint was saved."""
        self._validates = self.validates_this_epoch()
        if restart is None:
            self.batch_progress.reset_on_run()
            self.scheduler_progress.reset_on_run()
            self.automatic_optimization.optim_progress.reset_on_run()
            self.val_loop.batch_progress.total.reset()
        elif restart == "batch_end":
            self.batch_progress.increment_completed()
            self._after_batch()
        elif restart == "validation":
            self._after_batch()
        elif restart == "validation_end":
            self._after_batch(validate=False)
        iterator = StepIterator(fetcher, self.trainer._transfer) if self.takes_iterator else None
        while not self.done:
            try:
                if not (self._advance_iterator(iterator) if iterator is not None else self._advance(fetcher)):
                    break
                self._after_batch()
            except Exception as error:
                self._explain(error)
                raise
            finally:
                self._batch = None

    def _advance(self, fetcher: BatchFetcher) -> bool:
        """Train with the next batch. False ends the epoch."""
        trainer = self.trainer
        hooks = trainer._hooks
        progress = self.batch_progress
        trainer._logging.hook = "train_dataloader"
        try:
            batch = next(fetcher)[0]
        except StopIteration:
            return False
        finally:
            trainer._logging.hook = None
        progress.is_last_batch = fetcher.done
        batch_idx = progress.current.ready
        self._batch = batch
        batch = self._batch = trainer._transfer(batch, 0)
        progress.increment_ready()
        trainer._logging.batch_start(self.results, batch)
        outputs: dict[str, Any] = {}
        skip_rest = False
        if batch is None:
            self._warnings.warn("train_dataloader yielded None. If this was on purpose, ignore this warning...")
        else:
            skip_rest = hooks.both("on_train_batch_start", batch, batch_idx) == -1
            if skip_rest:
                progress.is_last_batch = True
            else:
                progress.increment_started()
                step_args = (batch, batch_idx) if self.takes_batch_idx else (batch,)
                with trainer.profiler.profile("run_training_batch"):
                    if trainer.lightning_module.automatic_optimization:
                        accumulating = self.accumulating
                        outputs = self.automatic_optimization.run(batch, batch_idx, step_args, accumulating)
                    else:
                        outputs = self.manual_optimization.run(step_args)
        progress.increment_processed()
        self._step_schedulers()
        if skip_rest:
            return False
        hooks.both("on_train_batch_end", outputs, batch, batch_idx)
        self._complete()
        return True

    def _advance_iterator(self, iterator: StepIterator) -> bool:
        """Like `_advance` for a `training_step` that takes the batches itself."""
        trainer = self.trainer
        hooks = trainer._hooks
        progress = self.batch_progress
        if iterator.done:
            return False
        batch_idx = progress.current.ready
        progress.increment_ready()
        trainer._logging.batch_start(self.results, None)
        skip_rest = hooks.both("on_train_batch_start", iterator.batch, batch_idx) == -1
        outputs: dict[str, Any] = {}
        if not skip_rest:
            progress.increment_started()
            try:
                if trainer.lightning_module.automatic_optimization:
                    outputs = self.automatic_optimization.run(None, batch_idx, (iterator,), self.accumulating)
                else:
                    outputs = self.manual_optimization.run((iterator,))
            except StopIteration:
                return False
        progress.is_last_batch = skip_rest or iterator.done
        progress.increment_processed()
        self._step_schedulers()
        if skip_rest:
            return False
        hooks.both("on_train_batch_end", outputs, iterator.batch, batch_idx)
        self._complete()
        return True

    def _complete(self) -> None:
        logging = self.trainer._logging
        logging.batch_end(self.results)
        self.batch_progress.increment_completed()
        if not (self.trainer.lightning_module.automatic_optimization and self.accumulating):
            logging.send_train_step()

    def _step_schedulers(self) -> None:
        if self.trainer.lr_scheduler_configs:
            self.update_lr_schedulers("step", plateau=False)
            if self.last_batch_reached:
                self.update_lr_schedulers("epoch", plateau=False)

    def _after_batch(self, validate: bool = True) -> None:
        """Validate if it is due, and everything that waits for that."""
        trainer = self.trainer
        accumulating = self.accumulating
        if validate and self.validation_due():
            trainer.state.stage = RunningStage.VALIDATING
            logging = trainer._logging
            if not accumulating:
                trainer._hooks.module("on_validation_model_zero_grad")
            self.val_loop.run()
            trainer.state.stage = RunningStage.TRAINING
            logging.switch(self.results, in_batch=True)
        if trainer.lr_scheduler_configs:
            self.update_lr_schedulers("step", plateau=True)
        if not accumulating:
            # once a batch, however many optimizers stepped: loggers count in this unit
            self.batches_that_stepped += 1
        if trainer.should_stop:
            for logger in trainer._writing_loggers:
                logger.save()
        if trainer.received_sigterm and not self._training_done:
            raise SIGTERMException

    def _explain(self, error: Exception) -> None:
        """Add to `error` where it happened."""
        hook = self.trainer._logging.hook
        where = f" in `{hook}`" if hook else ""
        idx = self.batch_progress.current.completed
        error.add_note(
            f"While training{where}: epoch {self.trainer.current_epoch}, batch {idx}"
            + (f", batch contents {describe(self._batch)}" if self._batch is not None else "")
        )

    # --- validation ---------------------------------------------------------------------------------------------------

    def validates_this_epoch(self) -> bool:
        """Whether `check_val_every_n_epoch` lets this epoch validate."""
        every = self.trainer.check_val_every_n_epoch
        return self.trainer.enable_validation and (every is None or (self.trainer.current_epoch + 1) % every == 0)

    def validation_due(self) -> bool:
        """Whether to validate after the current batch."""
        trainer = self.trainer
        if not self._validates:
            return False
        unsized = trainer.val_check_batch == INFINITY
        last = self.batch_progress.is_last_batch
        if last and (unsized or self.takes_iterator):
            return True
        if trainer.should_stop and trainer.fit_loop.can_stop_early:
            return True
        if trainer._val_check_time_interval is not None:
            return time.monotonic() - trainer._last_val_time >= trainer._val_check_time_interval
        if unsized:
            limit = trainer.limit_train_batches
            return (self.batch_idx + 1) % limit == 0 if isinstance(limit, int) and limit else last
        # without epochs between validations the batches of all epochs are counted
        batch = self.total_batch_idx if trainer.check_val_every_n_epoch is None else self.batch_idx
        return (batch + 1) % trainer.val_check_batch == 0

    # --- learning rates ---------------------------------------------------------------------------------------------

    def update_lr_schedulers(self, interval: str, plateau: bool) -> None:
        """Step the schedulers of `interval`: those that watch a metric, or the others.

        Those that watch a metric come after the validation that may have logged it.

        Raises:
            MisconfigurationException: the metric of a strict scheduler is missing.
        """
        trainer = self.trainer
        if (interval == "step" and self.accumulating) or not trainer.lightning_module.automatic_optimization:
            return
        for config in trainer.lr_scheduler_configs:
            if config.interval != interval or config.reduce_on_plateau != plateau:
                continue
            index = self.batch_idx if interval == "step" else trainer.current_epoch
            if (index + 1) % config.frequency != 0:
                continue
            value = None
            if config.reduce_on_plateau:
                value = trainer.callback_metrics.get(config.monitor)
                if value is None:
                    if config.strict:
                        raise MisconfigurationException(
                            f"ReduceLROnPlateau conditioned on metric {config.monitor} which is not available."
                            f" Available metrics are: {list(trainer.callback_metrics)}."
                            " Condition can be set using `monitor` key in lr scheduler dict"
                        )
                    rank_zero_warn(
                        f"ReduceLROnPlateau conditioned on metric {config.monitor} which is not available but strict is"
                        " set to `False`. Skipping learning rate update.",
                        category=RuntimeWarning,
                    )
                    continue
            self.scheduler_progress.increment_ready()
            trainer._hooks.module("lr_scheduler_step", config.scheduler, value)
            self.scheduler_progress.increment_completed()
