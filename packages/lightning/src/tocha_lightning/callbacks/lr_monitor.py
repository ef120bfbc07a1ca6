"""Logging learning rates."""

from __future__ import annotations

from collections import Counter
from typing import Any

import tocha
from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.rank_zero import rank_zero_warn


class LearningRateMonitor(Callback):
    """Logs the learning rate of every optimizer: ``lr-SGD``, ``lr-SGD/pg2`` with parameter groups, or the `name` of
    the scheduler's configuration.

    Args:
        logging_interval: log at every ``"step"`` or ``"epoch"``; None: as the scheduler steps.
        log_momentum: also the momentum, or the first beta.
        log_weight_decay: also the weight decay.

    Attributes:
        lrs: the logged learning rates of every name.

    Raises:
        MisconfigurationException: an unknown interval; no logger; parameter groups of the same name.
    """

    def __init__(
        self, logging_interval: str | None = None, log_momentum: bool = False, log_weight_decay: bool = False
    ) -> None:
        if logging_interval not in (None, "step", "epoch"):
            raise MisconfigurationException("logging_interval should be `step` or `epoch` or `None`.")
        self.logging_interval = logging_interval
        self.log_momentum = log_momentum
        self.log_weight_decay = log_weight_decay
        self.lrs: dict[str, list[float]] = {}

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Find the names."""
        if not trainer.loggers:
            raise MisconfigurationException(
                "Cannot use `LearningRateMonitor` callback with `Trainer` that has no logger."
            )
        if self.log_momentum and any(
            "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults
            for optimizer in trainer.optimizers
        ):
            rank_zero_warn(
                "You have set log_momentum=True, but some optimizers do not have momentum."
                " This will log a value 0 for the momentum.",
                category=RuntimeWarning,
            )
        self.lrs = {name: [] for _, _, names in self._named(trainer) for name in names}

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """Log, if this step is logged."""
        every = trainer.log_every_n_steps
        step = trainer.fit_loop.epoch_loop.batches_that_stepped
        if self.logging_interval != "epoch" and every and ((step + 1) % every == 0 or trainer.should_stop):
            self._log(trainer, "step")

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Log."""
        if self.logging_interval != "step":
            self._log(trainer, "epoch")

    def _log(self, trainer: Any, interval: str) -> None:
        stats: dict[str, float] = {}
        for optimizer, own_interval, names in self._named(trainer):
            if self.logging_interval is not None or own_interval in (None, interval):
                stats.update(self._stats(optimizer, names))
        if not stats:
            return
        device = trainer.strategy.root_device
        trainer.callback_metrics.update({name: tocha.tensor(value, device=device) for name, value in stats.items()})
        for logger in trainer._writing_loggers:
            logger.log_metrics(stats, step=trainer.fit_loop.epoch_loop.batches_that_stepped)

    def _stats(self, optimizer: Any, names: list[str]) -> dict[str, float]:
        stats: dict[str, float] = {}
        for group, name in zip(optimizer.param_groups, names, strict=True):
            rate = float(group["lr"])
            self.lrs.setdefault(name, []).append(rate)
            stats[name] = rate
            if self.log_momentum:
                stats[f"{name}-momentum"] = group["betas"][0] if "betas" in group else group.get("momentum", 0)
            if self.log_weight_decay:
                stats[f"{name}-weight_decay"] = group["weight_decay"]
        return stats

    def _named(self, trainer: Any) -> list[tuple[Any, str | None, list[str]]]:
        """Every optimizer with the interval of its scheduler and the names of its parameter groups."""
        found: list[tuple[Any, str | None, list[str]]] = []
        kinds: Counter[type] = Counter()
        scheduled = [(c.scheduler.optimizer, c.interval, c.name) for c in trainer.lr_scheduler_configs]
        with_scheduler = [id(optimizer) for optimizer, _, _ in scheduled]
        rest = [(o, None, None) for o in trainer.optimizers if id(o) not in with_scheduler]
        for optimizer, interval, name in [*scheduled, *rest]:
            if name is None:
                kinds[type(optimizer)] += 1
                count = kinds[type(optimizer)]
                name = f"lr-{type(optimizer).__name__}" + (f"-{count - 1}" if count > 1 else "")
            found.append((optimizer, interval, self._group_names(optimizer, name)))
        return found

    @staticmethod
    def _group_names(optimizer: Any, name: str) -> list[str]:
        groups = optimizer.param_groups
        if len(groups) == 1:
            given = groups[0].get("name")
            return [f"{name}/{given}" if given else name]
        names = [group.get("name", f"pg{i}") for i, group in enumerate(groups, start=1)]
        twice = {n for n in names if names.count(n) > 1}
        if twice:
            raise MisconfigurationException(
                "A single `Optimizer` cannot have multiple parameter groups with identical `name` values."
                f" {name} has duplicated parameter group names {twice}"
            )
        return [f"{name}/{n}" for n in names]
