"""``LRScheduler``, the base of the schedulers."""

from __future__ import annotations

import contextlib
import functools
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

from tocha._core.tensor import Tensor

from ..optimizer import Optimizer

__all__ = ["LRScheduler"]

EPOCH_DEPRECATED = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available."
)
_SEE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


class LRScheduler:
    """Changes the learning rates of an optimizer; subclasses say how in ``get_lr``.

    Args:
        optimizer: whose groups' ``lr`` is changed. Each group gets an ``initial_lr``.
        last_epoch: number of the last epoch when training is resumed; -1 to start.

    Raises:
        TypeError: not an Optimizer. KeyError: ``last_epoch`` is given, but groups have no ``initial_lr``.

    Source: https://docs.pytorch.org/docs/2.13/optim.html#how-to-adjust-learning-rate
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = checked(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch "
                    ">= 0.\n"
                    "This typically happens when:\n"
                    "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer "
                    "state\n"
                    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
                )
        self.base_lrs: list[Any] = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    # ------------------------------------------------------------ state

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; callables that are plain functions are left out."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where the scheduler was whose ``state_dict`` this is."""
        self.__dict__.update(state_dict)

    # ------------------------------------------------------------ rates

    def get_last_lr(self) -> list[Any]:
        """The rates that the last step set, one a group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates of the epoch ``last_epoch``, one a group; called by ``step``."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch; call it after ``optimizer.step()``.

        Args:
            epoch: set the rates of this epoch instead (deprecated).
        """
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                    f"Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. {_SEE}",
                    UserWarning,
                    stacklevel=2,
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, "
                    "you should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  "
                    "Failure to do this will result in PyTorch skipping the first value of the learning rate "
                    f"schedule. {_SEE}",
                    UserWarning,
                    stacklevel=2,
                )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATED, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._inside_step():
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed_form = getattr(self, "_get_closed_form_lr", self.get_lr)
                rates = closed_form()
        self._set(rates)

    def _set(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            assign(group, "lr", rate)
        self._last_lr = self._current()

    def _current(self) -> list[Any]:
        """The groups' rates as they are."""
        return values_of(self.optimizer, "lr")

    def _scaled(self, factor: Any) -> list[Any]:
        """The groups' rates times a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    @contextlib.contextmanager
    def _inside_step(self) -> Iterator[None]:
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )


class _LRScheduler(LRScheduler):
    """The name of ``LRScheduler`` before PyTorch 2.0, for subclasses of that time."""


def checked(optimizer: Any) -> Optimizer:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def values_of(optimizer: Optimizer, key: str) -> list[Any]:
    """An option of each group."""
    return [copied(group[key]) for group in optimizer.param_groups]


def assign(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option; one that is a tensor keeps its identity."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def for_each_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """One value a group, given once or as a list."""
    count = len(optimizer.param_groups)
    if isinstance(value, (list, tuple)):
        if len(value) != count:
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
                f"param_groups has {count}."
            )
        return [copied(v) for v in value]
    return [copied(value) for _ in range(count)]


def watch_steps(optimizer: Optimizer) -> None:
    """Note on the optimizer when its ``step`` is called, to warn of the wrong order of calls."""
    step = optimizer.step
    if hasattr(step, "_wrapped_by_lr_sched"):
        return
    function = step.__func__  # type: ignore[attr-defined]
    reference = weakref.ref(optimizer)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        owner: Any = reference()
        owner._opt_called = True
        return function(owner, *args, **kwargs)

    wrapper._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = wrapper  # type: ignore[method-assign]
