"""`self.log` beyond the reference table: what is refused, metric objects, weights, the CSV file."""

from __future__ import annotations

import csv
import math
from typing import Any

import pytest

import tocha
import tocha_lightning as L
from tocha_lightning.loggers import CSVLogger, Logger
from tocha_lightning.metrics import Metric
from tocha_lightning.utilities import MisconfigurationException


def run(lightning: Any, where: str, log: Any, **arguments: Any) -> L.Trainer:
    """Train a model that calls `log(module)` in the hook `where`."""

    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        log(self)
        return getattr(lightning.Plain, where)(self, *args, **kwargs)

    model = type("Model", (lightning.Plain,), {where: hook})()
    trainer = lightning.trainer(**{"max_epochs": 1, "enable_checkpointing": False, **arguments})
    trainer.fit(model, lightning.loader())
    return trainer


@pytest.mark.parametrize("hook", ["on_fit_start", "on_fit_end", "on_train_end", "configure_optimizers", "setup"])
def test_hooks_that_may_not_log(lightning: Any, hook: str) -> None:
    with pytest.raises(MisconfigurationException, match="self.log"):
        run(lightning, hook, lambda module: module.log("x", 1.0))


@pytest.mark.parametrize("hook", ["on_train_start", "on_train_epoch_start", "on_train_epoch_end"])
def test_hooks_of_an_epoch_log_no_step(lightning: Any, hook: str) -> None:
    with pytest.raises(MisconfigurationException, match=rf"on_step=True\)` inside `{hook}`"):
        run(lightning, hook, lambda module: module.log("x", 1.0, on_step=True))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("text", "`str` values cannot be logged"),
        ({"a": 1}, "log_dict"),
        ([1.0], "`list` values cannot be logged"),
        (tocha.ones(2), "must have a single element"),
        (tocha.ones(0), "must have a single element"),
    ],
)
def test_values_that_cannot_be_logged(lightning: Any, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(lightning, "on_train_batch_start", lambda module: module.log("x", value))


@pytest.mark.parametrize("value", [3, 2.5, True, tocha.tensor(4.0), tocha.tensor([[5.0]]), tocha.tensor(2.0).double()])
def test_values_that_can(lightning: Any, value: Any) -> None:
    trainer = run(lightning, "on_train_batch_start", lambda module: module.log("x", value))
    assert trainer.callback_metrics["x"].item() == float(value)
    assert trainer.callback_metrics["x"].shape == ()


def test_neither_step_nor_epoch(lightning: Any) -> None:
    with pytest.raises(MisconfigurationException, match="is not useful"):
        run(lightning, "on_train_batch_start", lambda module: module.log("x", 1.0, on_step=False, on_epoch=False))


def test_same_name_with_other_arguments(lightning: Any) -> None:
    def log(module: Any) -> None:
        module.log("x", 1.0)
        module.log("x", 1.0, prog_bar=True)

    with pytest.raises(MisconfigurationException, match="twice in `on_train_batch_start` with different arguments"):
        run(lightning, "on_train_batch_start", log)


def test_unknown_reduction(lightning: Any) -> None:
    with pytest.raises(MisconfigurationException, match="reduce_fx"):
        run(lightning, "on_train_batch_start", lambda module: module.log("x", 1.0, reduce_fx="median"))


def test_reductions_as_functions(lightning: Any) -> None:
    def log(module: Any) -> None:
        module.log(
            "low", float(module.trainer.fit_loop.epoch_loop.batch_idx), on_step=False, on_epoch=True, reduce_fx=min
        )
        module.log("all", 1.0, on_step=False, on_epoch=True, reduce_fx=tocha.sum)

    metrics = run(lightning, "on_train_batch_start", log).callback_metrics
    assert (metrics["low"].item(), metrics["all"].item()) == (0.0, 6.0)


def test_reserved_part_of_names(lightning: Any) -> None:
    with pytest.raises(MisconfigurationException, match="dataloader_idx"):
        run(lightning, "on_train_batch_start", lambda module: module.log("x/dataloader_idx_0", 1.0))


def test_logger_asked_for_without_one(lightning: Any) -> None:
    with pytest.warns(UserWarning, match="have no logger configured"):
        run(lightning, "on_train_batch_start", lambda module: module.log("x", 1.0, logger=True))


def test_barebones_logs_nothing(lightning: Any) -> None:
    model = lightning.Plain()
    with pytest.warns(UserWarning, match="barebones=True"):
        L.Trainer(barebones=True, max_epochs=1, accelerator="cpu").fit(model, lightning.loader())


def test_without_a_trainer() -> None:
    with pytest.warns(UserWarning, match="reference is not registered"):
        L.LightningModule().log("x", 1.0)


def test_epoch_mean_is_weighted_by_batch_size(lightning: Any) -> None:
    class Model(lightning.Plain):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            self.log("plain", float(batch_idx), on_step=False, on_epoch=True)
            self.log("given", float(batch_idx), on_step=False, on_epoch=True, batch_size=10 if batch_idx else 1)
            return self.loss(batch)

    trainer = lightning.trainer(max_epochs=1, enable_checkpointing=False)
    trainer.fit(Model(), lightning.loader(5, 2))
    assert trainer.callback_metrics["plain"].item() == pytest.approx((0 * 2 + 1 * 2 + 2 * 1) / 5)
    assert trainer.callback_metrics["given"].item() == pytest.approx((0 * 1 + 1 * 10 + 2 * 10) / 21)


def test_ambiguous_batch_size_warns(lightning: Any) -> None:
    from tocha_lightning.utilities import collections

    collections._warnings.clear()
    with pytest.warns(UserWarning, match="ambiguous collection"):
        assert collections.extract_batch_size([tocha.ones(3), tocha.ones(4)]) == 3
    with pytest.raises(MisconfigurationException, match="could not infer"):
        collections.extract_batch_size({"a": 1})


def test_integers_are_converted_with_a_warning(lightning: Any) -> None:
    from tocha_lightning.logging import results

    results._warnings.clear()
    with pytest.warns(UserWarning, match="needs to be floating"):
        run(lightning, "on_train_batch_start", lambda m: m.log("x", tocha.tensor(3), on_step=False, on_epoch=True))


class Largest(Metric):
    def __init__(self) -> None:
        super().__init__()
        self.add_state("largest", tocha.tensor(-math.inf), dist_reduce_fx="max")

    def update(self, values: Any) -> None:
        self.largest = tocha.maximum(self.largest, values.max())

    def compute(self) -> Any:
        return self.largest


def test_metric_objects(lightning: Any) -> None:
    class Model(lightning.Plain):
        def __init__(self) -> None:
            super().__init__()
            self.largest = Largest()
            self.values: list[float] = []

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            self.largest(batch[0])
            self.log("largest", self.largest, on_step=True, on_epoch=True)
            return self.loss(batch)

        def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
            self.values.append(self.trainer.callback_metrics["largest_step"].item())

    model = Model()
    trainer = lightning.trainer(max_epochs=1, enable_checkpointing=False)
    x = tocha.tensor([[1.0, 2, 3], [9, 1, 1], [4, 0, 0], [2, 2, 2]])
    data = tocha.utils.data.DataLoader(tocha.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), batch_size=1)
    trainer.fit(model, data)
    assert model.values == [3.0, 9.0, 4.0, 2.0]
    assert trainer.callback_metrics["largest_epoch"].item() == 9.0
    # reset for the next epoch
    assert model.largest.largest.item() == -math.inf


def test_metric_object_that_is_no_attribute(lightning: Any) -> None:
    largest = Largest()
    largest(tocha.ones(1))
    with pytest.raises(MisconfigurationException, match="setting an attribute for the metric"):
        run(lightning, "on_train_batch_start", lambda module: module.log("x", largest))


def test_callbacks_log_too(lightning: Any) -> None:
    class Logs(L.Callback):
        def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            self.log("from_callback", 7.0)
            self.log_dict({"a": 1.0, "b": 2.0})

    trainer = lightning.trainer(callbacks=[Logs()], enable_checkpointing=False)
    trainer.fit(lightning.Plain(), lightning.loader())
    assert {key: trainer.callback_metrics[key].item() for key in ("from_callback", "a", "b")} == {
        "from_callback": 7.0, "a": 1.0, "b": 2.0,
    }  # fmt: skip


def test_graph_is_kept_on_request(lightning: Any) -> None:
    seen = []

    class Model(lightning.Plain):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            loss = self.loss(batch)
            self.log("with", loss, enable_graph=True)
            self.log("without", loss)
            return loss

        def on_train_batch_end(self, *args: Any) -> None:
            metrics = self.trainer.callback_metrics
            seen.append((metrics["with"].requires_grad, metrics["without"].requires_grad))

    lightning.trainer(max_epochs=1, enable_checkpointing=False).fit(Model(), lightning.loader(2))
    assert seen == [(True, False)]


def read_rows(path: Any) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_csv_logger_writes_rows_and_hyperparameters(lightning: Any) -> None:
    logger = CSVLogger(lightning.path, name="runs", flush_logs_every_n_steps=1)
    lightning.trainer(logger=logger, enable_checkpointing=False).fit(
        lightning.Small(lr=0.25), lightning.loader(), lightning.loader(4)
    )
    assert logger.log_dir == str(lightning.path / "runs" / "version_0")
    rows = read_rows(lightning.path / "runs" / "version_0" / "metrics.csv")
    assert sorted(rows[0]) == ["epoch", "loss_epoch", "loss_step", "step", "val_loss"]
    assert [int(row["step"]) for row in rows if row["loss_step"]] == list(range(12))
    assert [(row["epoch"], row["step"]) for row in rows if row["val_loss"]] == [("0", "5"), ("1", "11")]
    text = (lightning.path / "runs" / "version_0" / "hparams.yaml").read_text()
    assert text == "lr: 0.25\ndropout: 0.0\n"


def test_csv_logger_versions_and_prefix(lightning: Any) -> None:
    first = CSVLogger(lightning.path)
    first.log_metrics({"a": 1.0}, step=0)
    first.save()
    second = CSVLogger(lightning.path, prefix="train")
    assert (first.version, second.version) == (0, 1)
    second.log_metrics({"a": tocha.tensor(2.0)}, step=4)
    second.log_metrics({"b": 3.0}, step=5)
    second.finalize("success")
    rows = read_rows(second.experiment.metrics_file_path)
    assert rows == [
        {"step": "4", "train-a": "2.0", "train-b": ""}, {"step": "5", "train-a": "", "train-b": "3.0"},
    ]  # fmt: skip
    named = CSVLogger(lightning.path, name=None, version="mine")
    assert named.log_dir == str(lightning.path / "mine")


def test_hyperparameters_that_yaml_does_not_know(lightning: Any) -> None:
    from tocha_lightning.utilities.yaml import load_yaml, save_yaml

    values = {"t": tocha.tensor(2.0), "f": math.sin, "c": Largest, "n": None, "d": {1: (2, 3)}, "o": {4}}
    save_yaml(lightning.path / "h.yaml", values)
    loaded = load_yaml(lightning.path / "h.yaml")
    assert loaded["t"] == 2.0 and loaded["f"] == "math.sin" and loaded["n"] is None
    assert loaded["d"] == {"1": [2, 3]} and loaded["o"] == [4] and loaded["c"].endswith("Largest")


class Recorder(Logger):
    def __init__(self, name: str = "r") -> None:
        self._name = name
        self.rows: list[tuple[int | None, dict[str, float]]] = []
        self.hparams: dict[str, Any] | None = None
        self.status: list[str] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def version(self) -> int:
        return 0

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self.rows.append((step, metrics))

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        self.hparams = dict(params)

    def finalize(self, status: str) -> None:
        self.status.append(status)


def test_several_loggers(lightning: Any) -> None:
    loggers = [Recorder("a"), Recorder("b")]
    trainer = lightning.trainer(logger=loggers, enable_checkpointing=False)
    model = lightning.Plain()
    trainer.fit(model, lightning.loader())
    assert loggers[0].rows == loggers[1].rows and len(loggers[0].rows) == 14
    assert loggers[0].hparams == {"lr": 0.1, "dropout": 0.0} and loggers[1].status == ["success"]
    assert model.logger is loggers[0] and model.loggers == loggers


def test_loggers_hear_of_failure(lightning: Any) -> None:
    logger = Recorder()
    with pytest.raises(ZeroDivisionError):
        run(lightning, "on_train_batch_start", lambda module: 1 / 0, logger=logger)
    assert logger.status == ["failed"]


def test_hyperparameters_that_clash(lightning: Any) -> None:
    class Data(L.LightningDataModule):
        def __init__(self, lr: float) -> None:
            super().__init__()
            self.save_hyperparameters()

        def train_dataloader(self) -> Any:
            return lightning.loader()

    logger = Recorder()
    lightning.trainer(logger=logger, enable_checkpointing=False).fit(lightning.Plain(), datamodule=Data(0.1))
    assert logger.hparams == {"lr": 0.1, "dropout": 0.0}
    with pytest.raises(MisconfigurationException, match=r"\['lr'\] are present in both"):
        lightning.trainer(logger=Recorder(), enable_checkpointing=False).fit(lightning.Plain(), datamodule=Data(0.2))


def test_something_that_is_no_logger(lightning: Any) -> None:
    with pytest.raises(TypeError, match="Expected a `Logger`"):
        lightning.trainer(logger="csv")
