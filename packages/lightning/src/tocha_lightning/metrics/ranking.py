"""Metrics of scores at every threshold: area under the ROC curve and average precision."""

from __future__ import annotations

import tocha
from tocha import Tensor
from tocha_lightning.metrics.inputs import check_task, labels_last, probabilities
from tocha_lightning.metrics.metric import Metric


def _counts(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """True and false positives at every distinct score, from the highest down."""
    order = scores.argsort(descending=True, stable=True)
    scores, target = scores[order], target[order]
    last_of_ties = tocha.cat([scores[1:] != scores[:-1], tocha.ones(1, dtype=tocha.bool, device=scores.device)])
    true = target.double().cumsum(0)[last_of_ties]
    both = tocha.arange(1, target.numel() + 1, device=scores.device).double()[last_of_ties]
    return true, both - true


def auroc(scores: Tensor, target: Tensor) -> Tensor:
    """The area under the ROC curve of scores [N] and targets of 0 and 1 [N]; NaN where one of them is missing."""
    if not target.numel():
        return tocha.tensor(float("nan"), dtype=tocha.float64)
    true, false = _counts(scores, target)
    zero = tocha.zeros(1, dtype=tocha.float64, device=true.device)
    true, false = tocha.cat([zero, true]), tocha.cat([zero, false])
    area = ((false[1:] - false[:-1]) * (true[1:] + true[:-1])).sum() / 2
    return area / (true[-1] * false[-1])


def average_precision(scores: Tensor, target: Tensor) -> Tensor:
    """The mean of the precisions weighted by the gain in recall; NaN without a positive target."""
    if not target.numel():
        return tocha.tensor(float("nan"), dtype=tocha.float64)
    true, false = _counts(scores, target)
    before = tocha.cat([tocha.zeros(1, dtype=tocha.float64, device=true.device), true[:-1]])
    return ((true - before) * true / (true + false)).sum() / true[-1]


class _Ranking(Metric):
    """Keeps all scores and targets."""

    preds: list[Tensor]
    target: list[Tensor]

    def __init__(
        self,
        task: str,
        num_classes: int | None = None,
        num_labels: int | None = None,
        average: str | None = "macro",
        ignore_index: int | None = None,
    ) -> None:
        super().__init__()
        if average not in ("macro", "weighted", "none", None):
            raise ValueError(f"`average` has to be 'macro', 'weighted' or 'none', got {average!r}.")
        self.number = check_task(task, num_classes, num_labels)
        self.task = task
        self.average = average
        self.ignore_index = ignore_index
        self.add_state("preds", [], dist_reduce_fx="cat")
        self.add_state("target", [], dist_reduce_fx="cat")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Keep a batch: scores [N, ...] for binary, [N, C, ...] else; targets [N, ...], multilabel [N, L, ...]."""
        if self.task == "binary":
            if preds.shape != target.shape:
                raise ValueError(f"Expected equal shapes, got {tuple(preds.shape)} and {tuple(target.shape)}.")
            scores, labels = probabilities(preds).reshape(-1, 1), target.reshape(-1, 1)
        else:
            if preds.ndim < 2 or preds.shape[1] != self.number:
                raise ValueError(f"Expected scores of shape [N, {self.number}, ...], got {tuple(preds.shape)}.")
            if self.task == "multiclass":
                outside = preds.numel() and bool(((preds < 0) | (preds > 1)).any())
                scores = labels_last(preds.softmax(1) if outside else preds)
                labels = target.reshape(-1, 1)
            else:
                scores, labels = labels_last(probabilities(preds)), labels_last(target)
        if scores.shape[0] != labels.shape[0]:
            raise ValueError(f"Got {scores.shape[0]} predictions for {labels.shape[0]} targets.")
        self.preds.append(scores.detach())
        self.target.append(labels.detach())

    def _curve_value(self, scores: Tensor, target: Tensor) -> Tensor:
        raise NotImplementedError

    def _reduced(self) -> Tensor:
        scores, target = tocha.cat(self.preds), tocha.cat(self.target)
        values, supports = [], []
        for i in range(self.number):
            own_target = target[:, 0] if self.task != "multilabel" else target[:, i]
            keep = own_target != self.ignore_index if self.ignore_index is not None else None
            own_scores = scores[:, i]
            if keep is not None:
                own_scores, own_target = own_scores[keep], own_target[keep]
            positive = own_target == (i if self.task == "multiclass" else 1)
            values.append(self._curve_value(own_scores, positive))
            supports.append(positive.sum())
        if self.task == "binary":
            return values[0].float()
        value, support = tocha.stack(values).float(), tocha.stack(supports).float()
        if self.average in ("none", None):
            return value
        known = ~tocha.isnan(value)
        value, support = value[known], support[known]
        if self.average == "weighted":
            return (value * support).sum() / support.sum()
        return value.mean()


class AUROC(_Ranking):
    """The area under the ROC curve: how likely a positive sample scores above a negative one.

    Args:
        task: ``"binary"``, ``"multiclass"`` (each class against the rest) or ``"multilabel"``.
        num_classes: the number of classes.
        num_labels: the number of labels.
        average: ``"macro"``, ``"weighted"`` by the number of targets, or ``"none"``.
        ignore_index: targets of this value do not count.

    All scores are kept until `reset`. Classes without both kinds of targets are NaN, and not part of an average.

    >>> roc = AUROC("binary")
    >>> roc(tocha.tensor([0.1, 0.4, 0.35, 0.8]), tocha.tensor([0, 0, 1, 1]))
    tensor(0.7500)
    """

    def compute(self) -> Tensor:
        """The area."""
        return self._reduced()

    def _curve_value(self, scores: Tensor, target: Tensor) -> Tensor:
        return auroc(scores, target)


class AveragePrecision(_Ranking):
    """The area under the precision-recall curve, without interpolation. Arguments of `AUROC`.

    >>> precision = AveragePrecision("binary")
    >>> precision(tocha.tensor([0.1, 0.4, 0.35, 0.8]), tocha.tensor([0, 0, 1, 1]))
    tensor(0.8333)
    """

    def compute(self) -> Tensor:
        """The area."""
        return self._reduced()

    def _curve_value(self, scores: Tensor, target: Tensor) -> Tensor:
        return average_precision(scores, target)
