"""Averages of weights over training: stochastic weight averaging (SWA) and exponential moving averages (EMA)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

import tocha
from tocha._core.tensor import Tensor
from tocha.nn.modules.module import Module

from .lr_scheduler.base import LRScheduler, for_each_group
from .optimizer import Optimizer

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip


def _checked_decay(decay: float) -> float:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")
    return decay


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """A function ``(averages, currents, num_averaged)`` that moves each average towards its current value, in place.

    Args:
        decay: how much of the average is kept, between 0 and 1.

    >>> import tocha
    >>> averages = [tocha.zeros(2)]
    >>> get_ema_multi_avg_fn(0.75)(averages, [tocha.ones(2)], 1)
    >>> averages
    [tensor([0.2500, 0.2500])]
    """
    _checked_decay(decay)

    @tocha.no_grad()
    def ema_update(averages: Sequence[Tensor], currents: Sequence[Tensor], num_averaged: Any) -> None:
        for average, current in zip(averages, currents, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.add_((current - average) * (1 - decay))
            else:
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable:
    """A function ``(averages, currents, num_averaged)`` that takes one more value into each mean, in place."""

    @tocha.no_grad()
    def swa_update(averages: Sequence[Tensor], currents: Sequence[Tensor], num_averaged: Any) -> None:
        for average, current in zip(averages, currents, strict=True):
            average.copy_(average + (current - average) / (num_averaged + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable:
    """A function ``(average, current, num_averaged)`` that returns the new exponential moving average."""
    _checked_decay(decay)

    @tocha.no_grad()
    def ema_update(average: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        return average * decay + current * (1 - decay)

    return ema_update


def get_swa_avg_fn() -> Callable:
    """A function ``(average, current, num_averaged)`` that returns the mean with one more value in it."""

    @tocha.no_grad()
    def swa_update(average: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        return average + (current - average) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose weights are averages of the model's over training.

    Args:
        model: copied as ``module``.
        device: where to keep the copy.
        avg_fn: ``avg_fn(average, current, num_averaged)`` returns the new average; the mean where None.
        multi_avg_fn: the same for lists of tensors, in place; give one of the two.
        use_buffers: average the buffers too; otherwise they are copied at each update.

    Raises:
        AssertionError: both functions are given.

    Source: Izmailov et al., https://arxiv.org/abs/1803.05407;
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.swa_utils.AveragedModel.html

    >>> import tocha
    >>> model = tocha.nn.Linear(2, 1)
    >>> average = tocha.optim.swa_utils.AveragedModel(model)
    >>> average.update_parameters(model)
    >>> int(average.n_averaged)
    1
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[[Tensor, Tensor, Any], Tensor] | None = None,
        multi_avg_fn: Callable[[Sequence[Tensor], Sequence[Tensor], Any], None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tocha.tensor(0, dtype=tocha.int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _values(self, module: Module) -> Iterable[Tensor]:
        return chain(module.parameters(), module.buffers()) if self.use_buffers else module.parameters()

    def update_parameters(self, model: Module) -> None:
        """Take the model's present weights into the averages; the first time they are copied."""
        averages = [p.detach() for p in self._values(self.module)]
        currents = [p.detach() for p in self._values(model)]
        currents = [current.to(average.device) for average, current in zip(averages, currents, strict=False)]
        count = self.n_averaged.item()
        with tocha.no_grad():
            if count == 0:
                for average, current in zip(averages, currents, strict=False):
                    average.copy_(current)
            elif self.multi_avg_fn is not None:
                alike: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
                for average, current in zip(averages, currents, strict=False):
                    group = alike.setdefault((average.device, average.dtype), ([], []))
                    group[0].append(average)
                    group[1].append(current)
                for (device, _), (some, theirs) in alike.items():
                    self.multi_avg_fn(some, theirs, self.n_averaged.to(device))
            else:
                avg_fn = self.avg_fn or get_swa_avg_fn()
                for average, current in zip(averages, currents, strict=False):
                    average.copy_(avg_fn(average, current, self.n_averaged.to(average.device)))
            if not self.use_buffers:
                for average, current in zip(self.module.buffers(), model.buffers(), strict=True):
                    average.detach().copy_(current.detach().to(average.device))
            self.n_averaged.add_(1)


@tocha.no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of all batch norms anew, from one pass over the data.

    Args:
        loader: batches, or tuples of which the first entry is the batch.
        model: its weights are not changed.
        device: where to move each batch.
    """
    from tocha.nn.modules.batchnorm import BatchNorm

    norms: Any = [module for module in model.modules() if isinstance(module, BatchNorm)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain mean over the batches
    for batch in loader:
        inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(inputs if device is None else inputs.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """The rate goes from where it is to ``swa_lr`` in ``anneal_epochs`` epochs and stays there.

    Args:
        optimizer: whose rates are changed.
        swa_lr: the rate to go to, or one a group.
        anneal_epochs: number of epochs.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        last_epoch: see ``LRScheduler``.

    Raises:
        ValueError: an argument is out of range.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.swa_utils.SWALR.html

    >>> import tocha
    >>> optimizer = tocha.optim.SGD([tocha.zeros(1, requires_grad=True)], lr=1.0)
    >>> tocha.optim.swa_utils.SWALR(optimizer, swa_lr=0.05, anneal_epochs=5).get_last_lr()
    [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(for_each_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """How much of ``swa_lr`` is in the rate at a step."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            # Chainable: what the rate would be without our share, found back from the rate as it is.
            start = group["swa_lr"] if before == 1 else (group["lr"] - before * group["swa_lr"]) / (1 - before)
            rates.append(group["swa_lr"] * now + start * (1 - now))
        return rates
