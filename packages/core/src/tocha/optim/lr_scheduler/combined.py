"""Schedulers of schedulers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, assign, values_of
from .plateau import ReduceLROnPlateau

__all__ = ["ChainedScheduler", "SequentialLR"]


class _OfSchedulers(LRScheduler):
    """Holds schedulers of one optimizer."""

    _schedulers: Sequence[LRScheduler]

    def _check(self, schedulers: Sequence[Any], optimizer: Optimizer | None) -> Optimizer:
        name = type(self).__name__
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {i} in the given schedulers sequence."
                )
            optimizer = optimizer or scheduler.optimizer
            if scheduler.optimizer is not optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is different from "
                    f"{type(optimizer).__name__}."
                )
        assert optimizer is not None
        return optimizer

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, with the states of the schedulers inside."""
        state = super().state_dict()
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where the scheduler was whose ``state_dict`` this is."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(_OfSchedulers):
    """One scheduler after the other, each from a given epoch on.

    Args:
        optimizer: the schedulers'.
        schedulers: in the order in which they take over.
        milestones: the epochs at which the second, third, … take over.
        last_epoch: see ``LRScheduler``.

    Raises:
        ValueError: the numbers do not fit, or a scheduler belongs to another optimizer or is ``ReduceLROnPlateau``.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.SequentialLR.html

    >>> import tocha
    >>> s = tocha.optim.lr_scheduler
    >>> optimizer = tocha.optim.SGD([tocha.zeros(1, requires_grad=True)], lr=1.0)
    >>> warm, decay = s.ConstantLR(optimizer, factor=0.1, total_iters=2), s.ExponentialLR(optimizer, gamma=0.9)
    >>> s.SequentialLR(optimizer, [warm, decay], milestones=[2]).get_last_lr()
    [0.1]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Each scheduler took its first step when it was made: take those back, and begin with the first alone.
        for group in optimizer.param_groups:
            assign(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take one epoch back in every scheduler below ``sched`` (default: this one)."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for inner in scheduler._schedulers:
                self.recursive_undo(inner)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Set the rates of the next epoch."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_OfSchedulers):
    """Several schedulers at once, each changing what the ones before it set.

    Args:
        schedulers: of one optimizer.
        optimizer: theirs; taken from the first where None.

    Raises:
        ValueError: there is none, or one belongs to another optimizer or is ``ReduceLROnPlateau``.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.ChainedScheduler.html

    >>> import tocha
    >>> s = tocha.optim.lr_scheduler
    >>> optimizer = tocha.optim.SGD([tocha.zeros(1, requires_grad=True)], lr=1.0)
    >>> s.ChainedScheduler([s.ConstantLR(optimizer, factor=0.5), s.ExponentialLR(optimizer, gamma=0.9)]).get_last_lr()
    [0.5]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler."
            )
        self.optimizer = self._check(schedulers, optimizer)
        self._schedulers = schedulers
        self._last_lr = values_of(self.optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Set the rates of the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values_of(self.optimizer, "lr")
