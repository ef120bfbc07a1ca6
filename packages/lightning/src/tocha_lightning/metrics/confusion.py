"""Confusion matrix and intersection over union."""

from __future__ import annotations

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


class ConfusionMatrix(Metric):
    """How often each class was taken for each: rows are targets, columns predictions.

    Args:
        task: ``"binary"``, ``"multiclass"`` or ``"multilabel"``.
        threshold: scores above it count as 1 (binary and multilabel).
        num_classes: the number of classes.
        num_labels: the number of labels.
        normalize: None for counts; ``"true"``: rows sum to 1; ``"pred"``: columns do; ``"all"``: everything does.
        ignore_index: targets of this value do not count.

    Shape: [C, C]; binary [2, 2]; multilabel [L, 2, 2].

    Raises:
        ValueError: arguments, shapes or labels that cannot be.

    >>> matrix = ConfusionMatrix("multiclass", num_classes=2)
    >>> matrix(tocha.tensor([0, 1, 1]), tocha.tensor([0, 0, 1]))
    tensor([[1, 1],
            [0, 1]])
    """

    confmat: Tensor

    def __init__(
        self,
        task: str,
        threshold: float = 0.5,
        num_classes: int | None = None,
        num_labels: int | None = None,
        normalize: str | None = None,
        ignore_index: int | None = None,
    ) -> None:
        super().__init__()
        if normalize not in (None, "none", "true", "pred", "all"):
            raise ValueError(f"`normalize` has to be 'true', 'pred', 'all' or None, got {normalize!r}.")
        self.number = check_task(task, num_classes, num_labels)
        self.task = task
        self.threshold = threshold
        self.normalize = normalize
        self.ignore_index = ignore_index
        size = self.number if task == "multiclass" else 2
        shape = (self.number, 2, 2) if task == "multilabel" else (size, size)
        self.add_state("confmat", tocha.zeros(shape, dtype=tocha.int64), dist_reduce_fx="sum")

    def _matrix(self, labels: Tensor, target: Tensor, size: int) -> Tensor:
        if self.ignore_index is not None:
            keep = target != self.ignore_index
            labels, target = labels[keep], target[keep]
        check_labels(target, size, "target")
        check_labels(labels, size, "preds")
        return tocha.bincount(target * size + labels, minlength=size * size).reshape(size, size)

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch; inputs as in `StatScores`."""
        if self.task == "multiclass":
            new = self._matrix(*multiclass_labels(preds, target, self.number), self.number)
        elif self.task == "binary":
            new = self._matrix(*binary_labels(preds, target, self.threshold), 2)
        else:
            labels, target = multilabel_labels(preds, target, self.number, self.threshold)
            new = tocha.stack([self._matrix(labels[:, i], target[:, i], 2) for i in range(self.number)])
        self.confmat = self.confmat + new

    def compute(self) -> Tensor:
        """The matrix."""
        counts = self.confmat
        if self.normalize in (None, "none"):
            return counts
        if self.normalize == "all":
            total = counts.sum((-2, -1), keepdim=True)
        else:
            total = counts.sum(-1 if self.normalize == "true" else -2, keepdim=True)
        return divide(counts, total.expand(counts.shape))


class JaccardIndex(ConfusionMatrix):
    """Intersection over union of predictions and targets.

    Args:
        average: as in `StatScores`; the default is the mean over the classes that occur.

    The other arguments and the inputs are those of `ConfusionMatrix`, without `normalize`.

    >>> iou = JaccardIndex("multiclass", num_classes=2)
    >>> iou(tocha.tensor([0, 1, 1]), tocha.tensor([0, 0, 1]))
    tensor(0.5000)
    """

    def __init__(
        self,
        task: str,
        threshold: float = 0.5,
        num_classes: int | None = None,
        num_labels: int | None = None,
        ignore_index: int | None = None,
        average: str | None = "macro",
    ) -> None:
        super().__init__(task, threshold, num_classes, num_labels, None, ignore_index)
        check_average(average)
        self.average = average

    def compute(self) -> Tensor:
        """The index."""
        counts = self.confmat
        if self.task == "multiclass":
            both = counts.diagonal()
            actual, either = counts.sum(1), counts.sum(1) + counts.sum(0) - both
        else:
            both = counts[..., 1, 1]
            actual, either = counts[..., 1, :].sum(-1), counts.sum((-2, -1)) - counts[..., 0, 0]
        if self.task == "binary":
            return divide(both, either)
        if self.average == "micro":
            return divide(both.sum(), either.sum())
        seen = either > 0 if self.task == "multiclass" else tocha.ones_like(either)
        return averaged(divide(both, either), self.average, actual, seen)
