"""Training from the first epoch to the last, or from where a checkpoint left off."""

from __future__ import annotations

import time
from typing import Any

import tocha
from tocha import Tensor
from tocha_lightning.loops.fetcher import BatchFetcher
from tocha_lightning.loops.progress import Progress
from tocha_lightning.loops.resume import (
    collect_generators,
    fetcher_after,
    position,
    restore_generators,
)
from tocha_lightning.loops.training_epoch import INFINITY, TrainingEpochLoop
from tocha_lightning.trainer.data_sources import DataSource, number_of_batches, prepare_loaders, set_epoch
from tocha_lightning.trainer.states import RunningStage
from tocha_lightning.utilities.combined_loader import CombinedLoader, sized_len
from tocha_lightning.utilities.exceptions import MisconfigurationException, SIGTERMException
from tocha_lightning.utilities.overrides import is_overridden, takes_param
from tocha_lightning.utilities.rank_zero import PossibleUserWarning, rank_zero_debug, rank_zero_info, rank_zero_warn
from tocha_lightning.utilities.seed import collect_rng_states, set_rng_states

# the points of a run from which an epoch goes on rather than begins
_WITHIN_EPOCH = ("batch", "batch_end", "validation", "validation_end")


class FitLoop:
    """Counts the epochs and runs each of them."""

    def __init__(self, trainer: Any, min_epochs: int | None = 0, max_epochs: int | None = None) -> None:
        if isinstance(max_epochs, int) and max_epochs < -1:
            raise MisconfigurationException(
                f"`max_epochs` must be a non-negative integer or -1. You passed in {max_epochs}."
            )
        self.trainer = trainer
        self.min_epochs = min_epochs
        self.max_epochs = max_epochs
        self.epoch_loop = TrainingEpochLoop(trainer)
        self.epoch_progress = Progress()
        self.max_batches: int | float = INFINITY
        self.source = DataSource(None, "train_dataloader")
        self.combined_loader: CombinedLoader | None = None
        self._last_reload_epoch = -INFINITY
        self._epoch_rng: Any = None  # the random states from which the order of this epoch was drawn
        self._restored: dict[str, Any] | None = None

    # --- where the run stands ---------------------------------------------------------------------------------------

    @property
    def restarting(self) -> bool:
        """Whether training is about to go on from the middle of an epoch."""
        return self._restored is not None and self._restored["position"] in _WITHIN_EPOCH

    @property
    def total_batch_idx(self) -> int:
        """The number of the batch over all epochs."""
        return self.epoch_loop.total_batch_idx

    @property
    def batch_idx(self) -> int:
        """The number of the batch in this epoch."""
        return self.epoch_loop.batch_idx

    @property
    def can_stop_early(self) -> bool:
        """Whether `min_epochs` and `min_steps` are met."""
        enough_epochs = not self.min_epochs or self.epoch_progress.current.processed >= self.min_epochs
        min_steps = self.epoch_loop.min_steps
        return enough_epochs and (not min_steps or self.epoch_loop.global_step >= min_steps)

    @property
    def done(self) -> bool:
        """Whether training is over; says why in the log."""
        if self.max_batches == 0:
            rank_zero_info("`Trainer.fit` stopped: No training batches.")
            return True
        max_steps = self.epoch_loop.max_steps
        if max_steps != -1 and self.epoch_loop.global_step >= max_steps:
            rank_zero_info(f"`Trainer.fit` stopped: `max_steps={max_steps!r}` reached.")
            return True
        current = self.epoch_progress.current
        if self.max_epochs not in (-1, None) and current.processed >= self.max_epochs:
            current.completed = current.processed
            rank_zero_info(f"`Trainer.fit` stopped: `max_epochs={self.max_epochs!r}` reached.")
            return True
        if self.trainer.should_stop and self.can_stop_early:
            rank_zero_debug("`Trainer.fit` stopped: `trainer.should_stop` was set.")
            return True
        return False

    # --- data ---------------------------------------------------------------------------------------------------------

    def setup_data(self) -> None:
        """Request and prepare the training data, if that was not done or is due again."""
        trainer = self.trainer
        every = trainer.reload_dataloaders_every_n_epochs
        reload = every and trainer.current_epoch - self._last_reload_epoch >= every
        if self.combined_loader is not None and not reload:
            return
        module = trainer.lightning_module
        if trainer.limit_train_batches == 0 or not is_overridden("training_step", module):
            return
        combined = prepare_loaders(trainer, self.source, RunningStage.TRAINING, "max_size_cycle")
        if combined.mode == "sequential":
            raise ValueError(
                '`FitLoop` does not support the `CombinedLoader(mode="sequential")` mode.'
                " The available modes are: ['min_size', 'max_size_cycle', 'max_size']"
            )
        combined.limits = [
            number_of_batches(RunningStage.TRAINING, loader, trainer.limit_train_batches)
            for loader in combined.flattened
        ]
        self.combined_loader = combined
        length = sized_len(combined)
        self.max_batches = INFINITY if length is None else length
        self.epoch_loop.takes_iterator = takes_param(module.training_step, "dataloader_iter", explicit=True)
        self.epoch_loop.takes_batch_idx = takes_param(module.training_step, "batch_idx", min_args=2)
        if self.max_batches == 0:
            return
        self._last_reload_epoch = trainer.current_epoch
        self._set_validation_interval(combined, length)
        if trainer.loggers and self.max_batches < trainer.log_every_n_steps and not trainer.fast_dev_run:
            rank_zero_warn(
                f"The number of training batches ({self.max_batches}) is smaller than the logging interval"
                f" Trainer(log_every_n_steps={trainer.log_every_n_steps}). Set a lower value for"
                " log_every_n_steps if you"
                " want to see logs for the training epoch.",
                category=PossibleUserWarning,
            )

    def _set_validation_interval(self, combined: CombinedLoader, length: int | None) -> None:
        trainer = self.trainer
        interval = trainer.val_check_interval
        if trainer._val_check_time_interval is not None:
            trainer.val_check_batch = None
            trainer._last_val_time = time.monotonic()
        elif isinstance(interval, int):
            trainer.val_check_batch = interval
            beyond = interval > self.max_batches and trainer.check_val_every_n_epoch is not None
            if beyond and trainer.limit_val_batches > 0:
                raise ValueError(
                    f" `val_check_interval` ({interval}) must be less than or equal to the number of the training"
                    f" batches ({self.max_batches}). If you want to disable validation set `limit_val_batches` to 0.0"
                    " instead. If you want to validate based on the total training batches, set"
                    " `check_val_every_n_epoch=None`."
                )
        elif interval == 1.0 and not combined.sized:
            # data of unknown length may end before its limit
            trainer.val_check_batch = INFINITY
        elif length is not None:
            trainer.val_check_batch = max(1, int(length * interval))
        else:
            raise MisconfigurationException(
                "When using an IterableDataset for `train_dataloader`, `Trainer(val_check_interval)` must be"
                " time based,"
                " `1.0` or an int. An int k specifies checking validation every k training batches."
            )

    # --- running --------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run all epochs."""
        trainer = self.trainer
        self.setup_data()
        restored = self._restored
        where = restored["position"] if restored is not None else None
        within = where in _WITHIN_EPOCH
        if restored is not None:
            self._settle_counters(where, within)
        if self.done or trainer.limit_train_batches == 0 or self.combined_loader is None:
            self._restored = None
            return
        tocha.set_grad_enabled(True)
        trainer._logging.switch(self.epoch_loop.results)
        if self.epoch_loop.validates_this_epoch() and trainer.val_dataloaders is None:
            # the progress bar wants to know how many batches validation has
            trainer.state.stage = RunningStage.VALIDATING
            self.epoch_loop.val_loop.setup_data()
            trainer.state.stage = RunningStage.TRAINING
        self._warn_of_eval_mode()
        trainer._hooks.both("on_train_start")
        fetcher = None
        if restored is not None:
            fetcher = self._take_up(restored, within)
        while not self.done:
            self._run_epoch(fetcher, where if within else None)
            fetcher, within = None, False
        trainer._hooks.both("on_train_end")

    def _settle_counters(self, where: str | None, within: bool) -> None:
        current, total = self.epoch_progress.current, self.epoch_progress.total
        batches = self.epoch_loop.batch_progress
        if where == "epoch_end":
            self.epoch_progress.increment_completed()
        elif not within:
            current.reset_on_restart()
            total.reset_on_restart()
        elif where == "batch":
            # an interrupted batch is done again
            again = batches.current.ready - batches.current.completed
            batches.current.reset_on_restart()
            batches.total.ready -= again
            batches.total.started = batches.total.processed = batches.total.completed = batches.total.ready
            batches.is_last_batch = False

    def _take_up(self, restored: dict[str, Any], within: bool) -> BatchFetcher | None:
        """Restore what only exists while training runs: metrics, gradients, the place in the data, random states."""
        self._restored = None
        trainer = self.trainer
        fetcher = None
        if restored["position"] == "epoch_end":
            trainer._logging._callback.update(restored.get("callback_metrics", {}))
            self.epoch_loop.update_lr_schedulers("epoch", plateau=True)
        if within:
            assert self.combined_loader is not None
            trainer._logging._callback.update(restored.get("callback_metrics", {}))
            trainer._logging.in_batch = True
            self.epoch_loop.results.load_state_dict(restored.get("results", []))
            for name, parameter in trainer.lightning_module.named_parameters():
                if name in restored.get("gradients", {}):
                    parameter.grad = restored["gradients"][name].to(parameter.device)
            self._epoch_rng = restored.get("epoch_rng")
            for loader in self.combined_loader.flattened:
                set_epoch(loader, self.epoch_progress.current.processed)
            if self._epoch_rng is not None:
                set_rng_states(self._epoch_rng["global"])
                restore_generators(self.combined_loader, self._epoch_rng["loaders"])
            passed = self.epoch_loop.batch_progress.current.ready
            fetcher = fetcher_after(self.combined_loader, passed, trainer.profiler)
            if not passed:
                # the first batch is done again: its order is yet to be drawn
                return fetcher
        if restored.get("rng") is not None:
            set_rng_states(restored["rng"]["global"])
            if self.combined_loader is not None:
                restore_generators(self.combined_loader, restored["rng"]["loaders"])
        return fetcher

    def _run_epoch(self, fetcher: BatchFetcher | None, restart: str | None) -> None:
        trainer = self.trainer
        if fetcher is None:
            self.setup_data()
            combined = self.combined_loader
            assert combined is not None
            for loader in combined.flattened:
                set_epoch(loader, self.epoch_progress.current.processed)
            self.epoch_progress.increment_ready()
            trainer._hooks.both("on_train_epoch_start")
            self.epoch_progress.increment_started()
            self._epoch_rng = self._random_states()
            fetcher = BatchFetcher(combined, trainer.profiler, "[_TrainingEpochLoop].train_dataloader_next")
        with trainer.profiler.profile("run_training_epoch"):
            self.epoch_loop.run(fetcher, restart)
        self._end_epoch()

    def _end_epoch(self) -> None:
        trainer = self.trainer
        logging, hooks, epoch_loop = trainer._logging, trainer._hooks, self.epoch_loop
        logging.epoch_end_reached()
        self.epoch_progress.increment_processed()
        # callbacks that monitor a metric come last, so that they see what the module logs in this hook
        hooks.monitoring("on_train_epoch_end", False)
        hooks.module("on_train_epoch_end")
        hooks.monitoring("on_train_epoch_end", True)
        if epoch_loop.last_batch_reached:
            epoch_loop.update_lr_schedulers("epoch", plateau=True)
        # metrics of the epoch belong to its last step
        epoch_loop.batches_that_stepped -= 1
        logging.send(logging.current_log())
        epoch_loop.batches_that_stepped += 1
        logging.reset_results()
        self.epoch_progress.increment_completed()
        if trainer.received_sigterm:
            raise SIGTERMException

    def _warn_of_eval_mode(self) -> None:
        number = sum(not module.training for module in self.trainer.lightning_module.modules())
        if number:
            rank_zero_warn(
                f"Found {number} module(s) in eval mode at the start of training. This may lead to unexpected behavior"
                " during training. If this is intentional, you can ignore this warning.",
                category=PossibleUserWarning,
            )

    # --- checkpoints --------------------------------------------------------------------------------------------------

    def _random_states(self) -> dict[str, Any]:
        return {"global": collect_rng_states(), "loaders": collect_generators(self.combined_loader)}

    def state_dict(self, everything: bool = True) -> dict[str, Any]:
        """The counters; with `everything` also what an exact restart within an epoch needs."""
        epoch_loop = self.epoch_loop
        own: dict[str, Any] = {}
        if everything and self.trainer.state.fn == "fit":
            own = {"position": position(self.trainer), "rng": self._random_states()}
            if own["position"] in _WITHIN_EPOCH:
                metrics = self.trainer._logging.callback_metrics
                own["epoch_rng"] = self._epoch_rng
                own["results"] = epoch_loop.results.state_dict()
                own["callback_metrics"] = {key: value for key, value in metrics.items() if isinstance(value, Tensor)}
                if epoch_loop.accumulating:
                    own["gradients"] = {
                        name: parameter.grad
                        for name, parameter in self.trainer.lightning_module.named_parameters()
                        if parameter.grad is not None
                    }
            elif own["position"] == "epoch_end":
                own["callback_metrics"] = dict(self.trainer._logging.callback_metrics)
        automatic, manual = epoch_loop.automatic_optimization, epoch_loop.manual_optimization
        return {
            "state_dict": own,
            "epoch_loop.state_dict": {"_batches_that_stepped": epoch_loop.batches_that_stepped},
            "epoch_loop.batch_progress": epoch_loop.batch_progress.state_dict(),
            "epoch_loop.scheduler_progress": epoch_loop.scheduler_progress.state_dict(),
            "epoch_loop.automatic_optimization.state_dict": {},
            "epoch_loop.automatic_optimization.optim_progress": automatic.optim_progress.state_dict(),
            "epoch_loop.manual_optimization.state_dict": {},
            "epoch_loop.manual_optimization.optim_step_progress": manual.optim_step_progress.state_dict(),
            "epoch_loop.val_loop.state_dict": {},
            "epoch_loop.val_loop.batch_progress": epoch_loop.val_loop.batch_progress.state_dict(),
            "epoch_progress": self.epoch_progress.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the counters; `run` goes on from there."""
        epoch_loop = self.epoch_loop
        epoch_loop.batches_that_stepped = state["epoch_loop.state_dict"].get("_batches_that_stepped", 0)
        epoch_loop.batch_progress.load_state_dict(state["epoch_loop.batch_progress"])
        epoch_loop.scheduler_progress.load_state_dict(state["epoch_loop.scheduler_progress"])
        epoch_loop.automatic_optimization.optim_progress.load_state_dict(
            state["epoch_loop.automatic_optimization.optim_progress"]
        )
        epoch_loop.manual_optimization.optim_step_progress.load_state_dict(
            state["epoch_loop.manual_optimization.optim_step_progress"]
        )
        epoch_loop.val_loop.batch_progress.load_state_dict(state["epoch_loop.val_loop.batch_progress"])
        self.epoch_progress.load_state_dict(state["epoch_progress"])
        self._restored = dict(state.get("state_dict") or {})
        self._restored.setdefault("position", position(self.trainer))
