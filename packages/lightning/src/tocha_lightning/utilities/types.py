"""Types that appear in the signatures of modules, callbacks and the Trainer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from tocha import Tensor
from tocha.optim import Optimizer
from tocha.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

STEP_OUTPUT = Tensor | Mapping[str, Any] | None
LRSchedulerTypeUnion = LRScheduler | ReduceLROnPlateau
# whatever a `*_dataloader` method may return
TRAIN_DATALOADERS = Any
EVAL_DATALOADERS = Any


@dataclass
class LRSchedulerConfig:
    """A learning-rate scheduler and when the Trainer steps it.

    Attributes:
        scheduler: the scheduler.
        name: the name under which `LearningRateMonitor` logs it.
        interval: step it after every ``"epoch"`` or every optimizer ``"step"``.
        frequency: only every so many intervals.
        reduce_on_plateau: it takes the value of `monitor` as an argument.
        monitor: the logged metric that it takes.
        strict: raise if that metric is missing, rather than warn and skip.
    """

    scheduler: Any
    name: str | None = None
    interval: str = "epoch"
    frequency: int = 1
    reduce_on_plateau: bool = False
    monitor: str | None = None
    strict: bool = True


class LRSchedulerConfigType(TypedDict, total=False):
    """The dictionary that `configure_optimizers` may return for a scheduler: `LRSchedulerConfig`'s fields."""

    scheduler: Any
    name: str | None
    interval: str
    frequency: int
    reduce_on_plateau: bool
    monitor: str | None
    strict: bool


class OptimizerConfig(TypedDict):
    """The dictionary that `configure_optimizers` may return for an optimizer alone."""

    optimizer: Optimizer


class OptimizerLRSchedulerConfig(TypedDict, total=False):
    """The dictionary that `configure_optimizers` may return for an optimizer and its scheduler."""

    optimizer: Optimizer
    lr_scheduler: Any
    monitor: str


OptimizerLRScheduler = Any
ClipAlgorithm = Literal["norm", "value"]
