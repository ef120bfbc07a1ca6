"""Several metrics at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tocha import nn
from tocha_lightning.metrics.metric import Metric


class MetricCollection(nn.ModuleDict):
    """Metrics that take the same inputs.

    Args:
        metrics: a metric, a sequence of them (named by their classes) or a dictionary.
        additional_metrics: more of them.
        prefix: put before every name.
        postfix: put after every name.

    Raises:
        ValueError: something that is no metric, or two of the same name.

    >>> import tocha
    >>> from tocha_lightning.metrics import MeanAbsoluteError, MeanSquaredError
    >>> both = MetricCollection([MeanAbsoluteError(), MeanSquaredError()], prefix="val/")
    >>> both(tocha.tensor([1.0]), tocha.tensor([3.0]))
    {'val/MeanAbsoluteError': tensor(2.), 'val/MeanSquaredError': tensor(4.)}
    """

    def __init__(
        self,
        metrics: Metric | Sequence[Metric] | Mapping[str, Metric],
        *additional_metrics: Metric,
        prefix: str | None = None,
        postfix: str | None = None,
    ) -> None:
        super().__init__()
        self.prefix = prefix or ""
        self.postfix = postfix or ""
        if isinstance(metrics, Mapping):
            named = list(metrics.items())
        else:
            given = [metrics] if isinstance(metrics, Metric) else list(metrics)
            named = [(type(metric).__name__, metric) for metric in [*given, *additional_metrics]]
        for name, metric in named:
            if not isinstance(metric, Metric):
                raise ValueError(f"Value {metric} belonging to key {name} is not an instance of `Metric`")
            if name in self:
                raise ValueError(f"Encountered two metrics both named {name}")
            self[name] = metric

    def _name(self, name: str) -> str:
        return f"{self.prefix}{name}{self.postfix}"

    def _metrics(self) -> Iterator[tuple[str, Any]]:
        return iter((self._name(name), metric) for name, metric in super().items())

    def items(self) -> Any:
        """The metrics by their whole names, so that ``log_dict`` takes a collection."""
        return list(self._metrics())

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Give a batch to every metric."""
        for _, metric in self._metrics():
            metric.update(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Give a batch to every metric. Returns the values of that batch."""
        return {name: metric(*args, **kwargs) for name, metric in self._metrics()}

    def compute(self) -> dict[str, Any]:
        """The values of all metrics."""
        return {name: metric.compute() for name, metric in self._metrics()}

    def reset(self) -> None:
        """Forget everything."""
        for _, metric in self._metrics():
            metric.reset()

    def persistent(self, mode: bool = True) -> None:
        """Keep all states in `state_dict`, or none of them."""
        for _, metric in self._metrics():
            metric.persistent(mode)

    def clone(self, prefix: str | None = None, postfix: str | None = None) -> MetricCollection:
        """A copy with its own states, under other names."""
        copies = {name: metric.clone() for name, metric in super().items()}
        return MetricCollection(copies, prefix=prefix or self.prefix, postfix=postfix or self.postfix)
