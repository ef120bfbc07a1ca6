"""Counters of what a loop has begun and finished, in the form that checkpoints keep."""

from __future__ import annotations

from typing import Any


class Tracker:
    """How many events were made ready, started, processed and completed."""

    __slots__ = ("completed", "processed", "ready", "started")
    fields: tuple[str, ...] = ("ready", "completed", "started", "processed")

    def __init__(self, ready: int = 0, completed: int = 0, started: int = 0, processed: int = 0) -> None:
        self.ready = ready
        self.completed = completed
        self.started = started
        self.processed = processed

    def reset(self) -> None:
        """Back to zero."""
        self.ready = self.completed = self.started = self.processed = 0

    def reset_on_restart(self) -> None:
        """What was not completed is to be done again."""
        self.ready = self.started = self.processed = self.completed

    def state_dict(self) -> dict[str, int]:
        """The counters."""
        return {name: getattr(self, name) for name in self.fields}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Restore the counters."""
        for name in self.fields:
            setattr(self, name, state.get(name, 0))

    def __repr__(self) -> str:
        return f"Tracker({', '.join(f'{name}={getattr(self, name)}' for name in self.fields)})"


class StepTracker(Tracker):
    """How many events were made ready and completed."""

    __slots__ = ()
    fields = ("ready", "completed")


class StartTracker(Tracker):
    """How many events were made ready, started and completed."""

    __slots__ = ()
    fields = ("ready", "completed", "started")


class Progress:
    """The counters of a whole run and those of the current epoch."""

    def __init__(self, tracker: type[Tracker] = Tracker) -> None:
        self.total = tracker()
        self.current = tracker()

    def increment_ready(self) -> None:
        """One more event is ready."""
        self.total.ready += 1
        self.current.ready += 1

    def increment_started(self) -> None:
        """One more event has started."""
        self.total.started += 1
        self.current.started += 1

    def increment_processed(self) -> None:
        """One more event was processed; its end hooks follow."""
        self.total.processed += 1
        self.current.processed += 1

    def increment_completed(self) -> None:
        """One more event is complete."""
        self.total.completed += 1
        self.current.completed += 1

    def reset(self) -> None:
        """Everything back to zero."""
        self.total.reset()
        self.current.reset()

    def reset_on_run(self) -> None:
        """A new epoch begins."""
        self.current.reset()

    def state_dict(self) -> dict[str, Any]:
        """Both trackers."""
        return {"total": self.total.state_dict(), "current": self.current.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore both trackers."""
        self.total.load_state_dict(state["total"])
        self.current.load_state_dict(state["current"])


class BatchProgress(Progress):
    """Progress over batches, with a mark on the last one."""

    def __init__(self) -> None:
        super().__init__()
        self.is_last_batch = False

    def reset(self) -> None:
        """Everything back to zero."""
        super().reset()
        self.is_last_batch = False

    def reset_on_run(self) -> None:
        """A new epoch begins."""
        super().reset_on_run()
        self.is_last_batch = False

    def state_dict(self) -> dict[str, Any]:
        """Both trackers and the mark."""
        return {**super().state_dict(), "is_last_batch": self.is_last_batch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore both trackers and the mark."""
        super().load_state_dict(state)
        self.is_last_batch = state["is_last_batch"]


class OptimizerProgress:
    """Progress of ``step`` and ``zero_grad`` of the optimizer."""

    def __init__(self) -> None:
        self.step = Progress(StepTracker)
        self.zero_grad = Progress(StartTracker)

    @property
    def optimizer_steps(self) -> int:
        """How many steps were completed in all."""
        return self.step.total.completed

    def reset_on_run(self) -> None:
        """A new epoch begins."""
        self.step.reset_on_run()
        self.zero_grad.reset_on_run()

    def state_dict(self) -> dict[str, Any]:
        """Both progresses."""
        return {"optimizer": {"step": self.step.state_dict(), "zero_grad": self.zero_grad.state_dict()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore both progresses."""
        self.step.load_state_dict(state["optimizer"]["step"])
        self.zero_grad.load_state_dict(state["optimizer"]["zero_grad"])
