"""Callbacks beyond those in the reference table, and what the progress bar and the summary show."""

from __future__ import annotations

import io
import logging
import re
from typing import Any

import pytest

import tocha
import tocha_lightning as L
from tocha_lightning.callbacks import (
    BasePredictionWriter,
    EarlyStopping,
    GradientAccumulationScheduler,
    LambdaCallback,
    LearningRateMonitor,
    ModelSummary,
    TextProgressBar,
    Timer,
    TQDMProgressBar,
)
from tocha_lightning.utilities import MisconfigurationException
from tocha_lightning.utilities.model_summary import ModelSummary as Summary
from tocha_lightning.utilities.model_summary import summarize


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def with_bar(lightning: Any, stream: Any, **arguments: Any) -> L.Trainer:
    bar = TextProgressBar(stream=stream, **arguments.pop("bar", {}))
    return lightning.trainer(callbacks=[bar], enable_progress_bar=True, enable_checkpointing=False, **arguments)


def test_progress_in_a_log_file(lightning: Any) -> None:
    stream = io.StringIO()
    trainer = with_bar(lightning, stream, max_epochs=3)
    trainer.fit(lightning.Small(), lightning.loader(), lightning.loader(4))
    text = stream.getvalue()
    assert "\r" not in text and "\x1b" not in text
    lines = text.splitlines()
    assert lines[0].startswith("Epoch 0/2: 100% 6/6 [00:00<00:00, ") and lines[-1].startswith("Epoch 2/2: 100% 6/6")
    assert re.search(r"\d+\.\d\d it/s, loss_step=\d\.\d+, val_loss=\d\.\d+, loss_epoch=\d\.\d+\]$", lines[0])
    assert 2 <= len(lines) <= 3


def test_progress_in_a_terminal(lightning: Any) -> None:
    stream = Terminal()
    trainer = with_bar(lightning, stream, max_epochs=2)
    trainer.fit(lightning.Small(), lightning.loader(), lightning.loader(4))
    text = stream.getvalue()
    assert text.count("\n") == 1 and text.endswith("\n") and "█" in text
    assert text.rstrip("\n").split("\r")[-1].startswith("Epoch 1/1: 100%|")
    assert max(len(part) for part in text.split("\r")) <= 200


def test_every_epoch_may_keep_its_line(lightning: Any) -> None:
    stream = Terminal()
    with_bar(lightning, stream, max_epochs=3, bar={"leave": True}).fit(lightning.Plain(), lightning.loader())
    assert stream.getvalue().count("\n") == 3


def test_progress_of_evaluation_and_prediction(lightning: Any) -> None:
    stream = io.StringIO()
    trainer = with_bar(lightning, stream)
    model = lightning.Small()
    trainer.validate(model, lightning.loader(), verbose=False)
    trainer.test(model, lightning.loader(), verbose=False)
    trainer.predict(model, lightning.loader())
    assert [line.split(" 6/6")[0] for line in stream.getvalue().splitlines()] == [
        "Validation: 100%", "Testing: 100%", "Predicting: 100%",
    ]  # fmt: skip


def test_progress_of_unknown_length(lightning: Any) -> None:
    class Batches:
        def __iter__(self) -> Any:
            return iter([(tocha.ones(2, 3), tocha.ones(2, 1))] * 4)

    stream = io.StringIO()
    with_bar(lightning, stream, max_epochs=1).fit(lightning.Plain(), Batches())
    assert re.match(r"Epoch 0/0: 4 \[00:00, .* it/s, loss_step", stream.getvalue())


def test_no_progress_at_a_refresh_rate_of_0(lightning: Any) -> None:
    stream = io.StringIO()
    with_bar(lightning, stream, bar={"refresh_rate": 0}).fit(lightning.Plain(), lightning.loader())
    assert stream.getvalue() == ""


def test_printing_beside_the_bar(lightning: Any) -> None:
    class Model(lightning.Plain):
        def on_train_epoch_end(self) -> None:
            self.print("epoch", self.current_epoch)

    stream = Terminal()
    with_bar(lightning, stream).fit(Model(), lightning.loader())
    assert "epoch 0\n" in stream.getvalue() and "epoch 1\n" in stream.getvalue()


def test_the_bar_is_lightnings_by_name() -> None:
    assert TQDMProgressBar is TextProgressBar
    assert TQDMProgressBar(refresh_rate=10).refresh_rate == 10


def test_metrics_of_the_bar(lightning: Any) -> None:
    from tocha_lightning.loggers import CSVLogger

    trainer = with_bar(lightning, io.StringIO(), logger=CSVLogger(lightning.path, version="long_version"))
    trainer.fit(lightning.Plain(), lightning.loader())
    metrics = trainer.progress_bar_callback.get_metrics(trainer, trainer.lightning_module)
    assert list(metrics) == ["v_num", "loss_step", "loss_epoch"] and metrics["v_num"] == "sion"

    class Clash(lightning.Plain):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            self.log("v_num", 1.0, prog_bar=True)
            return self.loss(batch)

    with pytest.warns(UserWarning, match="already tracks a metric with the name"):
        with_bar(lightning, io.StringIO(), logger=CSVLogger(lightning.path)).fit(Clash(), lightning.loader())


def test_two_progress_bars(lightning: Any) -> None:
    with pytest.raises(MisconfigurationException, match="only one progress bar is supported"):
        lightning.trainer(callbacks=[TextProgressBar(), TextProgressBar()], enable_progress_bar=True)
    with pytest.raises(MisconfigurationException, match="`enable_progress_bar=False`"):
        lightning.trainer(callbacks=[TextProgressBar()])


class Convolutions(L.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = tocha.nn.Sequential(tocha.nn.Conv2d(1, 4, 3, padding=1), tocha.nn.ReLU(), tocha.nn.Flatten())
        self.head = tocha.nn.Linear(4 * 8 * 8, 10)
        self.scale = tocha.nn.Parameter(tocha.ones(1))
        self.example_input_array = tocha.zeros(2, 1, 8, 8)

    def forward(self, x: Any) -> Any:
        return self.head(self.net(x)) * self.scale


def test_summary_of_a_model() -> None:
    model = Convolutions()
    model.head.weight.requires_grad = False
    model.net.eval()
    summary = summarize(model)
    parameters = 4 * 9 + 4 + 256 * 10 + 10 + 1
    assert summary.total_parameters == parameters and summary.trainable_parameters == parameters - 2560
    flops = 2 * (2 * 4 * 64 * 9) + 2 * (2 * 10 * 256)
    assert summary.total_flops == flops
    lines = str(summary).splitlines()
    headings = ["", "Name", "Type", "Params", "Mode", "FLOPs", "In sizes", "Out sizes"]
    assert [cell.strip() for cell in lines[0].split("|")] == headings
    assert "net" in lines[2] and "Sequential" in lines[2] and "[2, 1, 8, 8]" in lines[2] and "[2, 256]" in lines[2]
    assert "eval" in lines[2] and "train" in lines[3] and "2.6 K" in lines[3] and "other params" in lines[4]
    assert any(line.startswith("2.6 K") and "Total params" in line for line in lines)
    assert "Total FLOPs" in lines[-1] and not model.net.training and model.head.training


def test_depth_of_the_summary() -> None:
    model = Convolutions()
    assert list(Summary(model, max_depth=1).layers) == ["net", "head"]
    assert list(Summary(model, max_depth=2).layers) == list(Summary(model, max_depth=-1).layers)
    assert list(Summary(model, max_depth=2).layers) == ["net", "net.0", "net.1", "net.2", "head"]
    assert "Total params" in str(Summary(model, max_depth=0))
    with pytest.raises(ValueError, match="can be -1, 0 or > 0"):
        Summary(model, max_depth=-2)
    with pytest.raises(MisconfigurationException, match="Expected a `LightningModule`"):
        summarize(tocha.nn.Linear(1, 1))


def test_an_example_that_does_not_fit() -> None:
    model = Convolutions()
    model.example_input_array = tocha.zeros(2, 3)
    with pytest.raises(Exception) as caught:
        summarize(model)
    assert "example_input_array" in caught.value.__notes__[0]


def test_the_summary_is_logged(lightning: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="tocha_lightning")
    lightning.trainer(max_epochs=1, enable_model_summary=True, enable_checkpointing=False).fit(
        lightning.Plain(), lightning.loader()
    )
    assert "0 | layer | Linear" in caplog.text and "Total params" in caplog.text
    trainer = lightning.trainer(callbacks=[ModelSummary(max_depth=2)], enable_model_summary=True)
    assert sum(isinstance(callback, ModelSummary) for callback in trainer.callbacks) == 1


def test_functions_as_callback(lightning: Any) -> None:
    calls: list[str] = []
    callback = LambdaCallback(
        on_train_start=lambda trainer, pl_module: calls.append("start"),
        on_train_batch_end=lambda trainer, pl_module, outputs, batch, batch_idx: calls.append(f"batch {batch_idx}"),
        on_train_end=None,
    )
    lightning.trainer(max_epochs=1, callbacks=[callback], enable_checkpointing=False).fit(
        lightning.Plain(), lightning.loader(4)
    )
    assert calls == ["start", "batch 0", "batch 1"]
    with pytest.raises(TypeError, match="unexpected keyword argument 'on_lunch'"):
        LambdaCallback(on_lunch=print)
    with pytest.raises(TypeError, match="has to be a function"):
        LambdaCallback(on_train_start=3)


@pytest.mark.parametrize(
    ("scheduling", "error"),
    [({}, TypeError), ([1], TypeError), ({-1: 2}, MisconfigurationException), ({0: 0}, MisconfigurationException)],
)
def test_accumulation_schedules_that_cannot_work(scheduling: Any, error: Any) -> None:
    with pytest.raises(error):
        GradientAccumulationScheduler(scheduling)


def test_accumulation_is_scheduled_once(lightning: Any) -> None:
    with pytest.raises(ValueError, match="Either remove `accumulate_grad_batches`"):
        lightning.trainer(
            accumulate_grad_batches=2, callbacks=[GradientAccumulationScheduler({0: 2})], enable_checkpointing=False
        ).fit(lightning.Plain(), lightning.loader())


def test_early_stopping_says_why(lightning: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="tocha_lightning")
    stopping = EarlyStopping("val_loss", patience=1, min_delta=100.0, verbose=True)
    trainer = lightning.trainer(max_epochs=9, callbacks=[stopping], enable_checkpointing=False)
    trainer.fit(lightning.Small(), lightning.loader(), lightning.loader(4))
    assert trainer.current_epoch == 2 and stopping.stopped_epoch == 1
    assert stopping.stopping_reason.name == "PATIENCE_EXHAUSTED"
    assert "did not improve in the last 1 records" in caplog.text and "New best score" in caplog.text


def test_early_stopping_at_divergence(lightning: Any) -> None:
    stopping = EarlyStopping("val_loss", divergence_threshold=0.0)
    trainer = lightning.trainer(max_epochs=9, callbacks=[stopping], enable_checkpointing=False)
    trainer.fit(lightning.Small(), lightning.loader(), lightning.loader(4))
    assert trainer.current_epoch == 1 and stopping.stopping_reason.name == "DIVERGENCE_THRESHOLD"


def test_early_stopping_without_its_metric(lightning: Any) -> None:
    with pytest.raises(RuntimeError, match="metric `nothing` which is not available"):
        lightning.trainer(callbacks=[EarlyStopping("nothing")], enable_checkpointing=False).fit(
            lightning.Plain(), lightning.loader()
        )
    trainer = lightning.trainer(callbacks=[EarlyStopping("nothing", strict=False)], enable_checkpointing=False)
    trainer.fit(lightning.Plain(), lightning.loader())
    assert trainer.current_epoch == 2
    with pytest.raises(MisconfigurationException, match="`mode` can be min, max"):
        EarlyStopping("x", mode="auto")


def test_learning_rate_monitor_needs_a_logger(lightning: Any) -> None:
    with pytest.raises(MisconfigurationException, match="that has no logger"):
        lightning.trainer(callbacks=[LearningRateMonitor()], enable_checkpointing=False).fit(
            lightning.Plain(), lightning.loader()
        )
    with pytest.raises(MisconfigurationException, match="`step` or `epoch` or `None`"):
        LearningRateMonitor("week")


def test_timer_arguments() -> None:
    with pytest.raises(MisconfigurationException, match="Possible choices are: step, epoch"):
        Timer(interval="minute")
    timer = Timer()
    assert timer.time_remaining() is None and timer.time_elapsed("test") == 0.0


def test_two_callbacks_of_the_same_state(lightning: Any) -> None:
    with pytest.raises(RuntimeError, match="more than one stateful callback of type `EarlyStopping`"):
        lightning.trainer(callbacks=[EarlyStopping("a"), EarlyStopping("a")])
    lightning.trainer(callbacks=[EarlyStopping("a"), EarlyStopping("b")])


class Writer(BasePredictionWriter):
    def __init__(self, interval: str) -> None:
        super().__init__(interval)
        self.batches: list[Any] = []
        self.epochs: list[Any] = []

    def write_on_batch_end(self, trainer: Any, pl_module: Any, prediction: Any, batch_indices: Any, batch: Any,
                           batch_idx: int, dataloader_idx: int) -> None:  # fmt: skip
        self.batches.append((batch_indices, dataloader_idx))

    def write_on_epoch_end(self, trainer: Any, pl_module: Any, predictions: Any, batch_indices: Any) -> None:
        self.epochs.append((len(predictions), batch_indices))


@pytest.mark.parametrize("workers", [0, 1])
def test_prediction_writer(lightning: Any, workers: int) -> None:
    writer = Writer("batch_and_epoch")
    lightning.trainer(callbacks=[writer]).predict(
        lightning.Plain(), lightning.loader(5, 2, num_workers=workers), return_predictions=True
    )
    assert writer.batches == [([0, 1], 0), ([2, 3], 0), ([4], 0)]
    assert writer.epochs == [(3, [[0, 1], [2, 3], [4]])]
    with pytest.raises(MisconfigurationException, match="`write_interval` should be one of"):
        Writer("hourly")
