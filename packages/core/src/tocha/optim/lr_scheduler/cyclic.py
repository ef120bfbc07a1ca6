"""Cycles between two rates."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, assign, checked, for_each_group

__all__ = ["CyclicLR"]


class CyclicLR(LRScheduler):
    """The rate goes up and down between two values, and with ``cycle_momentum`` the momentum the other way; by batch.

    Args:
        optimizer: whose rates are changed.
        base_lr: the smallest rate, or one a group. max_lr: the largest.
        step_size_up: batches on the way up. step_size_down: on the way down (as many where None).
        mode: ``"triangular"`` (the same each time), ``"triangular2"`` (half as high each time) or ``"exp_range"``
            (``gamma ** batch`` as high).
        gamma: see ``mode``.
        scale_fn: the height as a function of the cycle or the batch, instead of ``mode``.
        scale_mode: what ``scale_fn`` gets: ``"cycle"`` or ``"iterations"``.
        cycle_momentum: change ``momentum``, or the first of ``betas``, too.
        base_momentum: the smallest, at the largest rate. max_momentum: the largest.
        last_epoch: number of the last batch; see ``LRScheduler``.

    Raises:
        ValueError: the mode is unknown, or the optimizer has no momentum to cycle.

    Source: Smith, https://arxiv.org/abs/1506.01186;
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.CyclicLR.html

    >>> import tocha
    >>> optimizer = tocha.optim.SGD([tocha.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> tocha.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.01, max_lr=0.1).get_last_lr()
    [0.01]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = checked(optimizer)
        base_lrs = for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                assign(group, "lr", rate)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = float(step_size_down) if step_size_down is not None else up
        self.total_size, self.step_ratio = up + down, up / (up + down)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = uses_beta1(optimizer)
            self.base_momentums = for_each_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = for_each_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                start_momentums(optimizer, self.max_momentums, self.base_momentums, self.use_beta1)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of a cycle, relative to the first."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return self.gamma**x
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else 1.0

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            pairs = zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True)
            for least, most, group in pairs:
                set_momentum(group, most - (most - least) * share * scale, self.use_beta1)
        return [least + (most - least) * share * scale for least, most in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; of ``scale_fn`` the attributes, and of a plain function nothing."""
        state = super().state_dict()
        fn = state["_scale_fn_custom"]
        keep = fn is not None and not isinstance(fn, types.FunctionType)
        state["_scale_fn_custom"] = fn.__dict__.copy() if keep else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where the scheduler was whose ``state_dict`` this is."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k not in ("_scale_fn_custom", "_scale_fn_ref")})
        if state_dict.get("_scale_fn_custom") is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])


def uses_beta1(optimizer: Optimizer) -> bool:
    """Whether the optimizer's momentum is the first of its betas.

    Raises:
        ValueError: it has none.
    """
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    return "betas" in optimizer.defaults


def set_momentum(group: dict[str, Any], value: Any, use_beta1: bool) -> None:
    if use_beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


def start_momentums(optimizer: Optimizer, largest: list[Any], smallest: list[Any], use_beta1: bool) -> None:
    """Begin with the largest momentum, and note both in the groups."""
    for most, least, group in zip(largest, smallest, optimizer.param_groups, strict=True):
        set_momentum(group, most, use_beta1)
        group["max_momentum"], group["base_momentum"] = most, least
