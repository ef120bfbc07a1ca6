"""The Trainer's arguments, its properties, and how runs end."""

from __future__ import annotations

import inspect
import itertools
import logging
import os
import signal
import threading
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

import tocha
import tocha_lightning as L
from tocha_lightning.callbacks import Timer
from tocha_lightning.callbacks import timer as timer_module
from tocha_lightning.loggers import CSVLogger
from tocha_lightning.loops import evaluation, fit, training_epoch
from tocha_lightning.plugins import FileCheckpointIO, Precision
from tocha_lightning.strategies import SingleDeviceStrategy
from tocha_lightning.trainer.states import TrainerStatus
from tocha_lightning.utilities import MisconfigurationException

ARGUMENTS = """accelerator strategy devices num_nodes precision logger callbacks fast_dev_run max_epochs min_epochs
max_steps min_steps max_time limit_train_batches limit_val_batches limit_test_batches limit_predict_batches
overfit_batches val_check_interval check_val_every_n_epoch num_sanity_val_steps log_every_n_steps enable_checkpointing
enable_progress_bar enable_model_summary accumulate_grad_batches gradient_clip_val gradient_clip_algorithm deterministic
benchmark inference_mode use_distributed_sampler profiler detect_anomaly barebones plugins sync_batchnorm
reload_dataloaders_every_n_epochs default_root_dir enable_autolog_hparams model_registry""".split()


def test_arguments_are_lightnings() -> None:
    parameters = inspect.signature(L.Trainer.__init__).parameters
    assert list(parameters)[1:] == ARGUMENTS
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in list(parameters.values())[1:])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"max_epochs": -2}, MisconfigurationException, "non-negative integer or -1"),
        ({"max_steps": -2}, MisconfigurationException, "non-negative integer or -1"),
        ({"fast_dev_run": -1}, MisconfigurationException, "should be >= 0"),
        ({"limit_train_batches": 1.5}, MisconfigurationException, "invalid value 1.5 for limit_train_batches"),
        ({"limit_val_batches": -0.1}, MisconfigurationException, "limit_val_batches"),
        ({"overfit_batches": "all"}, (MisconfigurationException, TypeError), "overfit_batches"),
        ({"gradient_clip_val": "large"}, TypeError, "should be an int or a float"),
        ({"gradient_clip_val": 1, "gradient_clip_algorithm": "sideways"}, MisconfigurationException, "sideways"),
        ({"accumulate_grad_batches": 0}, MisconfigurationException, "accumulate_grad_batches"),
        ({"check_val_every_n_epoch": 1.5}, MisconfigurationException, "should be an integer"),
        ({"check_val_every_n_epoch": None, "val_check_interval": 0.5}, MisconfigurationException, "val_check_interval"),
        ({"reload_dataloaders_every_n_epochs": -1}, MisconfigurationException, "reload_dataloaders"),
        ({"accelerator": "abacus"}, ValueError, "Available names are: auto, cpu, cuda, gpu"),
        ({"strategy": "many"}, ValueError, "invalid strategy name"),
        ({"devices": 2}, MisconfigurationException, "asks for 2 processes"),
        ({"devices": 0}, MisconfigurationException, "should be an int > 0"),
        ({"num_nodes": 0}, ValueError, "positive integer"),
        ({"precision": 8}, ValueError, "Allowed precision values"),
        ({"profiler": "crystal"}, MisconfigurationException, "can only be one of"),
        ({"plugins": ["word"]}, MisconfigurationException, "invalid type for plugin"),
        ({"plugins": [Precision(), Precision()]}, MisconfigurationException, "multiple values for Precision"),
        ({"plugins": [Precision()], "precision": 64}, ValueError, "Received both"),
        ({"callbacks": ["print"]}, TypeError, "Expected a `Callback`"),
        ({"max_time": "soon"}, MisconfigurationException, "DD:HH:MM:SS"),
        ({"model_registry": "m"}, MisconfigurationException, "model_registry"),
    ],
)
def test_arguments_that_cannot_work(lightning: Any, arguments: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        lightning.trainer(**arguments)


@pytest.mark.parametrize(
    "argument",
    [
        {"enable_checkpointing": True}, {"logger": True}, {"enable_progress_bar": True}, {"log_every_n_steps": 1},
        {"enable_model_summary": True}, {"num_sanity_val_steps": 1}, {"fast_dev_run": True}, {"detect_anomaly": True},
        {"profiler": "simple"},
    ],
)  # fmt: skip
def test_barebones_refuses(argument: Any) -> None:
    with pytest.raises(ValueError, match="barebones=True"):
        L.Trainer(barebones=True, **argument)


def test_defaults(lightning: Any) -> None:
    trainer = L.Trainer(accelerator="cpu", default_root_dir=lightning.path)
    names = [type(callback).__name__ for callback in trainer.callbacks]
    assert names == ["TextProgressBar", "ModelSummary", "ModelCheckpoint"]
    assert trainer.log_every_n_steps == 50 and trainer.num_sanity_val_steps == 2
    assert trainer.precision == "32-true" and trainer.world_size == 1 and trainer.is_global_zero
    assert trainer.max_epochs is None and trainer.max_steps == -1
    assert isinstance(trainer.strategy, SingleDeviceStrategy) and trainer.device_ids == [0]
    assert trainer.default_root_dir == str(lightning.path) and trainer.logger is not None
    assert (
        trainer.checkpoint_callback is trainer.callbacks[-1] and trainer.progress_bar_callback is trainer.callbacks[0]
    )


def test_plugins_are_used(lightning: Any) -> None:
    io = FileCheckpointIO()
    assert lightning.trainer(plugins=io).strategy.checkpoint_io is io
    strategy = SingleDeviceStrategy("cpu")
    assert lightning.trainer(strategy=strategy).strategy is strategy
    assert lightning.trainer(strategy="single_device", devices="1").num_devices == 1


def test_a_thousand_epochs_unless_told(lightning: Any) -> None:
    trainer = lightning.trainer(max_epochs=None, enable_checkpointing=False, limit_train_batches=1)
    trainer.callbacks.append(
        type("Stop", (L.Callback,), {"on_train_epoch_end": lambda *a: setattr(trainer, "should_stop", True)})()
    )
    with pytest.warns(UserWarning, match="Setting it to 1000 epochs"):
        trainer.fit(lightning.Plain(), lightning.loader())
    assert trainer.max_epochs == 1000 and trainer.current_epoch == 1


@pytest.mark.parametrize("limit", [timedelta(seconds=5), {"seconds": 5}, "00:00:00:05"])
def test_max_time(lightning: Any, limit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count()  # the clock is looked at once a batch
    monkeypatch.setattr(timer_module, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    trainer = lightning.trainer(max_epochs=-1, max_time=limit, enable_checkpointing=False)
    trainer.fit(lightning.Plain(), lightning.loader(4))
    assert trainer.global_step == 5
    timer = next(c for c in trainer.callbacks if isinstance(c, Timer))
    assert timer.time_elapsed("train") >= 5 and timer.time_remaining() <= 0


def test_timer_that_ran_out_before_a_resume(lightning: Any) -> None:
    timer = Timer(duration="00:00:00:01")
    timer.load_state_dict({"time_elapsed": {"train": 5.0}})
    trainer = lightning.trainer(max_epochs=-1, callbacks=[timer], enable_checkpointing=False)
    trainer.fit(lightning.Plain(), lightning.loader())
    assert trainer.global_step == 0


def test_val_check_interval_in_time(lightning: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    validations: list[int] = []
    now = 0.0

    class Model(lightning.Small):
        def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
            nonlocal now
            now += 1.0

        def on_validation_end(self) -> None:
            validations.append(self.global_step)

    for module in (evaluation, fit, training_epoch):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    trainer = lightning.trainer(
        max_epochs=1, val_check_interval={"seconds": 6}, enable_checkpointing=False, num_sanity_val_steps=0
    )
    trainer.fit(Model(), lightning.loader(40), lightning.loader(2))
    assert validations == [6, 12, 18]


def test_val_check_interval_beyond_the_epoch(lightning: Any) -> None:
    with pytest.raises(ValueError, match=r"`val_check_interval` \(7\) must be less than or equal to the number"):
        lightning.trainer(val_check_interval=7).fit(lightning.Small(), lightning.loader(), lightning.loader())


def test_estimated_stepping_batches(lightning: Any) -> None:
    seen = []

    class Model(lightning.Plain):
        def configure_optimizers(self) -> Any:
            seen.append(self.trainer.estimated_stepping_batches)
            optimizer = tocha.optim.SGD(self.parameters(), lr=0.1)
            schedule = tocha.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=seen[-1])
            return [optimizer], [{"scheduler": schedule, "interval": "step"}]

    for arguments, expected in [({}, 12), ({"accumulate_grad_batches": 4}, 4), ({"max_steps": 5}, 5)]:
        trainer = lightning.trainer(enable_checkpointing=False, **arguments)
        trainer.fit(Model(), lightning.loader())
        assert seen[-1] == expected == trainer.global_step
    assert lightning.trainer(max_epochs=-1).estimated_stepping_batches == float("inf")


def test_gradient_clipping_with_infinite_norms(lightning: Any) -> None:
    class Model(lightning.Plain):
        def on_after_backward(self) -> None:
            self.layer.weight.grad.fill_(float("inf"))

    model = Model()
    before = model.layer.bias.item()
    lightning.trainer(max_epochs=1, gradient_clip_val=1.0, enable_checkpointing=False).fit(model, lightning.loader(2))
    # a norm of infinity scales every gradient by zero: finite ones vanish, infinite ones become NaN
    assert bool(tocha.isnan(model.layer.weight).all()) and model.layer.bias.item() == before
    model = Model()
    lightning.trainer(
        max_epochs=1, gradient_clip_val=0.5, gradient_clip_algorithm="value", enable_checkpointing=False
    ).fit(model, lightning.loader(2))
    assert bool(tocha.isfinite(model.layer.weight).all())


def test_clip_gradients_in_an_override(lightning: Any) -> None:
    class Model(lightning.Plain):
        def configure_gradient_clipping(self, optimizer: Any, value: Any = None, algorithm: Any = None) -> None:
            self.clip_gradients(optimizer, gradient_clip_val=0.01, gradient_clip_algorithm="norm")
            norm = sum(float((p.grad**2).sum()) for p in self.parameters()) ** 0.5
            assert norm <= 0.0101

    lightning.trainer(max_epochs=1, enable_checkpointing=False).fit(Model(), lightning.loader())
    with pytest.raises(MisconfigurationException, match="Please use only one of them"):
        lightning.trainer(gradient_clip_val=1.0, enable_checkpointing=False).fit(Model(), lightning.loader())


def test_detect_anomaly(lightning: Any) -> None:
    class Model(lightning.Plain):
        def loss(self, batch: Any) -> Any:
            return (super().loss(batch) * 0).sqrt() * 0

    with pytest.raises(RuntimeError, match="nan"), pytest.warns(UserWarning, match="Traceback of forward call"):
        lightning.trainer(detect_anomaly=True, enable_checkpointing=False).fit(Model(), lightning.loader())


def test_sanity_check_leaves_no_trace(lightning: Any) -> None:
    states = []

    class Model(lightning.Small):
        def validation_step(self, batch: Any, batch_idx: int) -> None:
            tocha.rand(3)
            super().validation_step(batch, batch_idx)

        def on_train_start(self) -> None:
            states.append(tocha.get_rng_state())
            assert self.trainer.callback_metrics == {} and self.training

    for steps in (0, 2, -1):
        L.seed_everything(5, verbose=False)
        lightning.trainer(max_epochs=1, num_sanity_val_steps=steps, enable_checkpointing=False).fit(
            Model(), lightning.loader(), lightning.loader(6)
        )
    assert all(bool((state == states[0]).all()) for state in states)


def test_modules_keep_their_mode(lightning: Any) -> None:
    class Model(lightning.Small):
        def __init__(self) -> None:
            super().__init__()
            self.frozen = tocha.nn.Dropout()
            self.frozen.eval()

        def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
            assert self.training and not self.frozen.training

        def on_validation_batch_start(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
            assert not self.training and not tocha.is_grad_enabled()

    model = Model()
    with pytest.warns(UserWarning, match=r"Found 1 module\(s\) in eval mode"):
        lightning.trainer(enable_checkpointing=False).fit(model, lightning.loader(), lightning.loader(4))
    assert model.training and not model.frozen.training


@pytest.mark.parametrize("inference", [True, False])
def test_inference_mode(lightning: Any, inference: bool) -> None:
    class Model(lightning.Small):
        def validation_step(self, batch: Any, batch_idx: int) -> None:
            assert tocha.is_inference_mode_enabled() == inference

    lightning.trainer(inference_mode=inference).validate(Model(), lightning.loader(), verbose=False)


def test_results_are_printed(lightning: Any, capsys: pytest.CaptureFixture[str]) -> None:
    result = lightning.trainer().test(lightning.Small(), lightning.loader())
    assert list(result[0]) == ["test_loss"] and isinstance(result[0]["test_loss"], float)
    out = capsys.readouterr().out
    assert "test metric" in out and "test_loss" in out and f"{result[0]['test_loss']:.6g}" in out


def test_methods_without_what_they_need(lightning: Any) -> None:
    trainer = lightning.trainer()
    with pytest.raises(TypeError, match="must be a `LightningModule`"):
        trainer.fit(tocha.nn.Linear(1, 1), lightning.loader())
    with pytest.raises(TypeError, match="requires a `LightningModule`"):
        lightning.trainer().test(dataloaders=lightning.loader())
    with pytest.raises(MisconfigurationException, match=r"No `training_step\(\)` method"):
        trainer.fit(L.LightningModule(), lightning.loader())
    with pytest.raises(MisconfigurationException, match=r"No `validation_step\(\)` method"):
        trainer.validate(lightning.Plain(), lightning.loader())
    with pytest.raises(MisconfigurationException, match=r"No `test_dataloader\(\)` method"):
        trainer.test(lightning.Plain())
    with pytest.raises(MisconfigurationException, match="cannot pass"):
        trainer.fit(lightning.Plain(), lightning.loader(), datamodule=L.LightningDataModule())

    class Old(lightning.Plain):
        def training_epoch_end(self, outputs: Any) -> None:
            pass

    with pytest.raises(NotImplementedError, match="`on_train_epoch_end` hook instead"):
        trainer.fit(Old(), lightning.loader())


def test_data_and_step_without_each_other(lightning: Any) -> None:
    with pytest.warns(UserWarning, match="have no `val_dataloader`"):
        lightning.trainer(max_epochs=1, enable_checkpointing=False).fit(lightning.Small(), lightning.loader())
    with pytest.warns(UserWarning, match="have no `validation_step`"):
        lightning.trainer(max_epochs=1, enable_checkpointing=False).fit(
            lightning.Plain(), lightning.loader(), lightning.loader()
        )


def test_errors_say_where_they_happened(lightning: Any) -> None:
    class Model(lightning.Small):
        where = "training_step"

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            if batch_idx == 2 and self.where == "training_step":
                tocha.ones(2, 3) @ tocha.ones(2, 3)
            return super().training_step(batch, batch_idx)

        def on_validation_batch_end(self, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
            if self.where == "validation" and not self.trainer.sanity_checking:
                raise KeyError("x")

        def predict_step(self, batch: Any, batch_idx: int) -> Any:
            raise ValueError("no")

    model = Model()
    trainer = lightning.trainer(enable_checkpointing=False)
    with pytest.raises(RuntimeError) as caught:
        trainer.fit(model, lightning.loader(), lightning.loader(4))
    assert caught.value.__notes__ == [
        "While training in `training_step`: epoch 0, batch 2, batch contents [float32[2, 3], float32[2, 1]]"
    ]
    assert trainer.interrupted and trainer.state.status is TrainerStatus.INTERRUPTED
    model.where = "validation"
    with pytest.raises(KeyError) as caught_key:
        trainer.fit(model, lightning.loader(), lightning.loader(4))
    assert "During validation in `on_validation_batch_end`: batch 0" in caught_key.value.__notes__[0]
    with pytest.raises(ValueError, match="no") as caught_value:
        trainer.predict(model, lightning.loader())
    assert "in `predict_step`: batch 0" in caught_value.value.__notes__[0]


def test_a_failed_run_can_be_followed_by_another(lightning: Any) -> None:
    class Model(lightning.Plain):
        fail = True

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            if self.fail:
                raise RuntimeError("once")
            return super().training_step(batch, batch_idx)

    model = Model()
    trainer = lightning.trainer(max_epochs=1, enable_checkpointing=False)
    with pytest.raises(RuntimeError, match="once"):
        trainer.fit(model, lightning.loader())
    model.fail = False
    lightning.trainer(max_epochs=1, enable_checkpointing=False).fit(model, lightning.loader())
    assert "loss_epoch" in model.trainer.callback_metrics


def test_ctrl_c(lightning: Any, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[Any] = []

    class Model(lightning.Plain):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            if self.global_step == 3:
                raise KeyboardInterrupt
            return super().training_step(batch, batch_idx)

    class Watch(L.Callback):
        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            seen.append(type(exception))

    caplog.set_level(logging.INFO, logger="tocha_lightning")
    before = signal.getsignal(signal.SIGINT)
    trainer = lightning.trainer(callbacks=[Watch()], enable_checkpointing=False)
    with pytest.raises(SystemExit):
        trainer.fit(Model(), lightning.loader())
    assert seen == [KeyboardInterrupt] and trainer.interrupted
    assert signal.getsignal(signal.SIGINT) is before
    assert "attempting graceful shutdown" in caplog.text


def test_sigterm_ends_between_batches(lightning: Any) -> None:
    class Model(lightning.Plain):
        ended = 0

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            if self.global_step == 3:
                os.kill(os.getpid(), signal.SIGTERM)
            return super().training_step(batch, batch_idx)

        def on_train_batch_end(self, *args: Any) -> None:
            self.ended += 1

    model = Model()
    before = signal.getsignal(signal.SIGTERM)
    trainer = lightning.trainer(enable_checkpointing=False)
    with pytest.raises(SystemExit):
        trainer.fit(model, lightning.loader())
    assert model.ended == 4 and trainer.global_step == 4 and trainer.received_sigterm
    assert signal.getsignal(signal.SIGTERM) is before


def test_training_in_another_thread(lightning: Any) -> None:
    errors = []

    def work() -> None:
        try:
            lightning.trainer(max_epochs=1, enable_checkpointing=False).fit(lightning.Plain(), lightning.loader())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert errors == []


def test_no_reference_survives_a_run(lightning: Any) -> None:
    import gc
    import weakref

    batches: list[Any] = []

    class Model(lightning.Plain):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            batches.append(weakref.ref(batch[0]))
            return self.loss(batch)

    trainer = lightning.trainer(max_epochs=1, enable_checkpointing=False)
    trainer.fit(Model(), lightning.loader())
    gc.collect()
    assert [ref() for ref in batches] == [None] * 6


def test_train_again_with_the_same_trainer(lightning: Any) -> None:
    trainer = lightning.trainer(max_epochs=1, enable_checkpointing=False)
    model = lightning.Plain()
    trainer.fit(model, lightning.loader())
    trainer.fit_loop.max_epochs = 3
    trainer.fit(model, lightning.loader(8))
    assert trainer.current_epoch == 3 and trainer.global_step == 6 + 2 * 4


def test_log_dir(lightning: Any) -> None:
    assert lightning.trainer().log_dir == str(lightning.path)
    assert lightning.trainer(logger=CSVLogger(lightning.path, "n", 3)).log_dir == str(
        lightning.path / "n" / "version_3"
    )


@pytest.mark.parametrize("precision", ["64-true", "16-true", "bf16-true", 64])
def test_true_precision(lightning: Any, precision: Any) -> None:
    dtype = {"64-true": tocha.float64, 64: tocha.float64, "16-true": tocha.float16, "bf16-true": tocha.bfloat16}[
        precision
    ]

    class Model(lightning.Plain):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            assert batch[0].dtype == dtype and self.layer.weight.dtype == dtype == self.dtype
            assert tocha.zeros(1).dtype == dtype
            return self.loss(batch)

    trainer = lightning.trainer(max_epochs=1, precision=precision, enable_checkpointing=False)
    trainer.fit(Model(), lightning.loader())
    assert tocha.zeros(1).dtype == tocha.float32


@pytest.mark.parametrize("precision", ["bf16-mixed", "16-mixed"])
def test_mixed_precision(lightning: Any, precision: str) -> None:
    if not hasattr(tocha, "amp"):
        with pytest.raises(MisconfigurationException, match="needs automatic mixed precision"):
            lightning.trainer(precision=precision)
        return
    model = lightning.Plain()
    trainer = lightning.trainer(max_epochs=1, precision=precision, enable_checkpointing=False)
    trainer.fit(model, lightning.loader())
    assert trainer.precision == precision and trainer.global_step == 6 and model.layer.weight.dtype == tocha.float32


def test_profilers_report(lightning: Any) -> None:
    import json

    from tocha_lightning.profilers import AdvancedProfiler, SimpleProfiler, TochaProfiler

    for cls in (SimpleProfiler, AdvancedProfiler, TochaProfiler):
        profiler = cls(dirpath=lightning.path, filename=cls.__name__)
        lightning.trainer(max_epochs=1, profiler=profiler, enable_checkpointing=False).fit(
            lightning.Plain(), lightning.loader()
        )
        text = (lightning.path / f"fit-{cls.__name__}.txt").read_text()
        assert "run_training_batch" in text or "run_training_epoch" in text
    trace = json.loads((lightning.path / "fit-TochaProfiler.json").read_text())["traceEvents"]
    assert sum(event["name"] == "run_training_batch" for event in trace) == 6
    assert all(event["ph"] == "X" and event["dur"] >= 0 for event in trace)
