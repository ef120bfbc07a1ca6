"""Predictions in every accepted form as labels."""

from __future__ import annotations

from typing import Any

import tocha
from tocha import Tensor

TASKS = ("binary", "multiclass", "multilabel")


def check_task(task: str, num_classes: int | None, num_labels: int | None) -> int:
    """The number of classes or labels of a task.

    Raises:
        ValueError: an unknown task, or a number that is missing.
    """
    if task not in TASKS:
        raise ValueError(f"`task` has to be one of {TASKS}, got {task!r}.")
    if task == "binary":
        return 1
    number, name = (num_classes, "num_classes") if task == "multiclass" else (num_labels, "num_labels")
    if not isinstance(number, int) or number < 1:
        raise ValueError(f"`task={task!r}` needs `{name}`, a positive number; got {number!r}.")
    return number


def check_average(average: Any) -> None:
    """Raise ValueError for an unknown average."""
    if average not in ("micro", "macro", "weighted", "none", None):
        raise ValueError(f"`average` has to be 'micro', 'macro', 'weighted' or 'none', got {average!r}.")


def probabilities(preds: Tensor) -> Tensor:
    """Scores of 0 to 1; anything outside means that these are logits."""
    if not preds.is_floating_point():
        raise ValueError(f"Expected floating-point scores, got {preds.dtype}.")
    if preds.numel() and bool(((preds < 0) | (preds > 1)).any()):
        return preds.sigmoid()
    return preds


def _same_shape(preds: Tensor, target: Tensor) -> None:
    if preds.shape != target.shape:
        raise ValueError(
            f"Expected `preds` and `target` to have the same shape, got {tuple(preds.shape)} and {tuple(target.shape)}."
        )


def multiclass_labels(preds: Tensor, target: Tensor, num_classes: int) -> tuple[Tensor, Tensor]:
    """Labels of shape [N]: scores [N, C, ...] give the index of the largest.

    Raises:
        ValueError: shapes or labels that cannot be.
    """
    if preds.is_floating_point():
        if preds.ndim != target.ndim + 1 or preds.shape[1] != num_classes:
            raise ValueError(
                f"Expected scores of shape [N, {num_classes}, ...] for targets of shape [N, ...], got"
                f" {tuple(preds.shape)} and {tuple(target.shape)}."
            )
        preds = preds.argmax(1)
    _same_shape(preds, target)
    return preds.reshape(-1).long(), target.reshape(-1).long()


def check_labels(labels: Tensor, num_classes: int, name: str) -> None:
    """Raise ValueError for labels outside of 0 to `num_classes` - 1."""
    if labels.numel() and (int(labels.min()) < 0 or int(labels.max()) >= num_classes):
        raise ValueError(
            f"`{name}` has labels from {int(labels.min())} to {int(labels.max())}, expected 0 to {num_classes - 1}."
        )


def binary_labels(preds: Tensor, target: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """Labels 0 and 1 of shape [N]: scores count as 1 above `threshold`."""
    _same_shape(preds, target)
    if preds.is_floating_point():
        preds = probabilities(preds) > threshold
    return preds.reshape(-1).long(), target.reshape(-1).long()


def multilabel_labels(preds: Tensor, target: Tensor, num_labels: int, threshold: float) -> tuple[Tensor, Tensor]:
    """Labels 0 and 1 of shape [N, L]."""
    _same_shape(preds, target)
    if preds.ndim < 2 or preds.shape[1] != num_labels:
        raise ValueError(f"Expected a second dimension of {num_labels} labels, got shape {tuple(preds.shape)}.")
    if preds.is_floating_point():
        preds = probabilities(preds) > threshold
    return labels_last(preds).long(), labels_last(target).long()


def labels_last(values: Tensor) -> Tensor:
    """[N, L, ...] as [M, L]."""
    return values.reshape(values.shape[0], values.shape[1], -1).transpose(1, 2).reshape(-1, values.shape[1])


def divide(numerator: Tensor, denominator: Tensor, zero_division: float = 0.0) -> Tensor:
    """A quotient in floating point that is `zero_division` where there is nothing to divide by."""
    top, bottom = numerator.float(), denominator.float()
    empty = bottom == 0
    return tocha.where(
        empty, tocha.full_like(top, zero_division), top / tocha.where(empty, tocha.ones_like(bottom), bottom)
    )


def averaged(values: Tensor, average: Any, support: Tensor, seen: Tensor) -> Tensor:
    """The average over classes: of those that were seen, or by their number of targets."""
    if average in ("none", None):
        return values
    weights = support.float() if average == "weighted" else seen.float()
    total = weights.sum()
    return (values * weights).sum() / tocha.where(total == 0, tocha.ones_like(total), total)
