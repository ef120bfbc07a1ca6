"""Mean average precision of boxes, as COCO measures it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tocha
from tocha import Tensor
from tocha_lightning.metrics.metric import Metric

Array = np.ndarray[Any, Any]
_AREAS = {"all": (0.0, 1e10), "small": (0.0, 32.0**2), "medium": (32.0**2, 96.0**2), "large": (96.0**2, 1e10)}
_STATES = ("boxes", "scores", "labels", "true_boxes", "true_labels", "crowd")


def _corners(boxes: Array, box_format: str) -> Array:
    boxes = boxes.reshape(-1, 4).astype(np.float64)
    if box_format == "xyxy":
        return boxes
    first, size = boxes[:, :2], boxes[:, 2:]
    if box_format == "cxcywh":
        first = first - size / 2
    return np.concatenate([first, first + size], 1)


def _areas(boxes: Array) -> Array:
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def box_iou(boxes: Array, others: Array, crowd: Array) -> Array:
    """Intersection over union of [N, 4] and [M, 4] corners; over the area of the box where the other is a crowd."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    size = np.clip(high - low, 0, None)
    both = size[..., 0] * size[..., 1]
    own = _areas(boxes)[:, None]
    union = np.where(crowd[None, :], own, own + _areas(others)[None, :] - both)
    return both / np.where(union > 0, union, 1)


class MeanAveragePrecision(Metric):
    """Mean average precision and recall of detected boxes, by the rules of COCO.

    Args:
        box_format: ``"xyxy"``, ``"xywh"`` or ``"cxcywh"``, in pixels.
        iou_thresholds: by default 0.5 to 0.95 in steps of 0.05.
        rec_thresholds: by default 0 to 1 in steps of 0.01.
        max_detection_thresholds: how many detections of an image count; by default 1, 10 and 100.
        class_metrics: also for every class.

    `update` takes two lists with a dictionary for each image: ``boxes`` [N, 4], ``scores`` [N] and ``labels`` [N] of
    the detections, ``boxes`` [M, 4] and ``labels`` [M] (and optionally ``iscrowd`` [M]) of the targets.

    `compute` gives ``map``, ``map_50``, ``map_75``, ``map_small``, ``map_medium``, ``map_large``, ``mar_1``,
    ``mar_10``, ``mar_100``, ``mar_small``, ``mar_medium``, ``mar_large``, ``map_per_class``, ``mar_100_per_class`` and
    ``classes``; -1 where there is nothing to measure.

    Raises:
        ValueError: an unknown format, keys that are missing, or lists of different lengths.

    >>> box = tocha.tensor([[10.0, 10.0, 50.0, 50.0]])
    >>> metric = MeanAveragePrecision()
    >>> metric.update(
    ...     [{"boxes": box, "scores": tocha.tensor([0.9]), "labels": tocha.tensor([0])}],
    ...     [{"boxes": box + 2, "labels": tocha.tensor([0])}],
    ... )
    >>> metric.compute()["map_50"]
    tensor(1.)
    """

    boxes: list[Tensor]
    scores: list[Tensor]
    labels: list[Tensor]
    true_boxes: list[Tensor]
    true_labels: list[Tensor]
    crowd: list[Tensor]

    def __init__(
        self,
        box_format: str = "xyxy",
        iou_thresholds: Sequence[float] | None = None,
        rec_thresholds: Sequence[float] | None = None,
        max_detection_thresholds: Sequence[int] | None = None,
        class_metrics: bool = False,
    ) -> None:
        super().__init__()
        if box_format not in ("xyxy", "xywh", "cxcywh"):
            raise ValueError(
                f"Expected argument `box_format` to be one of ('xyxy', 'xywh', 'cxcywh') but got {box_format}"
            )
        self.box_format = box_format
        self.iou_thresholds = list(np.linspace(0.5, 0.95, 10) if iou_thresholds is None else iou_thresholds)
        self.rec_thresholds = list(np.linspace(0.0, 1.0, 101) if rec_thresholds is None else rec_thresholds)
        self.max_detection_thresholds = sorted(max_detection_thresholds or (1, 10, 100))
        self.class_metrics = class_metrics
        for name in _STATES:
            self.add_state(name, [])

    def update(self, preds: Sequence[dict[str, Tensor]], target: Sequence[dict[str, Tensor]]) -> None:
        """Take the detections and the targets of some images."""
        if len(preds) != len(target):
            raise ValueError(
                f"Expected `preds` and `target` to have the same length, got {len(preds)} and {len(target)}"
            )
        for images, keys, name in (
            (preds, ("boxes", "scores", "labels"), "preds"),
            (target, ("boxes", "labels"), "target"),
        ):
            for image in images:
                missing = [key for key in keys if key not in image]
                if missing:
                    raise ValueError(f"Expected all dicts in `{name}` to contain the keys {keys}, missing {missing}")
        for found, true in zip(preds, target, strict=True):
            self.boxes.append(found["boxes"].detach().reshape(-1, 4))
            self.scores.append(found["scores"].detach().reshape(-1))
            self.labels.append(found["labels"].detach().reshape(-1))
            self.true_boxes.append(true["boxes"].detach().reshape(-1, 4))
            self.true_labels.append(true["labels"].detach().reshape(-1))
            self.crowd.append(
                true["iscrowd"].detach() if "iscrowd" in true else tocha.zeros_like(true["labels"].reshape(-1))
            )

    def _merge(self, batch: dict[str, Any], count: int) -> bool:
        for name in _STATES:
            getattr(self, name).extend(batch[name])
        return True

    def compute(self) -> dict[str, Tensor]:
        """All values."""
        images = [
            (
                _corners(boxes.cpu().numpy(), self.box_format),
                scores.cpu().numpy(),
                labels.cpu().numpy(),
                _corners(true_boxes.cpu().numpy(), self.box_format),
                true_labels.cpu().numpy(),
                crowd.cpu().numpy().astype(bool),
            )
            for boxes, scores, labels, true_boxes, true_labels, crowd in zip(
                self.boxes, self.scores, self.labels, self.true_boxes, self.true_labels, self.crowd, strict=True
            )
        ]
        every = [image[2] for image in images] + [image[4] for image in images]
        classes = np.unique(np.concatenate(every)) if every else np.array([], dtype=np.int64)
        most = self.max_detection_thresholds[-1]
        tables = {
            (area, limit): [self._of_class(images, label, bounds, limit) for label in classes]
            for area, bounds in _AREAS.items()
            for limit in (self.max_detection_thresholds if area == "all" else [most])
        }
        result: dict[str, Any] = {"map": self._mean(tables["all", most], "precision")}
        for threshold, name in ((0.5, "map_50"), (0.75, "map_75")):
            near = [i for i, value in enumerate(self.iou_thresholds) if abs(value - threshold) < 1e-9]
            result[name] = self._mean(tables["all", most], "precision", near[0]) if near else -1.0
        for area in ("small", "medium", "large"):
            result[f"map_{area}"] = self._mean(tables[area, most], "precision")
        for limit in self.max_detection_thresholds:
            result[f"mar_{limit}"] = self._mean(tables["all", limit], "recall")
        for area in ("small", "medium", "large"):
            result[f"mar_{area}"] = self._mean(tables[area, most], "recall")
        per_class = tables["all", most] if self.class_metrics else []
        result["map_per_class"] = [self._mean([table], "precision") for table in per_class] or -1.0
        result[f"mar_{most}_per_class"] = [self._mean([table], "recall") for table in per_class] or -1.0
        values = {key: tocha.tensor(value, dtype=tocha.float32) for key, value in result.items()}
        return {**values, "classes": tocha.tensor(classes.astype(np.int32))}

    @staticmethod
    def _mean(tables: list[dict[str, Array] | None], key: str, threshold: int | None = None) -> float:
        values = [table[key] if threshold is None else table[key][threshold] for table in tables if table is not None]
        return float(np.mean([value.mean() for value in values])) if values else -1.0

    def _of_class(
        self, images: list[Any], label: Any, bounds: tuple[float, float], limit: int
    ) -> dict[str, Array] | None:
        """Precision [thresholds, recalls] and recall [thresholds] of a class, or None without targets."""
        scores, matched, ignored = [], [], []
        targets = 0
        for boxes, all_scores, labels, true_boxes, true_labels, crowd in images:
            own, true = labels == label, true_labels == label
            order = np.argsort(-all_scores[own], kind="mergesort")[:limit]
            areas = _areas(true_boxes[true])
            skip = crowd[true] | (areas < bounds[0]) | (areas > bounds[1])
            hit, off = self._match(boxes[own][order], true_boxes[true], crowd[true], skip, bounds)
            scores.append(all_scores[own][order])
            matched.append(hit)
            ignored.append(off)
            targets += int((~skip).sum())
        if targets == 0:
            return None
        order = np.argsort(-np.concatenate(scores), kind="mergesort")
        hits = np.concatenate(matched, 1)[:, order]
        off = np.concatenate(ignored, 1)[:, order]
        true_positives = np.cumsum(hits & ~off, 1).astype(np.float64)
        false_positives = np.cumsum(~hits & ~off, 1).astype(np.float64)
        precision = np.zeros((len(self.iou_thresholds), len(self.rec_thresholds)))
        recall = np.zeros(len(self.iou_thresholds))
        for i, (tp, fp) in enumerate(zip(true_positives, false_positives, strict=True)):
            if not tp.size:
                continue
            recalls = tp / targets
            precisions = tp / np.maximum(tp + fp, np.spacing(1))
            # the best precision at this recall or a higher one
            precisions = np.maximum.accumulate(precisions[::-1])[::-1]
            recall[i] = recalls[-1]
            places = np.searchsorted(recalls, self.rec_thresholds, side="left")
            inside = places < tp.size
            precision[i, inside] = precisions[places[inside]]
        return {"precision": precision, "recall": recall}

    def _match(
        self, boxes: Array, true_boxes: Array, crowd: Array, skip: Array, bounds: tuple[float, float]
    ) -> tuple[Array, Array]:
        """Which detections hit a target at each threshold, and which do not count."""
        shape = (len(self.iou_thresholds), len(boxes))
        hit, off = np.zeros(shape, bool), np.zeros(shape, bool)
        # targets that do not count are matched only when no other one is left
        order = np.argsort(skip, kind="mergesort")
        true_boxes, crowd, skip = true_boxes[order], crowd[order], skip[order]
        overlaps = box_iou(boxes, true_boxes, crowd)
        areas = _areas(boxes)
        outside = (areas < bounds[0]) | (areas > bounds[1])
        for t, threshold in enumerate(self.iou_thresholds):
            taken = np.zeros(len(true_boxes), bool)
            for d in range(len(boxes)):
                best, found = min(threshold, 1 - 1e-10), -1
                for g in range(len(true_boxes)):
                    if taken[g] and not crowd[g]:
                        continue
                    if found >= 0 and not skip[found] and skip[g]:
                        break
                    if overlaps[d, g] >= best:
                        best, found = overlaps[d, g], g
                if found >= 0:
                    taken[found] = True
                    hit[t, d] = True
                    off[t, d] = skip[found]
                else:
                    off[t, d] = outside[d]
        return hit, off
