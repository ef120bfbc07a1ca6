"""What a Trainer is doing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TrainerStatus(StrEnum):
    """How the last run stands."""

    INITIALIZING = "initializing"
    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"


class TrainerFn(StrEnum):
    """The method of the Trainer that was called."""

    FITTING = "fit"
    VALIDATING = "validate"
    TESTING = "test"
    PREDICTING = "predict"


class RunningStage(StrEnum):
    """The loop that is running; validation runs inside fit too."""

    TRAINING = "train"
    SANITY_CHECKING = "sanity_check"
    VALIDATING = "validate"
    TESTING = "test"
    PREDICTING = "predict"

    @property
    def evaluating(self) -> bool:
        """Validation, its sanity check, or test."""
        return self in (RunningStage.VALIDATING, RunningStage.TESTING, RunningStage.SANITY_CHECKING)

    @property
    def dataloader_prefix(self) -> str:
        """``train``, ``val``, ``test`` or ``predict``."""
        if self in (RunningStage.VALIDATING, RunningStage.SANITY_CHECKING):
            return "val"
        return self.value


@dataclass
class TrainerState:
    """Status, method and stage together."""

    status: TrainerStatus = TrainerStatus.INITIALIZING
    fn: TrainerFn | None = None
    stage: RunningStage | None = None

    @property
    def finished(self) -> bool:
        """The last run came to its end."""
        return self.status is TrainerStatus.FINISHED

    @property
    def stopped(self) -> bool:
        """The last run has ended, by itself or by an exception."""
        return self.status in (TrainerStatus.FINISHED, TrainerStatus.INTERRUPTED)
