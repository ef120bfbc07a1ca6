"""Metrics against scikit-learn and torchmetrics (see reference/make_metrics.py), and what they have in common."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import tocha
import tocha_lightning.metrics as M
from tocha_lightning.metrics import Metric

REFERENCE = json.loads((Path(__file__).parent / "reference" / "metrics.json").read_text())
CLASSES = {
    "precision": M.Precision,
    "recall": M.Recall,
    "f1": M.F1Score,
    "fbeta": lambda task, **kwargs: M.FBetaScore(task, beta=2.0, **kwargs),
    "jaccard": M.JaccardIndex,
    "auroc": M.AUROC,
    "average_precision": M.AveragePrecision,
}
SIZES = {"binary": {}, "multiclass": {"num_classes": 5}, "multilabel": {"num_labels": 3}}


def assert_close(found: Any, expected: Any) -> None:
    values = found.reshape(-1).tolist()
    wanted = [expected] if not isinstance(expected, list) else tocha.tensor(_numbers(expected)).reshape(-1).tolist()
    assert len(values) == len(wanted)
    for value, want in zip(values, wanted, strict=True):
        want = math.nan if want == "nan" else want
        assert (math.isnan(value) and math.isnan(want)) or value == pytest.approx(want, abs=2e-6)


def _numbers(value: Any) -> Any:
    return [_numbers(item) for item in value] if isinstance(value, list) else math.nan if value == "nan" else value


@pytest.mark.parametrize("case", REFERENCE["classification"], ids=lambda case: case["task"])
def test_classification_over_uneven_batches(case: Any) -> None:
    task = case["task"]
    scores, target = tocha.tensor(case["scores"]), tocha.tensor(case["target"])
    for name, expected in case["expected"].items():
        kind, _, option = name.partition("/")
        if kind == "confusion":
            metric: Any = M.ConfusionMatrix(task, normalize=option or None, **SIZES[task])
        elif kind == "accuracy":
            metric = M.Accuracy(task, **SIZES[task])
        elif kind == "top_2":
            metric = M.Accuracy(task, top_k=2, **SIZES[task])
        elif task == "binary" and kind in ("auroc", "average_precision"):
            metric = CLASSES[kind](task)
        else:
            metric = CLASSES[kind](task, average=None if option == "none" else option or "micro", **SIZES[task])
        for start, end in ((0, 7), (7, 8), (8, 40)):
            metric.update(scores[start:end], target[start:end])
        assert_close(metric.compute(), expected)
        metric.reset()
        assert not metric.update_called


def test_labels_logits_and_further_dimensions() -> None:
    logits = tocha.tensor([[[2.0, -1.0], [0.0, 3.0]], [[-1.0, 1.0], [1.0, 0.0]]])  # [N, C, L]
    target = tocha.tensor([[0, 1], [1, 1]])
    by_scores, by_labels = M.Accuracy("multiclass", num_classes=2), M.Accuracy("multiclass", num_classes=2)
    assert by_scores(logits, target).item() == by_labels(logits.argmax(1), target).item() == 0.75
    binary = M.Precision("binary")
    assert binary(tocha.tensor([-3.0, 4.0, 0.2]), tocha.tensor([0, 1, 1])).item() == 1.0
    multilabel = M.F1Score("multilabel", num_labels=2, average="none")
    assert multilabel(tocha.tensor([[0.9, 0.1]]), tocha.tensor([[1, 1]])).tolist() == [1.0, 0.0]


def test_ignored_targets() -> None:
    preds, target = tocha.tensor([0, 1, 1, 0]), tocha.tensor([0, 1, -1, -1])
    assert M.Accuracy("multiclass", num_classes=2, ignore_index=-1)(preds, target).item() == 1.0
    assert M.ConfusionMatrix("multiclass", num_classes=2, ignore_index=-1)(preds, target).tolist() == [[1, 0], [0, 1]]
    assert M.Recall("binary", ignore_index=-1)(preds, target).item() == 1.0
    scores = tocha.tensor([0.1, 0.9, 0.5, 0.2])
    assert M.AUROC("binary", ignore_index=-1)(scores, target).item() == 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: M.Accuracy("ternary"), "`task` has to be one of"),
        (lambda: M.Accuracy("multiclass"), "needs `num_classes`"),
        (lambda: M.Recall("multilabel"), "needs `num_labels`"),
        (lambda: M.Recall("binary", average="some"), "`average` has to be"),
        (lambda: M.AUROC("binary", average="micro"), "`average` has to be"),
        (lambda: M.Accuracy("multiclass", num_classes=3, top_k=4), "`top_k`"),
        (lambda: M.FBetaScore("binary", beta=0), "`beta` has to be positive"),
        (lambda: M.ConfusionMatrix("binary", normalize="rows"), "`normalize`"),
        (lambda: M.Accuracy("multiclass", num_classes=3)(tocha.zeros(2, 4), tocha.zeros(2)), r"\[N, 3, ...\]"),
        (lambda: M.Accuracy("binary")(tocha.zeros(2), tocha.zeros(3)), "same shape"),
        (lambda: M.Accuracy("multiclass", num_classes=2)(tocha.tensor([0]), tocha.tensor([2])), "expected 0 to 1"),
        (lambda: M.AUROC("multiclass", num_classes=2)(tocha.zeros(2, 3), tocha.zeros(2)), r"\[N, 2, ...\]"),
        (lambda: M.R2Score(multioutput="none"), "`multioutput`"),
        (lambda: M.BLEUScore(2, weights=[1.0]), "different weights"),
        (lambda: M.BLEUScore()(["a"], []), "different size"),
        (lambda: M.Perplexity()(tocha.zeros(2, 3), tocha.zeros(3)), r"\[..., vocabulary\]"),
        (lambda: M.MeanAveragePrecision(box_format="xyz"), "`box_format`"),
        (lambda: M.MeanAveragePrecision().update([{}], []), "same length"),
        (lambda: M.MeanAveragePrecision().update([{}], [{}]), "missing"),
    ],
)
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_regression() -> None:
    case = REFERENCE["regression"]
    preds, target = tocha.tensor(case["preds"]), tocha.tensor(case["target"])
    metrics: dict[str, Any] = {
        "mse": M.MeanSquaredError(),
        "rmse": M.MeanSquaredError(squared=False),
        "mae": M.MeanAbsoluteError(),
        **{f"r2/{m}": M.R2Score(2, m) for m in ("uniform_average", "raw_values", "variance_weighted")},
    }
    for name, metric in metrics.items():
        metric.update(preds[:11], target[:11])
        metric.update(preds[11:], target[11:])
        assert_close(metric.compute(), case[name])
    with pytest.raises(ValueError, match="at least two samples"):
        M.R2Score()(tocha.ones(1), tocha.ones(1))
    constant = M.R2Score()
    assert constant(tocha.tensor([1.0, 1.0]), tocha.tensor([1.0, 1.0])).item() == 1.0
    total = M.SumMetric()
    total.update([1.0, 2.0])
    total.update(3)
    assert total.compute().item() == 6.0


def test_text() -> None:
    case = REFERENCE["text"]
    for n in (1, 2, 4):
        for smooth in (True, False):
            bleu = M.BLEUScore(n, smooth)
            bleu.update(case["preds"][:2], case["target"][:2])
            bleu.update(case["preds"][2:], case["target"][2:])
            assert_close(bleu.compute(), case[f"bleu/{n}/{smooth}"])
    perplexity = M.Perplexity(ignore_index=-100)
    logits, tokens = tocha.tensor(case["logits"]), tocha.tensor(case["tokens"])
    perplexity.update(logits[:1], tokens[:1])
    perplexity.update(logits[1:], tokens[1:])
    assert_close(perplexity.compute(), case["perplexity"])


def test_detection() -> None:
    case = REFERENCE["detection"]

    def tensors(images: Any) -> Any:
        kinds = {"boxes": tocha.float64, "scores": tocha.float64}
        return [
            {key: tocha.tensor(value, dtype=kinds.get(key, tocha.int64)) for key, value in image.items()}
            for image in images
        ]

    metric = M.MeanAveragePrecision(class_metrics=True)
    preds, target = tensors(case["preds"]), tensors(case["target"])
    metric.update(preds[:3], target[:3])
    metric.update(preds[3:], target[3:])
    found = metric.compute()
    assert found.keys() == case["expected"].keys()
    for key, expected in case["expected"].items():
        assert_close(found[key].double(), expected)


def test_box_formats_agree() -> None:
    corners = tocha.tensor([[10.0, 20.0, 50.0, 80.0], [0.0, 0.0, 30.0, 30.0]])
    size = corners[:, 2:] - corners[:, :2]
    forms = {"xyxy": corners, "xywh": tocha.cat([corners[:, :2], size], 1),
             "cxcywh": tocha.cat([corners[:, :2] + size / 2, size], 1)}  # fmt: skip
    values = []
    for box_format, boxes in forms.items():
        metric = M.MeanAveragePrecision(box_format)
        labels = tocha.tensor([0, 1])
        metric.update(
            [{"boxes": boxes, "scores": tocha.tensor([0.9, 0.4]), "labels": labels}],
            [{"boxes": boxes, "labels": labels}],
        )
        values.append(metric.compute()["map"].item())
    assert values == [1.0, 1.0, 1.0]


class Two(Metric):
    """One state that adds up and one that does not say how."""

    def __init__(self) -> None:
        super().__init__()
        self.add_state("total", tocha.tensor(0.0), dist_reduce_fx="sum", persistent=True)
        self.add_state("last", tocha.tensor(0.0))

    def update(self, value: Any) -> None:
        self.total = self.total + value
        self.last = tocha.as_tensor(value)

    def compute(self) -> Any:
        return self.total + 100 * self.last


def test_states() -> None:
    metric = Two()
    assert metric(tocha.tensor(1.0)).item() == 101.0 and metric(tocha.tensor(2.0)).item() == 202.0
    assert metric.compute().item() == 203.0 and metric.compute() is metric.compute()
    assert list(metric.state_dict()) == ["total"]
    again = Two()
    again.load_state_dict(metric.state_dict())
    assert again.total.item() == 3.0 and again.update_called
    metric.persistent(False)
    assert metric.state_dict() == {}
    copy = metric.clone()
    metric.reset()
    assert metric.total.item() == 0.0 and copy.total.item() == 3.0
    with pytest.warns(UserWarning, match="called before the ``update`` method"):
        Two().compute()
    metric.to("meta")
    assert metric.total.device.type == "meta"
    with pytest.raises(ValueError, match="must be a tensor or any empty list"):
        metric.add_state("bad", [1])
    with pytest.raises(ValueError, match="`dist_reduce_fx` must be one of"):
        metric.add_state("bad", tocha.tensor(0), dist_reduce_fx="product")
    with pytest.raises(NotImplementedError, match="has to define `update`"):
        Metric().update()


def test_collection() -> None:
    metrics = M.MetricCollection({"a": M.MeanAbsoluteError(), "s": M.MeanSquaredError()}, prefix="train/")
    preds, target = tocha.tensor([1.0, 2.0]), tocha.tensor([1.0, 4.0])
    assert {key: value.item() for key, value in metrics(preds, target).items()} == {"train/a": 1.0, "train/s": 2.0}
    metrics.update(target, target)
    assert metrics.compute()["train/a"].item() == 0.5
    validation = metrics.clone(prefix="val/")
    metrics.reset()
    assert list(validation.compute()) == ["val/a", "val/s"] and not metrics["a"].update_called
    with pytest.raises(ValueError, match="both named MeanMetric"):
        M.MetricCollection([M.MeanMetric(), M.MeanMetric()])
    with pytest.raises(ValueError, match="not an instance of `Metric`"):
        M.MetricCollection({"x": 3})


def test_metrics_in_a_run_and_in_its_checkpoint(lightning: Any) -> None:
    class Model(lightning.Small):
        def __init__(self) -> None:
            super().__init__()
            self.errors = M.MetricCollection([M.MeanAbsoluteError(), M.MeanSquaredError()], prefix="val/")
            self.errors.persistent()

        def validation_step(self, batch: Any, batch_idx: int) -> None:
            self.errors.update(self(batch[0]), batch[1])
            self.log_dict(self.errors)

    model = Model()
    trainer = lightning.trainer(enable_checkpointing=False)
    trainer.fit(model, lightning.loader(), lightning.loader(5, 2))
    x, y = lightning.points(5).tensors
    with tocha.no_grad():
        expected = (model(x) - y).abs().mean().item()
    assert trainer.callback_metrics["val/MeanAbsoluteError"].item() == pytest.approx(expected, abs=1e-6)
    trainer.save_checkpoint(lightning.path / "m.ckpt")
    assert "errors.MeanAbsoluteError.sum_abs_error" in tocha.load(lightning.path / "m.ckpt")["state_dict"]
    Model.load_from_checkpoint(lightning.path / "m.ckpt")
