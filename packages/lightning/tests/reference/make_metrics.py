"""Records values of metrics, into ``metrics.json`` beside this file.

In an environment of its own: ``pip install scikit-learn torch==2.13.0 torchmetrics pycocotools && python
make_metrics.py``. What scikit-learn knows comes from it; BLEU, perplexity and the precision of boxes from torchmetrics.
"""

from __future__ import annotations

import json
import math
import pathlib
import warnings
from typing import Any

import numpy as np
import sklearn
import sklearn.metrics as sk
import torch
import torchmetrics
from torchmetrics.detection import MeanAveragePrecision
from torchmetrics.text import BLEUScore, Perplexity

AVERAGES = ("micro", "macro", "weighted", None)


def plain(value: Any) -> Any:
    """Plain numbers, NaN as text."""
    if isinstance(value, torch.Tensor):
        value = value.detach().numpy()
    if isinstance(value, np.ndarray) and value.ndim:
        return [plain(item) for item in value]
    value = float(value)
    return "nan" if math.isnan(value) else value


def classification(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Decisions and rankings of random scores, with ties and a class that never occurs."""
    cases = []
    for task, shape in (("binary", (40,)), ("multiclass", (40, 5)), ("multilabel", (40, 3))):
        scores = np.round(rng.random(shape), 1 if task == "binary" else 2)
        if task == "multiclass":
            target = rng.integers(0, 4, 40)
            labels, classes = scores.argmax(1), list(range(5))
        else:
            target = rng.integers(0, 2, shape)
            labels, classes = (scores > 0.5).astype(int), None
        expected: dict[str, Any] = {}
        for average in AVERAGES:
            name = "none" if average is None else average
            if task == "binary" and average != "micro":
                continue
            kwargs = {"average": "binary" if task == "binary" else average, "zero_division": 0}
            if task == "multiclass":
                # scikit-learn averages over absent classes too unless it is not told of them
                kwargs["labels"] = classes if average in (None, "micro") else sorted({*target, *labels})
            expected[f"precision/{name}"] = sk.precision_score(target, labels, **kwargs)
            expected[f"recall/{name}"] = sk.recall_score(target, labels, **kwargs)
            expected[f"f1/{name}"] = sk.f1_score(target, labels, **kwargs)
            expected[f"fbeta/{name}"] = sk.fbeta_score(target, labels, beta=2.0, **kwargs)
            expected[f"jaccard/{name}"] = sk.jaccard_score(target, labels, **kwargs)
        if task == "multilabel":
            expected["confusion"] = sk.multilabel_confusion_matrix(target, labels)
            expected["accuracy"] = (target == labels).mean()
        else:
            expected["confusion"] = sk.confusion_matrix(target, labels, labels=classes)
            expected["confusion/true"] = sk.confusion_matrix(target, labels, labels=classes, normalize="true")
            expected["accuracy"] = sk.accuracy_score(target, labels)
        if task == "multiclass":
            expected["top_2"] = sk.top_k_accuracy_score(target, scores, k=2, labels=classes)
        columns = [(target, scores)] if task == "binary" else [
            ((target == i) if task == "multiclass" else target[:, i], scores[:, i]) for i in range(scores.shape[1])
        ]  # fmt: skip
        rank = [(sk.roc_auc_score(t, s), sk.average_precision_score(t, s)) if t.any() else (math.nan, math.nan)
                for t, s in columns]  # fmt: skip
        expected["auroc/none"] = np.array([r[0] for r in rank])
        expected["average_precision/none"] = np.array([r[1] for r in rank])
        cases.append({"task": task, "scores": scores.tolist(), "target": target.tolist(),
                      "expected": {key: plain(value) for key, value in expected.items()}})  # fmt: skip
    return cases


def regression(rng: np.random.Generator) -> dict[str, Any]:
    """Errors of two columns."""
    target, preds = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    preds = target + 0.5 * preds
    return {
        "preds": preds.tolist(),
        "target": target.tolist(),
        "mse": plain(sk.mean_squared_error(target, preds)),
        "rmse": plain(np.sqrt(((target - preds) ** 2).mean())),
        "mae": plain(sk.mean_absolute_error(target, preds)),
        "r2/uniform_average": plain(sk.r2_score(target, preds)),
        "r2/raw_values": plain(sk.r2_score(target, preds, multioutput="raw_values")),
        "r2/variance_weighted": plain(sk.r2_score(target, preds, multioutput="variance_weighted")),
    }


def text(rng: np.random.Generator) -> dict[str, Any]:
    """BLEU of sentences of few words, perplexity of random logits."""
    words = "the a cat dog sat on mat under".split()
    preds = [" ".join(rng.choice(words, rng.integers(4, 9))) for _ in range(6)]
    target = [[" ".join(rng.choice(words, rng.integers(4, 9))) for _ in range(2)] + [p[: len(p) // 2] + " the cat sat"]
              for p in preds]  # fmt: skip
    logits, tokens = rng.normal(size=(2, 7, 5)), rng.integers(0, 5, (2, 7))
    tokens[0, :3] = -100
    bleu = {
        f"bleu/{n}/{smooth}": plain(BLEUScore(n, smooth)(preds, target)) for n in (1, 2, 4) for smooth in (True, False)
    }
    perplexity = Perplexity(ignore_index=-100)(torch.tensor(logits), torch.tensor(tokens))
    return {"preds": preds, "target": target, "logits": logits.tolist(), "tokens": tokens.tolist(),
            "perplexity": plain(perplexity), **bleu}  # fmt: skip


def detection(rng: np.random.Generator) -> dict[str, Any]:
    """Boxes of three classes and all sizes, some found, some not, some found twice."""
    preds, target = [], []
    for _ in range(8):
        count = int(rng.integers(0, 6))
        corner, size = rng.random((count, 2)) * 200, 5 + rng.random((count, 2)) * rng.choice([20, 80, 200], (count, 1))
        boxes = np.concatenate([corner, corner + size], 1)
        labels = rng.integers(0, 3, count)
        found = np.repeat(boxes, 2, 0) + rng.normal(size=(2 * count, 4)) * 4
        found[:, 2:] = np.maximum(found[:, 2:], found[:, :2] + 1)
        keep = rng.random(2 * count) < 0.7
        guessed = np.where(rng.random(2 * count) < 0.8, np.repeat(labels, 2), rng.integers(0, 3, 2 * count))
        preds.append(
            {"boxes": found[keep], "scores": np.round(rng.random(2 * count), 2)[keep], "labels": guessed[keep]}
        )
        target.append({"boxes": boxes, "labels": labels, "iscrowd": (rng.random(count) < 0.15).astype(int)})

    def tensors(images: list[dict[str, Any]]) -> list[dict[str, torch.Tensor]]:
        def tensor(key: str, value: Any) -> torch.Tensor:
            if key == "boxes":
                return torch.tensor(value, dtype=torch.float64).reshape(-1, 4)
            return torch.tensor(value, dtype=torch.float64 if key == "scores" else torch.int64)

        return [{key: tensor(key, value) for key, value in image.items()} for image in images]

    # COCO's thresholds are in double precision: torchmetrics' own are not, and miss recalls that are met exactly
    thresholds = {
        "iou_thresholds": np.linspace(0.5, 0.95, 10).tolist(),
        "rec_thresholds": np.linspace(0, 1, 101).tolist(),
    }
    metric = MeanAveragePrecision(class_metrics=True, **thresholds)
    metric.update(tensors(preds), tensors(target))
    values = {key: plain(value) if value.ndim else float(value) for key, value in metric.compute().items()}
    as_lists = [
        [{key: value.tolist() for key, value in image.items()} for image in images] for images in (preds, target)
    ]
    return {"preds": as_lists[0], "target": as_lists[1], "expected": values}


def main() -> None:
    """Write the file."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    record = {
        "made_with": {"sklearn": sklearn.__version__, "torchmetrics": torchmetrics.__version__},
        "classification": classification(rng),
        "regression": regression(rng),
        "text": text(rng),
        "detection": detection(rng),
    }
    pathlib.Path(__file__).with_name("metrics.json").write_text(json.dumps(record, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
