"""Measuring and limiting the time of training."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.trainer.arguments import seconds
from tocha_lightning.trainer.states import RunningStage
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.rank_zero import rank_zero_info


class Timer(Callback):
    """Measures the stages, and stops training after a duration.

    Args:
        duration: a timedelta, ``"DD:HH:MM:SS"``, a dictionary of timedelta's arguments, or None to only measure.
        interval: look at the clock at the end of every ``"step"`` or ``"epoch"``.
        verbose: say when the time is over.

    Raises:
        MisconfigurationException: an unknown interval or duration.
    """

    def __init__(
        self,
        duration: str | timedelta | dict[str, int] | None = None,
        interval: str = "step",
        verbose: bool = True,
    ) -> None:
        if interval not in ("step", "epoch"):
            raise MisconfigurationException(
                f"Unsupported parameter value `Timer(interval={interval})`. Possible choices are: step, epoch"
            )
        self._duration = None if duration is None else seconds(duration)
        self._interval = str(interval)
        self._verbose = verbose
        self._starts: dict[RunningStage, float] = {}
        self._ends: dict[RunningStage, float] = {}
        self._offset = 0.0

    def start_time(self, stage: str = "train") -> float | None:
        """When the stage began, on the monotonic clock."""
        return self._starts.get(RunningStage(stage))

    def end_time(self, stage: str = "train") -> float | None:
        """When the stage ended, on the monotonic clock."""
        return self._ends.get(RunningStage(stage))

    def time_elapsed(self, stage: str = "train") -> float:
        """The seconds that the stage has taken, for training those before a resume included."""
        start, end = self.start_time(stage), self.end_time(stage)
        offset = self._offset if stage == RunningStage.TRAINING else 0.0
        if start is None:
            return offset
        return (time.monotonic() if end is None else end) - start + offset

    def time_remaining(self, stage: str = "train") -> float | None:
        """The seconds that are left, or None without a limit."""
        return None if self._duration is None else self._duration - self.time_elapsed(stage)

    def _begin(self, stage: RunningStage) -> None:
        self._starts[stage] = time.monotonic()
        self._ends.pop(stage, None)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Training begins."""
        self._begin(RunningStage.TRAINING)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Training ends."""
        self._ends[RunningStage.TRAINING] = time.monotonic()

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Validation begins."""
        self._begin(RunningStage.VALIDATING)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Validation ends."""
        self._ends[RunningStage.VALIDATING] = time.monotonic()

    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        """Test begins."""
        self._begin(RunningStage.TESTING)

    def on_test_end(self, trainer: Any, pl_module: Any) -> None:
        """Test ends."""
        self._ends[RunningStage.TESTING] = time.monotonic()

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """A resumed run may have no time left."""
        if self._duration is not None:
            self._check(trainer)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Look at the clock."""
        if self._interval == "step" and self._duration is not None:
            self._check(trainer)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Look at the clock."""
        if self._interval == "epoch" and self._duration is not None:
            self._check(trainer)

    def _check(self, trainer: Any) -> None:
        assert self._duration is not None
        over = trainer.strategy.broadcast(self.time_elapsed() >= self._duration)
        trainer.should_stop = trainer.should_stop or over
        if over and self._verbose:
            elapsed = timedelta(seconds=int(self.time_elapsed()))
            rank_zero_info(f"Time limit reached. Elapsed time is {elapsed}. Signaling Trainer to stop.")

    def state_dict(self) -> dict[str, Any]:
        """The seconds of every stage."""
        return {"time_elapsed": {stage.value: self.time_elapsed(stage.value) for stage in RunningStage}}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up the time of training."""
        self._offset = state_dict.get("time_elapsed", {}).get(RunningStage.TRAINING.value, 0.0)
