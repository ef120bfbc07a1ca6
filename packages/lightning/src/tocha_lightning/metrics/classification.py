"""Metrics of right and wrong decisions: accuracy, precision, recall, F scores, specificity, Dice."""

from __future__ import annotations

from typing import Any

import tocha
from tocha import Tensor
from tocha_lightning.metrics.inputs import (
    averaged,
    binary_labels,
    check_average,
    check_labels,
    check_task,
    divide,
    multiclass_labels,
    multilabel_labels,
)
from tocha_lightning.metrics.metric import Metric


class StatScores(Metric):
    """Counts of true and false positives and negatives of every class.

    Args:
        task: ``"binary"``, ``"multiclass"`` or ``"multilabel"``.
        threshold: scores above it count as 1 (binary and multilabel).
        num_classes: the number of classes.
        num_labels: the number of labels.
        average: ``"micro"`` counts all decisions alike, ``"macro"`` is the mean over the classes that occur,
            ``"weighted"`` weighs them by their targets, ``"none"`` gives a value for each.
        ignore_index: targets of this value do not count.

    `update` takes ``preds`` and ``target``. Multiclass: labels [N, ...], or scores [N, C, ...]; binary: labels or
    scores [N, ...]; multilabel: labels or scores [N, L, ...]. Scores outside of 0 to 1 are taken for logits.

    Raises:
        ValueError: arguments, shapes or labels that cannot be.

    >>> scores = StatScores("multiclass", num_classes=2, average="none")
    >>> scores.update(tocha.tensor([0, 1, 1]), tocha.tensor([0, 0, 1]))
    >>> scores.compute()  # a row for each class: tp, fp, tn, fn, support
    tensor([[1, 0, 1, 1, 2],
            [1, 1, 1, 0, 1]])
    """

    tp: Tensor
    fp: Tensor
    tn: Tensor
    fn: Tensor

    def __init__(
        self,
        task: str,
        threshold: float = 0.5,
        num_classes: int | None = None,
        num_labels: int | None = None,
        average: str | None = "micro",
        ignore_index: int | None = None,
    ) -> None:
        super().__init__()
        self.number = check_task(task, num_classes, num_labels)
        check_average(average)
        self.task = task
        self.threshold = threshold
        self.average = average
        self.ignore_index = ignore_index
        for name in ("tp", "fp", "tn", "fn"):
            self.add_state(name, tocha.zeros(self.number, dtype=tocha.int64), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch."""
        if self.task == "multiclass":
            counts = self._count_multiclass(preds, target)
        else:
            counts = self._count_labels(preds, target)
        self.tp, self.fp, self.tn, self.fn = (
            total + new for total, new in zip((self.tp, self.fp, self.tn, self.fn), counts, strict=True)
        )

    def _count_multiclass(self, preds: Tensor, target: Tensor) -> tuple[Tensor, ...]:
        labels, target = multiclass_labels(preds, target, self.number)
        if self.ignore_index is not None:
            keep = target != self.ignore_index
            labels, target = labels[keep], target[keep]
        check_labels(target, self.number, "target")
        check_labels(labels, self.number, "preds")
        tp = tocha.bincount(target[labels == target], minlength=self.number)
        predicted = tocha.bincount(labels, minlength=self.number)
        actual = tocha.bincount(target, minlength=self.number)
        return tp, predicted - tp, target.numel() - predicted - actual + tp, actual - tp

    def _count_labels(self, preds: Tensor, target: Tensor) -> tuple[Tensor, ...]:
        if self.task == "binary":
            labels, target = binary_labels(preds, target, self.threshold)
            labels, target = labels[:, None], target[:, None]
        else:
            labels, target = multilabel_labels(preds, target, self.number, self.threshold)
        keep = tocha.ones_like(target) if self.ignore_index is None else (target != self.ignore_index).long()
        check_labels(target * keep, 2, "target")
        yes, no = (labels == 1).long(), (labels == 0).long()
        true, false = (target == 1).long() * keep, (target == 0).long() * keep
        return (yes * true).sum(0), (yes * false).sum(0), (no * false).sum(0), (no * true).sum(0)

    def compute(self) -> Tensor:
        """[tp, fp, tn, fn, support] of all classes together or, with ``average="none"``, of each."""
        table = tocha.stack([self.tp, self.fp, self.tn, self.fn, self.tp + self.fn], -1)
        if self.task == "binary":
            return table[0]
        return table if self.average in ("none", None) else table.sum(0)

    def _value(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        raise NotImplementedError

    def _reduced(self) -> Tensor:
        tp, fp, tn, fn = self.tp, self.fp, self.tn, self.fn
        if self.task == "binary":
            return self._value(tp, fp, tn, fn)[0]
        if self.average == "micro":
            return self._value(tp.sum(), fp.sum(), tn.sum(), fn.sum())
        seen = tp + fp + fn > 0 if self.task == "multiclass" else tocha.ones_like(tp)
        return averaged(self._value(tp, fp, tn, fn), self.average, tp + fn, seen)


class Accuracy(StatScores):
    """The share of right decisions; of the classes' targets with ``average`` other than ``"micro"``.

    Args:
        top_k: a decision is right if the target is among so many of the highest scores (multiclass).

    The other arguments and the inputs are those of `StatScores`.

    >>> accuracy = Accuracy("multiclass", num_classes=3)
    >>> accuracy(tocha.tensor([0, 2, 1]), tocha.tensor([0, 1, 1]))
    tensor(0.6667)
    """

    def __init__(
        self,
        task: str,
        threshold: float = 0.5,
        num_classes: int | None = None,
        num_labels: int | None = None,
        average: str | None = "micro",
        top_k: int = 1,
        ignore_index: int | None = None,
    ) -> None:
        super().__init__(task, threshold, num_classes, num_labels, average, ignore_index)
        if not 1 <= top_k <= max(self.number, 1):
            raise ValueError(f"`top_k` has to be from 1 to the number of classes, got {top_k}.")
        self.top_k = top_k

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch."""
        if self.top_k > 1 and self.task == "multiclass":
            if preds.ndim != target.ndim + 1:
                raise ValueError("`top_k` needs scores [N, C, ...], not labels.")
            best = preds.topk(self.top_k, 1).indices
            target = target.long()
            among = (best == target.unsqueeze(1)).any(1)
            preds = tocha.where(among, target, best[:, 0])
        super().update(preds, target)

    def compute(self) -> Tensor:
        """The accuracy."""
        return self._reduced()

    def _value(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        if self.task == "multiclass":
            return divide(tp, tp + fn)
        return divide(tp + tn, tp + fp + tn + fn)


class Precision(StatScores):
    """The share of positive predictions that are right. Arguments and inputs of `StatScores`."""

    def compute(self) -> Tensor:
        """The precision."""
        return self._reduced()

    def _value(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        return divide(tp, tp + fp)


class Recall(StatScores):
    """The share of positive targets that were found. Arguments and inputs of `StatScores`."""

    def compute(self) -> Tensor:
        """The recall."""
        return self._reduced()

    def _value(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        return divide(tp, tp + fn)


class Specificity(StatScores):
    """The share of negative targets that were recognised. Arguments and inputs of `StatScores`."""

    def compute(self) -> Tensor:
        """The specificity."""
        return self._reduced()

    def _value(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        return divide(tn, tn + fp)


class FBetaScore(StatScores):
    """The weighted harmonic mean of precision and recall.

    Args:
        beta: how many times as important recall is.

    The other arguments and the inputs are those of `StatScores`.
    """

    def __init__(self, task: str, beta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(task, **kwargs)
        if beta <= 0:
            raise ValueError(f"`beta` has to be positive, got {beta}.")
        self.beta = beta

    def compute(self) -> Tensor:
        """The score."""
        return self._reduced()

    def _value(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        square = self.beta**2
        return divide((1 + square) * tp, (1 + square) * tp + square * fn + fp)


class F1Score(FBetaScore):
    """The harmonic mean of precision and recall. Arguments and inputs of `StatScores`.

    >>> f1 = F1Score("binary")
    >>> f1(tocha.tensor([0.9, 0.2, 0.8]), tocha.tensor([1, 1, 0]))
    tensor(0.5000)
    """

    def __init__(self, task: str, **kwargs: Any) -> None:
        super().__init__(task, beta=1.0, **kwargs)


class DiceScore(StatScores):
    """Twice the overlap of two segmentations over the sum of their sizes.

    Args:
        num_classes: the number of classes.
        include_background: count class 0 too.
        average: as in `StatScores`.

    `update` takes labels [N, ...] or scores [N, C, ...], and target labels [N, ...].
    """

    def __init__(self, num_classes: int, include_background: bool = True, average: str | None = "micro") -> None:
        super().__init__("multiclass", num_classes=num_classes, average=average)
        self.include_background = include_background

    def compute(self) -> Tensor:
        """The score."""
        first = 0 if self.include_background else 1
        tp, fp, fn = self.tp[first:], self.fp[first:], self.fn[first:]
        if self.average == "micro":
            return self._value(tp.sum(), fp.sum(), tp, fn.sum())
        return averaged(self._value(tp, fp, tp, fn), self.average, tp + fn, tp + fp + fn > 0)

    def _value(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        return divide(2 * tp, 2 * tp + fp + fn)
