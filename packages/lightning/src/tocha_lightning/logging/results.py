"""What a loop has logged: one entry for each name and hook, its last value and its accumulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tocha
from tocha import Tensor
from tocha_lightning.metrics.metric import Metric
from tocha_lightning.utilities.collections import extract_batch_size
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.rank_zero import WarningCache

DATALOADER_SUFFIX = "/dataloader_idx_{}"
_warnings = WarningCache()


def _reduction(reduce_fx: str | Callable[[Any], Any]) -> str:
    name = reduce_fx.lower() if isinstance(reduce_fx, str) else getattr(reduce_fx, "__name__", None)
    known = {"mean": "mean", "avg": "mean", "sum": "sum", "min": "min", "max": "max"}
    if name not in known or (callable(reduce_fx) and reduce_fx not in (getattr(tocha, name), sum, min, max)):
        raise MisconfigurationException(
            "Only `self.log(..., reduce_fx={min,max,mean,sum})` are supported. If you need a custom reduction, please"
            f" log a `tocha_lightning.metrics.Metric` instance instead. Found: {reduce_fx}"
        )
    return known[name]


class Entry:
    """One logged value of one hook."""

    __slots__ = (
        "add_dataloader_idx",
        "bare_name",
        "batch_weighted",
        "computed",
        "dataloader_idx",
        "enable_graph",
        "epoch_name",
        "fresh",
        "hook",
        "logger",
        "metric",
        "name",
        "on_epoch",
        "on_step",
        "prog_bar",
        "reduce",
        "signature",
        "step_name",
        "step_value",
        "sync",
        "value",
        "weight",
    )

    def __init__(
        self,
        hook: str,
        name: str,
        signature: tuple[Any, ...],
        on_step: bool,
        on_epoch: bool,
        dataloader_idx: int | None,
        metric: Metric | None,
        sync: Callable[[Tensor, str], Tensor] | None,
    ) -> None:
        prog_bar, logger, _, _, reduce_fx, enable_graph, _, _, add_dataloader_idx, _, _ = signature
        self.hook = hook
        self.bare_name = name
        self.signature: tuple[Any, ...] | None = signature
        self.prog_bar = prog_bar
        self.logger = logger is None or logger
        self.on_step = on_step
        self.on_epoch = on_epoch
        self.reduce = _reduction(reduce_fx)
        self.enable_graph = enable_graph
        self.add_dataloader_idx = add_dataloader_idx
        self.dataloader_idx = dataloader_idx
        self.metric = metric
        self.sync = sync
        suffix = DATALOADER_SUFFIX.format(dataloader_idx) if add_dataloader_idx and dataloader_idx is not None else ""
        forked = on_step and on_epoch
        self.name = name + suffix
        self.step_name = f"{name}_step{suffix}" if forked else self.name
        self.epoch_name = f"{name}_epoch{suffix}" if forked else self.name
        self.batch_weighted = metric is None and on_epoch and self.reduce == "mean"
        self._clear()

    def _clear(self) -> None:
        self.value: Any = None
        self.weight: int = 0
        self.step_value: Any = None
        self.computed: Any = None
        self.fresh = False

    def reset(self) -> None:
        """Forget all values, those of a metric object too."""
        self._clear()
        if self.metric is not None:
            self.metric.reset()

    def update(self, value: Any, batch_size: int) -> None:
        """Take the value of a step."""
        self.fresh = True
        self.computed = None
        if self.metric is not None:
            self.step_value = self.metric.forward_cache
            return
        if self.on_step:
            self.step_value = value
            if not self.on_epoch:
                return
        if type(value) is Tensor:
            if value.dtype is not tocha.float32 and value.dtype is not tocha.float64:
                value = self._as_float(value)
        elif not isinstance(value, Tensor):
            value = tocha.tensor(float(value), dtype=tocha.get_default_dtype())
        if self.reduce == "mean":
            weighted = value * batch_size
            self.value = weighted if self.value is None else self.value + weighted
            self.weight += batch_size
        elif self.value is None:
            self.value = value
        elif self.reduce == "sum":
            self.value = self.value + value
        else:
            self.value = tocha.minimum(self.value, value) if self.reduce == "min" else tocha.maximum(self.value, value)

    def _as_float(self, value: Tensor) -> Tensor:
        dtype = tocha.get_default_dtype()
        if not value.is_floating_point():
            _warnings.warn(
                f"You called `self.log({self.name!r}, ...)` in your `{self.hook}` but the value needs to be floating"
                f" to be reduced. Converting it to {dtype}. You can silence this warning by converting the value to"
                " floating point yourself. If you don't intend to reduce the value (for instance when logging the"
                " global step or epoch) then you can use"
                f" `self.logger.log_metrics({{{self.name!r}: ...}})` instead."
            )
        return value.to(dtype)

    def of_step(self) -> Any:
        """The value of the last step, as a tensor."""
        value = self.step_value
        if value is None:
            return None
        if not isinstance(value, Tensor):
            value = tocha.tensor(float(value), dtype=tocha.get_default_dtype())
        elif self.metric is None and not (value.dtype is tocha.float32 or value.dtype is tocha.float64):
            value = self._as_float(value)
        self.step_value = value
        return self._synced(value)

    def of_epoch(self) -> Any:
        """The value of the epoch so far, as a tensor."""
        if self.computed is None:
            if self.metric is not None:
                self.computed = self._checked(self.metric.compute())
            elif self.value is None:
                return None
            elif self.reduce == "mean":
                weight = tocha.tensor(self.weight, device=self.value.device)
                self.computed = self._synced(self.value, "sum") / self._synced(weight, "sum")
            else:
                self.computed = self._synced(self.value)
        return self.computed if self.enable_graph else self.computed.detach()

    def _checked(self, value: Any) -> Tensor:
        if not isinstance(value, Tensor):
            raise ValueError(
                f"The `.compute()` return of the metric logged as {self.name!r} must be a tensor. Found {value}"
            )
        return value

    def _synced(self, value: Tensor, op: str | None = None) -> Tensor:
        return value if self.sync is None else self.sync(value, op or self.reduce)

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps of an unfinished epoch."""
        return {
            "hook": self.hook,
            "name": self.bare_name,
            "dataloader_idx": self.dataloader_idx,
            "arguments": [
                self.prog_bar,
                self.logger,
                self.on_step,
                self.on_epoch,
                self.reduce,
                self.add_dataloader_idx,
            ],
            "value": self.value,
            "weight": self.weight,
            "step_value": self.step_value,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Entry:
        """An entry of a checkpoint; it stands until its value is logged again."""
        prog_bar, logger, on_step, on_epoch, reduce, add_dataloader_idx = state["arguments"]
        signature = (prog_bar, logger, on_step, on_epoch, reduce, False, False, None, add_dataloader_idx, None, False)
        entry = cls(state["hook"], state["name"], signature, on_step, on_epoch, state["dataloader_idx"], None, None)
        entry.signature = None
        entry.take_up(state["value"], state["weight"], state["step_value"])
        return entry

    def take_up(self, value: Any, weight: int, step_value: Any) -> None:
        """Go on from these values."""
        self.value, self.weight, self.step_value = value, weight, step_value
        self.computed, self.fresh = None, True


class Results:
    """Everything that one loop has logged since its epoch began."""

    def __init__(self, training: bool) -> None:
        self.training = training
        self.entries: dict[tuple[str, str, int | None], Entry] = {}
        self.batch: Any = None
        self.batch_size: int | None = None
        self.dataloader_idx: int | None = None

    def weight_of(self, entry: Entry, batch_size: int | None) -> int:
        """The weight of a step in the epoch's mean."""
        if batch_size is not None:
            return batch_size
        if self.batch_size is not None:
            return self.batch_size
        if self.batch is None or not entry.batch_weighted:
            return 1
        self.batch_size = extract_batch_size(self.batch)
        return self.batch_size

    def add(self, key: tuple[str, str, int | None], entry: Entry) -> None:
        """Register a new entry; it goes on from one of the same key that came from a checkpoint."""
        saved = self.entries.get(key)
        self.entries[key] = entry
        if saved is not None and saved.fresh and entry.metric is None:
            entry.take_up(saved.value, saved.weight, saved.step_value)

    def collect(
        self, on_step: bool, callback: dict[str, Any], log: dict[str, Any], progress_bar: dict[str, Any]
    ) -> None:
        """Write the current values of the step or the epoch into the three dictionaries."""
        dataloader_idx = self.dataloader_idx
        for entry in self.entries.values():
            if not entry.fresh or entry.dataloader_idx != dataloader_idx:
                continue
            if on_step:
                value = entry.of_step() if entry.on_step else None
                name = entry.step_name
            else:
                value = entry.of_epoch() if entry.on_epoch else None
                name = entry.epoch_name
            if value is None:
                continue
            if entry.logger:
                log[name] = value
            if self.training or (entry.on_epoch and not on_step):
                callback[entry.name] = value
                callback[name] = value
            if entry.prog_bar:
                progress_bar[name] = value

    def reset(self) -> None:
        """Forget the values of the epoch, keep the entries."""
        for entry in self.entries.values():
            entry.reset()

    def state_dict(self) -> list[dict[str, Any]]:
        """The values of an unfinished epoch. Metric objects keep their own state."""
        return [entry.state() for entry in self.entries.values() if entry.fresh and entry.metric is None]

    def load_state_dict(self, states: list[dict[str, Any]]) -> None:
        """Take up the values of an unfinished epoch."""
        for state in states:
            entry = Entry.from_state(state)
            index = entry.dataloader_idx if entry.add_dataloader_idx else None
            self.entries[(entry.hook, entry.bare_name, index)] = entry
