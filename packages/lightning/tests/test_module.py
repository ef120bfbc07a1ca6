"""The module: hyperparameters, optimization by hand, toggling, freezing, devices, seeds."""

from __future__ import annotations

import copy
import random
from argparse import Namespace
from typing import Any

import numpy as np
import pytest

import tocha
import tocha_lightning as L
from tocha_lightning.utilities import MisconfigurationException
from tocha_lightning.utilities.seed import isolate_rng


def test_saved_hyperparameters() -> None:
    class Base(L.LightningModule):
        def __init__(self, width: int, depth: int = 2, *, flag: bool = False, **rest: Any) -> None:
            super().__init__()
            self.save_hyperparameters()

    class Derived(Base):
        def __init__(self, name: str, width: int = 8) -> None:
            super().__init__(width, extra=1)

    assert dict(Base(3, flag=True, other="o").hparams) == {"width": 3, "depth": 2, "flag": True, "other": "o"}
    assert dict(Derived("n").hparams) == {"width": 8, "depth": 2, "flag": False, "extra": 1, "name": "n"}
    model = Base(3)
    model.hparams.width = 5
    assert model.hparams["width"] == 5 and model.hparams_initial.width == 3
    assert not hasattr(model.hparams, "nothing")


def test_chosen_hyperparameters() -> None:
    class Model(L.LightningModule):
        def __init__(self, a: int, b: int, c: int) -> None:
            super().__init__()
            self.save_hyperparameters("a", "c")

    class Without(L.LightningModule):
        def __init__(self, a: int, b: int) -> None:
            super().__init__()
            self.save_hyperparameters(ignore=["b"])

    class One(L.LightningModule):
        def __init__(self, config: Any) -> None:
            super().__init__()
            self.save_hyperparameters(config)

    assert dict(Model(1, 2, 3).hparams) == {"a": 1, "c": 3} and dict(Without(1, 2).hparams) == {"a": 1}
    assert dict(One({"x": 1}).hparams) == {"x": 1} == dict(One(Namespace(x=1)).hparams)
    assert One({"x": 1})._hparams_name == "config"
    with pytest.raises(ValueError, match="Unsupported config type"):
        One(3.5)
    with pytest.warns(UserWarning, match="is an instance of `nn.Module`"):
        One({"x": tocha.nn.Linear(1, 1)})


def test_one_dictionary_of_hyperparameters_is_given_back(lightning: Any) -> None:
    class One(lightning.Plain):
        def __init__(self, config: Any) -> None:
            L.LightningModule.__init__(self)
            self.save_hyperparameters(config)
            self.layer = tocha.nn.Linear(3, config["out"])
            self.drop, self.seen = tocha.nn.Identity(), []

        def configure_optimizers(self) -> Any:
            return tocha.optim.SGD(self.parameters(), lr=0.1)

    trainer = lightning.trainer(max_epochs=1, enable_checkpointing=False)
    trainer.fit(One({"out": 1}), lightning.loader())
    trainer.save_checkpoint(lightning.path / "c.ckpt")
    assert One.load_from_checkpoint(lightning.path / "c.ckpt").layer.out_features == 1


def test_manual_optimization_of_two_networks(lightning: Any) -> None:
    class Gan(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.automatic_optimization = False
            self.g, self.d = tocha.nn.Linear(1, 1), tocha.nn.Linear(1, 1)
            self.lrs: list[float] = []

        def training_step(self, batch: Any, batch_idx: int) -> None:
            g_opt, d_opt = self.optimizers()
            self.toggle_optimizer(g_opt)
            assert self.g.weight.requires_grad and not self.d.weight.requires_grad
            loss = self.d(self.g(batch[0][:, :1])).mean()
            g_opt.zero_grad()
            self.manual_backward(loss)
            assert self.d.weight.grad is None or float(self.d.weight.grad.abs().sum()) >= 0
            g_opt.step()
            self.untoggle_optimizer(g_opt)
            assert self.d.weight.requires_grad
            with d_opt.toggle_model():
                assert not self.g.weight.requires_grad
                d_loss = self.d(batch[1]).pow(2).mean()
                d_opt.zero_grad()
                self.manual_backward(d_loss)
                self.clip_gradients(d_opt, gradient_clip_val=0.5, gradient_clip_algorithm="norm")
                d_opt.step()
            self.log_dict({"g": loss, "d": d_loss}, prog_bar=True)
            if self.trainer.is_last_batch:
                first, second = self.lr_schedulers()
                first.step()
                self.lrs.append(g_opt.param_groups[0]["lr"])

        def configure_optimizers(self) -> Any:
            g = tocha.optim.Adam(self.g.parameters(), lr=0.1)
            d = tocha.optim.Adam(self.d.parameters(), lr=0.1)
            step = tocha.optim.lr_scheduler.StepLR
            return [g, d], [step(g, 1, 0.5), {"scheduler": step(d, 1), "interval": "step"}]

    model = Gan()
    trainer = lightning.trainer(enable_checkpointing=False)
    trainer.fit(model, lightning.loader())
    assert trainer.global_step == 2 * 12 and model.lrs == [0.05, 0.025]
    assert {"g", "d"} <= trainer.callback_metrics.keys()


def test_manual_optimization_refuses_what_is_automatic(lightning: Any) -> None:
    class Model(lightning.Plain):
        def __init__(self) -> None:
            super().__init__()
            self.automatic_optimization = False

    with pytest.raises(MisconfigurationException, match="gradient clipping is not supported for manual"):
        lightning.trainer(gradient_clip_val=1.0).fit(Model(), lightning.loader())
    with pytest.raises(MisconfigurationException, match="accumulation is not supported for manual"):
        lightning.trainer(accumulate_grad_batches=2).fit(Model(), lightning.loader())

    class Wrong(lightning.Plain):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            self.manual_backward(self.loss(batch))

    with pytest.raises(MisconfigurationException, match="please disable automatic optimization"):
        lightning.trainer(enable_checkpointing=False).fit(Wrong(), lightning.loader())


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        (lambda o, lr: [o, o], RuntimeError, "only supported with manual optimization"),
        (lambda o, lr: "sgd", MisconfigurationException, "Unknown configuration for model optimizers"),
        (lambda o, lr: {"lr_scheduler": lr.StepLR(o, 1)}, MisconfigurationException, 'must have the key "optimizer"'),
        (lambda o, lr: ([o], [{"interval": "step"}]), MisconfigurationException, 'must have the key "scheduler"'),
        (
            lambda o, lr: ([o], [{"scheduler": lr.StepLR(o, 1), "interval": "week"}]),
            MisconfigurationException,
            '"step" or "epoch"',
        ),
        (lambda o, lr: ([o], [lr.ReduceLROnPlateau(o)]), MisconfigurationException, "must include a monitor"),
        (lambda o, lr: ([o], [lr.StepLR(copy.deepcopy(o), 1)]), MisconfigurationException, "wasn't returned"),
    ],
)
def test_optimizer_configurations_that_cannot_work(lightning: Any, returned: Any, error: Any, message: str) -> None:
    class Model(lightning.Plain):
        def configure_optimizers(self) -> Any:
            return returned(super().configure_optimizers(), tocha.optim.lr_scheduler)

    with pytest.raises(error, match=message):
        lightning.trainer(enable_checkpointing=False).fit(Model(), lightning.loader())


@pytest.mark.parametrize("strict", [True, False])
def test_plateau_without_its_metric(lightning: Any, strict: bool) -> None:
    class Model(lightning.Plain):
        def configure_optimizers(self) -> Any:
            optimizer = super().configure_optimizers()
            scheduler = tocha.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
            return [optimizer], [{"scheduler": scheduler, "monitor": "nothing", "strict": strict}]

    trainer = lightning.trainer(max_epochs=1, enable_checkpointing=False)
    if strict:
        with pytest.raises(MisconfigurationException, match="conditioned on metric nothing"):
            trainer.fit(Model(), lightning.loader())
    else:
        with pytest.warns(RuntimeWarning, match="Skipping learning rate update"):
            trainer.fit(Model(), lightning.loader())


def test_no_optimizer(lightning: Any) -> None:
    class Model(lightning.Plain):
        def configure_optimizers(self) -> Any:
            return None

    model = Model()
    before = model.layer.weight.detach().clone()
    with pytest.warns(UserWarning, match="run with no optimizer"):
        lightning.trainer(max_epochs=1).fit(model, lightning.loader())
    assert bool((model.layer.weight == before).all())


@pytest.mark.parametrize("output", [1.0, "loss", [1]])
def test_training_steps_that_return_nonsense(lightning: Any, output: Any) -> None:
    class Model(lightning.Plain):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            return output

    with pytest.raises(MisconfigurationException, match="must return a Tensor, a dict, or None"):
        lightning.trainer(enable_checkpointing=False).fit(Model(), lightning.loader())


def test_a_dictionary_without_loss(lightning: Any) -> None:
    class Model(lightning.Plain):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            return {"cost": self.loss(batch)}

    with pytest.raises(MisconfigurationException, match="'loss' key needs to be present"):
        lightning.trainer(enable_checkpointing=False).fit(Model(), lightning.loader())


def test_overridden_optimizer_step(lightning: Any) -> None:
    class Model(lightning.Plain):
        calls = 0

        def optimizer_step(self, epoch: int, batch_idx: int, optimizer: Any, optimizer_closure: Any = None) -> None:
            assert isinstance(optimizer, tocha.optim.SGD) and optimizer.param_groups[0]["lr"] == 0.1
            self.calls += 1
            super().optimizer_step(epoch, batch_idx, optimizer, optimizer_closure)

    model = Model()
    lightning.trainer(accumulate_grad_batches=4, enable_checkpointing=False).fit(model, lightning.loader())
    assert model.calls == 4


def test_freezing() -> None:
    model = L.LightningModule()
    model.layer = tocha.nn.Linear(1, 1)
    assert model.freeze() is model and not model.layer.weight.requires_grad and not model.training
    assert model.unfreeze().layer.weight.requires_grad and model.training


def test_device_and_dtype_follow_the_module() -> None:
    model = L.LightningModule()
    model.layer = tocha.nn.Linear(1, 1)
    assert (model.device.type, model.dtype, model.on_gpu) == ("cpu", tocha.float32, False)
    model.double()
    assert model.dtype == tocha.float64
    model.to("meta")
    assert model.device.type == "meta"
    parent = tocha.nn.Sequential(L.LightningModule())
    parent.half()
    assert parent[0].dtype == tocha.float16


def test_without_a_trainer() -> None:
    model = L.LightningModule()
    with pytest.raises(RuntimeError, match="is not attached to a `Trainer`"):
        _ = model.trainer
    assert (model.current_epoch, model.global_step, model.global_rank, model.logger, model.loggers) == (
        0,
        0,
        0,
        None,
        [],
    )
    model.print("ok")


def test_copies_leave_the_trainer_behind(lightning: Any) -> None:
    model = lightning.Plain()
    lightning.trainer(max_epochs=1, enable_checkpointing=False).fit(model, lightning.loader())
    assert copy.deepcopy(model)._trainer is None and model._trainer is not None


def test_callbacks_of_the_model(lightning: Any) -> None:
    from tocha_lightning.callbacks import EarlyStopping

    class Model(lightning.Small):
        def configure_callbacks(self) -> Any:
            return [EarlyStopping("val_loss", patience=7)]

    trainer = lightning.trainer(callbacks=[EarlyStopping("val_loss", patience=1)], enable_checkpointing=False)
    trainer.fit(Model(), lightning.loader(), lightning.loader(4))
    assert [callback.patience for callback in trainer.early_stopping_callbacks] == [7]


def test_configure_model_runs_before_the_optimizer(lightning: Any) -> None:
    class Model(lightning.Plain):
        def __init__(self) -> None:
            super().__init__()
            self.layer = None

        def configure_model(self) -> None:
            if self.layer is None:
                self.layer = tocha.nn.Linear(3, 1)

    trainer = lightning.trainer(max_epochs=1, enable_checkpointing=False)
    trainer.fit(Model(), lightning.loader())
    trainer.save_checkpoint(lightning.path / "m.ckpt")
    assert Model.load_from_checkpoint(lightning.path / "m.ckpt").layer.weight.shape == (1, 3)


def test_seed_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw() -> Any:
        return random.random(), float(np.random.rand()), tocha.rand(1).item()

    assert L.seed_everything(11, verbose=False) == 11
    first = draw()
    monkeypatch.setenv("PL_GLOBAL_SEED", "11")
    assert L.seed_everything(verbose=False) == 11 and draw() == first
    with isolate_rng():
        inside = draw()
    assert draw() == inside
    for bad in (-1, 2**32):
        with pytest.raises(ValueError, match="not in bounds"):
            L.seed_everything(bad)
    monkeypatch.setenv("PL_GLOBAL_SEED", "eleven")
    with pytest.raises(ValueError, match="eleven"):
        L.seed_everything()
    monkeypatch.delenv("PL_GLOBAL_SEED")
    with pytest.warns(UserWarning, match="No seed found"):
        assert L.seed_everything(verbose=False) == 0


def test_export(lightning: Any) -> None:
    pytest.importorskip("tocha_onnx", reason="the exporter is another package")
    model = lightning.Plain(dropout=0.5)
    model.example_input_array = tocha.ones(2, 3)
    model.to_onnx(lightning.path / "m.onnx")
    assert (lightning.path / "m.onnx").stat().st_size > 100 and model.training and model.drop.training
    model.example_input_array = None
    with pytest.raises(ValueError, match="neither `input_sample` nor"):
        model.to_onnx(lightning.path / "n.onnx")
