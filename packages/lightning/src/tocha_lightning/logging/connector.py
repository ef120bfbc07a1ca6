"""From `self.log` to loggers, callbacks and the progress bar."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

from tocha import Tensor
from tocha_lightning.logging.results import Entry, Results
from tocha_lightning.logging.rules import levels
from tocha_lightning.metrics.metric import Metric
from tocha_lightning.utilities.collections import to_scalars
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.rank_zero import rank_zero_warn


class LoggingConnector:
    """Holds the metrics of a Trainer and says when they are sent to the loggers.

    Metrics are collected when somebody looks at them, not at every batch: `settle` writes the step's values into the
    dictionaries before they change.
    """

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.hook: str | None = None  # the hook that is running, by which `self.log` decides
        self.results: Results | None = None  # of the loop that is running
        self.in_batch = False
        self._callback: dict[str, Any] = {}
        self._logged: dict[str, Any] = {}
        self._progress_bar: dict[str, Any] = {}
        self._stale = False

    # --- taking values -----------------------------------------------------------------------------------------------

    def log(self, module: Any, name: str, value: Any, signature: tuple[Any, ...], batch_size: int | None) -> None:
        """See `LightningModule.log`."""
        results, hook = self.results, self.hook
        if results is None or hook is None or self.trainer.barebones:
            self._refuse(results)
            return
        index = results.dataloader_idx if signature[8] else None
        entry = results.entries.get((hook, name, index))
        if entry is None or entry.signature is None:
            entry = self._new_entry(module, results, hook, name, value, signature, index)
        elif entry.signature != signature:
            raise MisconfigurationException(
                f"You called `self.log({name}, ...)` twice in `{hook}` with different arguments. This is not allowed"
            )
        if isinstance(value, Tensor):
            if not entry.enable_graph and value.requires_grad:
                value = value.detach()
            if value.ndim != 0:
                if value.numel() != 1:
                    raise ValueError(
                        f"`self.log({name}, {value})` was called, but the tensor must have a single element."
                        f" You can try doing `self.log({name}, {value}.mean())`"
                    )
                value = value.squeeze()
        elif not isinstance(value, numbers.Number) and entry.metric is None:
            self._check_type(name, value)
        entry.update(value, results.weight_of(entry, batch_size) if entry.on_epoch else 1)
        self._stale = True

    def _refuse(self, results: Results | None) -> None:
        if self.trainer.barebones:
            rank_zero_warn(
                "You are trying to `self.log()` but `Trainer(barebones=True)` is configured."
                " Logging can impact raw speed so it is disabled under this setting."
            )
            return
        if results is None:
            raise MisconfigurationException(
                "You are trying to `self.log()` but the loop's result collection is not registered yet. This is most"
                " likely because you are trying to log in a `predict` hook, but it doesn't support logging"
            )
        raise MisconfigurationException(
            "You are trying to `self.log()` but it is not managed by the `Trainer` control flow"
        )

    @staticmethod
    def _check_type(name: str, value: Any) -> None:
        if isinstance(value, Mapping):
            raise ValueError(
                f"`self.log({name}, {value})` was called, but dictionaries cannot be logged: use `log_dict`"
            )
        if not isinstance(value, (numbers.Number, Metric, Tensor)):
            raise ValueError(
                f"`self.log({name}, {value})` was called, but `{type(value).__name__}` values cannot be logged"
            )

    def _new_entry(
        self,
        module: Any,
        results: Results,
        hook: str,
        name: str,
        value: Any,
        signature: tuple[Any, ...],
        index: int | None,
    ) -> Entry:
        _, logger, on_step, on_epoch, _, _, sync_dist, group, add_dataloader_idx, attribute, rank_zero_only = signature
        self._check_type(name, value)
        on_step, on_epoch = levels(hook, on_step, on_epoch)
        if add_dataloader_idx and "/dataloader_idx_" in name:
            raise MisconfigurationException(
                f"You called `self.log` with the key `{name}` but it should not contain information about"
                " `dataloader_idx` when `add_dataloader_idx=True`"
            )
        if logger and not self.trainer.loggers:
            rank_zero_warn(
                f"You called `self.log({name!r}, ..., logger=True)` but have no logger configured. You can enable one"
                " by doing `Trainer(logger=ALogger(...))`"
            )
        metric = value if isinstance(value, Metric) else None
        if metric is not None and attribute is None:
            self._check_attribute(module, name, metric)
        sync = None
        strategy = self.trainer.strategy
        if sync_dist and not rank_zero_only and strategy.world_size > 1:

            def sync(tensor: Tensor, op: str) -> Tensor:
                return strategy.reduce(tensor.clone(), group=group, reduce_op=op)

        entry = Entry(hook, name, signature, on_step, on_epoch, results.dataloader_idx, metric, sync)
        results.add((hook, name, index), entry)
        return entry

    @staticmethod
    def _check_attribute(module: Any, name: str, metric: Metric) -> None:
        known = {id(child): path for path, child in module.named_modules() if isinstance(child, Metric)}
        if id(metric) in known:
            return
        hint = (
            f" You can fix this by calling `self.log({name}, ..., metric_attribute=name)` where `name` is one of"
            f" {list(known.values())}"
            if known
            else " You can fix this by setting an attribute for the metric in your `LightningModule`."
        )
        raise MisconfigurationException("Could not find the `LightningModule` attribute for the metric logged." + hint)

    # --- the rhythm of batches and epochs --------------------------------------------------------------------------

    def batch_start(self, results: Results, batch: Any, dataloader_idx: int | None = None) -> None:
        """A batch begins."""
        self.in_batch = True
        results.batch = batch
        results.batch_size = None
        results.dataloader_idx = dataloader_idx

    def batch_end(self, results: Results) -> None:
        """A batch has ended; keep no reference to it."""
        results.batch = None
        results.batch_size = None

    def epoch_end_reached(self) -> None:
        """From here on values of the epoch count, not those of the step."""
        self.settle()
        self.in_batch = False
        self._stale = True

    def settle(self) -> None:
        """Write the current values into the dictionaries."""
        if self._stale and self.results is not None:
            self.results.collect(self.in_batch, self._callback, self._logged, self._progress_bar)
            self._stale = False

    def current_log(self) -> dict[str, Any]:
        """The values to send to the loggers now."""
        log: dict[str, Any] = {}
        if self.results is not None:
            self.results.collect(self.in_batch, {}, log, {})
        return log

    def switch(self, results: Results | None, in_batch: bool = False) -> None:
        """Another loop is running."""
        self.settle()
        self.results = results
        self.in_batch = in_batch
        self._stale = True

    def reset_results(self) -> None:
        """Forget the values of the running loop's epoch."""
        self.settle()
        if self.results is not None:
            self.results.reset()
        self.in_batch = False

    def reset_metrics(self) -> None:
        """Forget every metric."""
        self._callback, self._logged, self._progress_bar = {}, {}, {}

    # --- giving values ---------------------------------------------------------------------------------------------

    @property
    def callback_metrics(self) -> dict[str, Any]:
        """What callbacks may monitor."""
        self.settle()
        return self._callback

    @property
    def logged_metrics(self) -> dict[str, Any]:
        """What was sent to the loggers."""
        self.settle()
        return self._logged

    @property
    def progress_bar_metrics(self) -> dict[str, Any]:
        """What the progress bar shows, as numbers."""
        self.settle()
        return to_scalars(self._progress_bar)

    def send(self, metrics: dict[str, Any], step: int | None = None) -> None:
        """Send metrics to the loggers: at `step`, at the value logged as ``"step"``, or at the current step."""
        if not self.trainer.loggers or not metrics:
            return
        # on every process: the values may have been reduced over all of them
        self._logged.update(metrics)
        scalars = to_scalars(metrics)
        if step is None:
            given = scalars.pop("step", None)
            if given is not None:
                step = int(given)
            else:
                scalars.setdefault("epoch", self.trainer.current_epoch)
                step = self.trainer.fit_loop.epoch_loop.batches_that_stepped
        for logger in self.trainer._writing_loggers:
            logger.log_metrics(metrics=scalars, step=step)
            logger.save()

    def send_train_step(self) -> None:
        """Send the metrics of a training step, if it is its turn."""
        trainer = self.trainer
        every = trainer.log_every_n_steps
        if not every or not trainer.loggers:
            return
        step = trainer.fit_loop.epoch_loop.batches_that_stepped + 1
        if step % every == 0 or trainer.should_stop or trainer.fast_dev_run:
            self.send(self.current_log())
