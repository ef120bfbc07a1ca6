"""Cosines, with and without restarts."""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts"]


class CosineAnnealingLR(LRScheduler):
    """The rate falls to ``eta_min`` in ``T_max`` epochs along half a cosine, then rises again.

    Args:
        optimizer: whose rates are changed.
        T_max: number of epochs.
        eta_min: the smallest rate.
        last_epoch: see ``LRScheduler``.

    Source: Loshchilov and Hutter, https://arxiv.org/abs/1608.03983 (without restarts);
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.CosineAnnealingLR.html

    >>> import tocha
    >>> optimizer = tocha.optim.SGD([tocha.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = tocha.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial:
            return self._current()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The epoch before was at the minimum, where the quotient below is 0 / 0.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            groups = self.optimizer.param_groups
            return [g["lr"] + (base - self.eta_min) * rise for base, g in zip(self.base_lrs, groups, strict=True)]
        now = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        before = 1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max)
        return [now / before * (g["lr"] - self.eta_min) + self.eta_min for g in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        height = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """The rate falls to ``eta_min`` along half a cosine, jumps back, and falls again, more slowly each time.

    Args:
        optimizer: whose rates are changed.
        T_0: number of epochs of the first fall.
        T_mult: each fall takes so many times the epochs of the one before.
        eta_min: the smallest rate.
        last_epoch: see ``LRScheduler``.

    Raises:
        ValueError: an argument is not a number of the kind described.

    Source: Loshchilov and Hutter, https://arxiv.org/abs/1608.03983;
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.html

    >>> import tocha
    >>> optimizer = tocha.optim.SGD([tocha.zeros(1, requires_grad=True)], lr=1.0)
    >>> tocha.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=5).get_last_lr()
    [1.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min = T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the rates of the next epoch.

        Args:
            epoch: or of this one, which may be a fraction: ``epoch + batch / batches`` changes the rate every batch.

        Raises:
            ValueError: ``epoch`` is negative.
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**restarts
        self.last_epoch = math.floor(epoch)
        with self._inside_step():
            rates = self.get_lr()
        self._set(rates)
