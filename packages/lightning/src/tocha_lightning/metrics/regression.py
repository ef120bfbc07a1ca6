"""Metrics of numbers, and plain means and sums."""

from __future__ import annotations

from typing import Any

import tocha
from tocha import Tensor
from tocha_lightning.metrics.metric import Metric


def _checked(preds: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    if preds.shape != target.shape:
        raise ValueError(f"Expected equal shapes, got {tuple(preds.shape)} and {tuple(target.shape)}.")
    return preds.double(), target.double()


class MeanSquaredError(Metric):
    """The mean of the squared errors, or its root.

    Args:
        squared: False gives the root.

    >>> error = MeanSquaredError()
    >>> error(tocha.tensor([1.0, 2.0]), tocha.tensor([1.0, 4.0]))
    tensor(2.)
    """

    sum_squared_error: Tensor
    total: Tensor

    def __init__(self, squared: bool = True) -> None:
        super().__init__()
        self.squared = squared
        self.add_state("sum_squared_error", tocha.tensor(0.0, dtype=tocha.float64), dist_reduce_fx="sum")
        self.add_state("total", tocha.tensor(0), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Take predictions and targets of the same shape."""
        preds, target = _checked(preds, target)
        self.sum_squared_error = self.sum_squared_error + ((preds - target) ** 2).sum()
        self.total = self.total + target.numel()

    def compute(self) -> Tensor:
        """The error."""
        mean = (self.sum_squared_error / self.total).float()
        return mean if self.squared else mean.sqrt()


class MeanAbsoluteError(Metric):
    """The mean of the absolute errors."""

    sum_abs_error: Tensor
    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("sum_abs_error", tocha.tensor(0.0, dtype=tocha.float64), dist_reduce_fx="sum")
        self.add_state("total", tocha.tensor(0), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Take predictions and targets of the same shape."""
        preds, target = _checked(preds, target)
        self.sum_abs_error = self.sum_abs_error + (preds - target).abs().sum()
        self.total = self.total + target.numel()

    def compute(self) -> Tensor:
        """The error."""
        return (self.sum_abs_error / self.total).float()


class R2Score(Metric):
    """The coefficient of determination: the share of the targets' variance that the predictions explain.

    Args:
        num_outputs: the number of columns of predictions [N, num_outputs].
        multioutput: ``"uniform_average"``, ``"variance_weighted"`` or ``"raw_values"`` of the columns.

    `compute` raises ValueError with fewer than two samples.
    """

    sum_target: Tensor
    sum_squared_target: Tensor
    residual: Tensor
    total: Tensor

    def __init__(self, num_outputs: int = 1, multioutput: str = "uniform_average") -> None:
        super().__init__()
        if multioutput not in ("uniform_average", "variance_weighted", "raw_values"):
            raise ValueError(f"`multioutput` has to be one of 'uniform_average', ..., got {multioutput!r}.")
        self.num_outputs = num_outputs
        self.multioutput = multioutput
        for name in ("sum_target", "sum_squared_target", "residual"):
            self.add_state(name, tocha.zeros(num_outputs, dtype=tocha.float64), dist_reduce_fx="sum")
        self.add_state("total", tocha.tensor(0), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Take predictions and targets of shape [N] or [N, num_outputs]."""
        preds, target = _checked(preds, target)
        preds, target = preds.reshape(-1, self.num_outputs), target.reshape(-1, self.num_outputs)
        self.sum_target = self.sum_target + target.sum(0)
        self.sum_squared_target = self.sum_squared_target + (target**2).sum(0)
        self.residual = self.residual + ((target - preds) ** 2).sum(0)
        self.total = self.total + target.shape[0]

    def compute(self) -> Tensor:
        """The coefficient; 0 for a constant target unless the predictions are right, then 1."""
        if int(self.total) < 2:
            raise ValueError("Needs at least two samples to calculate r2 score.")
        variance = self.sum_squared_target - self.sum_target**2 / self.total
        constant = variance.abs() < 1e-12
        ratio = self.residual / tocha.where(constant, tocha.ones_like(variance), variance)
        raw = tocha.where(constant, (self.residual < 1e-12).double(), 1 - ratio)
        if self.multioutput == "raw_values":
            return raw.float()
        if self.multioutput == "variance_weighted":
            return ((raw * variance).sum() / variance.sum()).float()
        return raw.mean().float()


class MeanMetric(Metric):
    """The mean of everything given, with optional weights.

    >>> mean = MeanMetric()
    >>> mean.update(1.0)
    >>> mean.update(tocha.tensor([4.0, 4.0]), weight=2)
    >>> mean.compute()
    tensor(3.4000)
    """

    mean_value: Tensor
    weight: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("mean_value", tocha.tensor(0.0, dtype=tocha.float64), dist_reduce_fx="sum")
        self.add_state("weight", tocha.tensor(0.0, dtype=tocha.float64), dist_reduce_fx="sum")

    def update(self, value: Any, weight: Any = 1.0) -> None:
        """Take numbers and their weights."""
        value = tocha.as_tensor(value).double()
        weight = tocha.as_tensor(weight, device=value.device).double().expand(value.shape)
        self.mean_value = self.mean_value + (value * weight).sum()
        self.weight = self.weight + weight.sum()

    def compute(self) -> Tensor:
        """The mean."""
        return (self.mean_value / self.weight).float()


class SumMetric(Metric):
    """The sum of everything given."""

    sum_value: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("sum_value", tocha.tensor(0.0, dtype=tocha.float64), dist_reduce_fx="sum")

    def update(self, value: Any) -> None:
        """Take numbers."""
        self.sum_value = self.sum_value + tocha.as_tensor(value).double().sum()

    def compute(self) -> Tensor:
        """The sum."""
        return self.sum_value.float()
