"""One cycle: up, down, and far down."""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, checked, for_each_group
from .cyclic import set_momentum, start_momentums, uses_beta1

__all__ = ["OneCycleLR"]


class OneCycleLR(LRScheduler):
    """The rate rises to ``max_lr`` and falls to far below where it began, the momentum the other way; by batch.

    Args:
        optimizer: whose rates are changed.
        max_lr: the largest rate, or one a group.
        total_steps: number of batches; or give ``epochs`` and ``steps_per_epoch``.
        pct_start: share of the batches on the way up (a float).
        anneal_strategy: ``"cos"`` or ``"linear"``.
        cycle_momentum: change ``momentum``, or the first of ``betas``, too.
        base_momentum: the smallest, at the largest rate. max_momentum: the largest.
        div_factor: the first rate is ``max_lr / div_factor``.
        final_div_factor: the last rate is the first divided by this.
        three_phase: go down to the first rate as fast as up, and then to the last.
        last_epoch: number of the last batch; see ``LRScheduler``.

    Raises:
        ValueError: an argument is out of range, or ``step`` is called more than ``total_steps`` times.

    Source: Smith and Topin, https://arxiv.org/abs/1708.07120;
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.OneCycleLR.html

    >>> import tocha
    >>> optimizer = tocha.optim.SGD([tocha.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = tocha.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> round(scheduler.get_last_lr()[0], 6)
    0.04
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = checked(optimizer)
        self.total_steps = total_batches(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        up = float(pct_start * self.total_steps) - 1
        self._schedule_phases: list[dict[str, Any]] = [
            phase(up, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        ]
        if three_phase:
            down = float(2 * pct_start * self.total_steps) - 2
            self._schedule_phases += [
                phase(down, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                phase(self.total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            self._schedule_phases.append(
                phase(self.total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")
            )
        self._anneal_func_type = anneal_strategy
        if last_epoch == -1:
            for rate, group in zip(for_each_group("max_lr", optimizer, max_lr), optimizer.param_groups, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = uses_beta1(optimizer)
            largest = for_each_group("max_momentum", optimizer, max_momentum)
            smallest = for_each_group("base_momentum", optimizer, base_momentum)
            if last_epoch == -1:
                start_momentums(optimizer, largest, smallest, self.use_beta1)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: Any, end: Any, share: float) -> Any:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)
        return (end - start) * share + start

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}"
            )
        begin = 0.0
        for current in self._schedule_phases:
            if self.last_epoch <= current["end_step"] or current is self._schedule_phases[-1]:
                break
            begin = current["end_step"]
        share = (self.last_epoch - begin) / (current["end_step"] - begin)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[current["start_lr"]], group[current["end_lr"]], share))
            if self.cycle_momentum:
                start, end = group[current["start_momentum"]], group[current["end_momentum"]]
                set_momentum(group, self._between(start, end, share), self.use_beta1)
        return rates


def phase(end: float, start_lr: str, end_lr: str, start_momentum: str, end_momentum: str) -> dict[str, Any]:
    """One stretch of the schedule: its last batch, and the names of the group's options between which it goes."""
    return {
        "end_step": end, "start_lr": start_lr, "end_lr": end_lr, "start_momentum": start_momentum,
        "end_momentum": end_momentum,
    }  # fmt: skip


def total_batches(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is not None:
        positive("total_steps", total_steps)
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    positive("epochs", epochs)
    positive("steps_per_epoch", steps_per_epoch)
    return epochs * steps_per_epoch


def positive(name: str, value: Any) -> None:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")
