"""Stopping when a metric no longer improves."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import tocha
from tocha import Tensor
from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.trainer.states import TrainerFn
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.rank_zero import log, rank_zero_warn


class EarlyStoppingReason(IntEnum):
    """Why training was stopped."""

    NOT_STOPPED = 0
    STOPPING_THRESHOLD = 1
    DIVERGENCE_THRESHOLD = 2
    PATIENCE_EXHAUSTED = 3
    NON_FINITE_METRIC = 4


class EarlyStopping(Callback):
    """Stops training when the monitored metric has not improved for `patience` checks.

    Args:
        monitor: the logged metric.
        min_delta: what counts as an improvement: more than this.
        patience: how many checks without improvement to wait for.
        verbose: say when the metric improves, and why training stops.
        mode: whether the best is the ``"min"`` or the ``"max"``.
        strict: raise if the metric is missing.
        check_finite: stop when the metric is NaN or infinite.
        stopping_threshold: stop when the metric is better than this.
        divergence_threshold: stop when the metric is worse than this.
        check_on_train_epoch_end: check at the end of the training epoch rather than after validation.
        log_rank_zero_only: only rank zero says anything.

    Attributes:
        best_score: the best value so far.
        wait_count: how many checks have passed without improvement.
        stopped_epoch: the epoch in which training was stopped, 0 if it was not.
        stopping_reason: why.

    Raises:
        MisconfigurationException: an unknown `mode`.
        RuntimeError: the metric is missing, and `strict` is True.
    """

    def __init__(
        self,
        monitor: str,
        min_delta: float = 0.0,
        patience: int = 3,
        verbose: bool = False,
        mode: str = "min",
        strict: bool = True,
        check_finite: bool = True,
        stopping_threshold: float | None = None,
        divergence_threshold: float | None = None,
        check_on_train_epoch_end: bool | None = None,
        log_rank_zero_only: bool = False,
    ) -> None:
        if mode not in ("min", "max"):
            raise MisconfigurationException(f"`mode` can be min, max, got {mode}")
        self.monitor = monitor
        self.min_delta = min_delta if mode == "max" else -min_delta
        self.patience = patience
        self.verbose = verbose
        self.mode = mode
        self.strict = strict
        self.check_finite = check_finite
        self.stopping_threshold = stopping_threshold
        self.divergence_threshold = divergence_threshold
        self.log_rank_zero_only = log_rank_zero_only
        self.wait_count = 0
        self.stopped_epoch = 0
        self.stopping_reason = EarlyStoppingReason.NOT_STOPPED
        self.stopping_reason_message: str | None = None
        self.best_score = tocha.tensor(float("inf") if mode == "min" else float("-inf"))
        self._check_on_train_epoch_end = check_on_train_epoch_end

    @property
    def state_key(self) -> str:
        """The class with the arguments that tell several instances apart."""
        return self._generate_state_key(monitor=self.monitor, mode=self.mode)

    def _better(self, value: Any, than: Any) -> bool:
        return bool(value < than) if self.mode == "min" else bool(value > than)

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Decide where to check."""
        if self._check_on_train_epoch_end is None:
            # where validation does not end every training epoch, every validation is a check
            self._check_on_train_epoch_end = trainer.val_check_interval == 1.0 and trainer.check_val_every_n_epoch == 1

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Check, if it is this hook's turn."""
        if self._check_on_train_epoch_end and not self._skips(trainer):
            self._check(trainer)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Check, if it is this hook's turn."""
        if not self._check_on_train_epoch_end and not self._skips(trainer):
            self._check(trainer)

    @staticmethod
    def _skips(trainer: Any) -> bool:
        return trainer.state.fn is not TrainerFn.FITTING or trainer.sanity_checking

    def _check(self, trainer: Any) -> None:
        metrics = trainer.callback_metrics
        if trainer.fast_dev_run:
            return
        if self.monitor not in metrics:
            message = (
                f"Early stopping conditioned on metric `{self.monitor}` which is not available. Pass in or modify your"
                f" `EarlyStopping` callback to use any of the following: `{'`, `'.join(metrics)}`"
            )
            if self.strict:
                raise RuntimeError(message)
            if self.verbose:
                rank_zero_warn(message, category=RuntimeWarning)
            return
        stop, reason = self._judge(metrics[self.monitor].squeeze())
        stop = trainer.strategy.reduce_boolean_decision(stop, all=False)
        trainer.should_stop = trainer.should_stop or stop
        if stop:
            self.stopped_epoch = trainer.current_epoch
            self.stopping_reason_message = reason
        if reason and self.verbose and (trainer.is_global_zero or not self.log_rank_zero_only):
            log.info(reason if trainer.world_size == 1 else f"[rank: {trainer.global_rank}] {reason}")

    def _judge(self, current: Tensor) -> tuple[bool, str | None]:
        value, best, symbol = current.item(), self.best_score.item(), "<" if self.mode == "min" else ">"
        if self.check_finite and not bool(tocha.isfinite(current)):
            self.stopping_reason = EarlyStoppingReason.NON_FINITE_METRIC
            return True, (
                f"Monitored metric {self.monitor} = {value} is not finite. Previous best value was {best:.3f}."
                " Signaling Trainer to stop."
            )
        if self.stopping_threshold is not None and self._better(current, self.stopping_threshold):
            self.stopping_reason = EarlyStoppingReason.STOPPING_THRESHOLD
            return True, (
                f"Stopping threshold reached: {self.monitor} = {value} {symbol} {self.stopping_threshold}."
                " Signaling Trainer to stop."
            )
        if self.divergence_threshold is not None and self._better(-current, -self.divergence_threshold):
            self.stopping_reason = EarlyStoppingReason.DIVERGENCE_THRESHOLD
            return True, (
                f"Divergence threshold reached: {self.monitor} = {value} {symbol} {self.divergence_threshold}."
                " Signaling Trainer to stop."
            )
        if self._better(current - self.min_delta, self.best_score.to(current.device)):
            improved = abs(best - value)
            message = f"Metric {self.monitor} improved"
            if improved != float("inf"):
                message += f" by {improved:.3f} >= min_delta = {abs(self.min_delta)}"
            self.best_score = current
            self.wait_count = 0
            return False, f"{message}. New best score: {value:.3f}"
        self.wait_count += 1
        if self.wait_count < self.patience:
            return False, None
        self.stopping_reason = EarlyStoppingReason.PATIENCE_EXHAUSTED
        return True, (
            f"Monitored metric {self.monitor} did not improve in the last {self.wait_count} records."
            f" Best score: {best:.3f}. Signaling Trainer to stop."
        )

    def state_dict(self) -> dict[str, Any]:
        """The best value and the waiting."""
        return {
            "wait_count": self.wait_count,
            "stopped_epoch": self.stopped_epoch,
            "best_score": self.best_score,
            "patience": self.patience,
            "stopping_reason": self.stopping_reason.value,
            "stopping_reason_message": self.stopping_reason_message,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the best value and the waiting."""
        self.wait_count = state_dict["wait_count"]
        self.stopped_epoch = state_dict["stopped_epoch"]
        self.best_score = state_dict["best_score"]
        self.patience = state_dict["patience"]
        self.stopping_reason = EarlyStoppingReason(state_dict.get("stopping_reason", 0))
        self.stopping_reason_message = state_dict.get("stopping_reason_message")
