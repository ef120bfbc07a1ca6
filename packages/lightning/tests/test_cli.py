"""The command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import tocha

jsonargparse = pytest.importorskip("jsonargparse", reason="the command line is an extra")

import tocha_lightning as L  # noqa: E402
from tocha_lightning.callbacks import EarlyStopping, ModelCheckpoint  # noqa: E402
from tocha_lightning.cli import LightningArgumentParser, LightningCLI, SaveConfigCallback  # noqa: E402
from tocha_lightning.loggers import CSVLogger  # noqa: E402


class Model(L.LightningModule):
    """A line.

    Args:
        width: inputs.
        scale: multiplies the output.
    """

    def __init__(self, width: int = 3, scale: float = 1.0) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layer = tocha.nn.Linear(width, 1)

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        loss = (self.layer(batch[0]) * self.hparams.scale - batch[1]).pow(2).mean()
        self.log("loss", loss)
        return loss

    def test_step(self, batch: Any, batch_idx: int) -> None:
        self.log("test", self.hparams.scale)


class Data(L.LightningDataModule):
    def __init__(self, samples: int = 8, batch_size: int = 2) -> None:
        super().__init__()
        self.samples, self.batch_size = samples, batch_size

    def train_dataloader(self) -> Any:
        x = tocha.ones(self.samples, 3)
        return tocha.utils.data.DataLoader(tocha.utils.data.TensorDataset(x, x[:, :1]), batch_size=self.batch_size)

    test_dataloader = train_dataloader


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "argv", ["prog"])
    # the classes are found by their paths
    monkeypatch.setitem(sys.modules, "cli_classes", sys.modules[__name__])
    monkeypatch.setattr(Model, "__module__", "cli_classes")
    monkeypatch.setattr(Data, "__module__", "cli_classes")
    base = [
        f"--trainer.default_root_dir={tmp_path}", "--trainer.accelerator=cpu", "--trainer.enable_progress_bar=false",
        "--trainer.enable_model_summary=false", "--trainer.max_epochs=1", "--trainer.logger=false",
        "--trainer.log_every_n_steps=1",
    ]  # fmt: skip

    def run(args: list[str], *classes: Any, cls: Any = LightningCLI, **kwargs: Any) -> LightningCLI:
        command = args[:1] if kwargs.get("run", True) else []
        return cls(*classes, args=[*command, *base, *args[len(command) :]], **kwargs)

    return run


@pytest.mark.filterwarnings("ignore:Checkpoint directory")
def test_fit_with_arguments(cli: Any, tmp_path: Path) -> None:
    found = cli(["fit", "--model.scale=2.5", "--data.samples=12", "--optimizer=SGD", "--optimizer.lr=0.01",
                 "--seed_everything=7"], Model, Data)  # fmt: skip
    assert found.model.hparams.scale == 2.5 and found.trainer.global_step == 6
    assert (
        type(found.trainer.optimizers[0]).__name__ == "SGD"
        and found.trainer.optimizers[0].param_groups[0]["lr"] == 0.01
    )
    assert found.config.fit.seed_everything == 7
    saved = (tmp_path / "config.yaml").read_text()
    assert "scale: 2.5" in saved and "samples: 12" in saved and "seed_everything: 7" in saved
    again = cli(["fit", f"--config={tmp_path / 'config.yaml'}", "--model.scale=3.5"], Model, Data,
                save_config_kwargs={"overwrite": True})  # fmt: skip
    assert again.model.hparams.scale == 3.5 and again.datamodule.samples == 12
    with pytest.raises(RuntimeError, match="expected .*config.yaml to NOT exist"):
        cli(["fit", "--optimizer=SGD", "--optimizer.lr=0.1"], Model, Data)


@pytest.mark.filterwarnings("ignore:The dirpath has changed")
def test_classes_from_a_file(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(
        """
model:
  class_path: cli_classes.Model
  init_args: {scale: 4.0}
data:
  class_path: cli_classes.Data
optimizer:
  class_path: tocha.optim.Adam
  init_args: {lr: 0.05}
lr_scheduler:
  class_path: tocha.optim.lr_scheduler.StepLR
  init_args: {step_size: 1, gamma: 0.5}
trainer:
  max_epochs: 2
  callbacks:
    - class_path: tocha_lightning.callbacks.EarlyStopping
      init_args: {monitor: loss, patience: 9}
    - class_path: tocha_lightning.callbacks.ModelCheckpoint
      init_args: {save_last: true}
  logger:
    class_path: tocha_lightning.loggers.CSVLogger
    init_args: {save_dir: PLACE, name: named}
""".replace("PLACE", str(tmp_path))
    )
    found = LightningCLI(args=["fit", "--trainer.accelerator=cpu", "--trainer.enable_progress_bar=false",
                               "--trainer.log_every_n_steps=1", f"--config={tmp_path / 'run.yaml'}"])  # fmt: skip
    assert type(found.model) is Model and found.model.hparams == {
        "_class_path": "cli_classes.Model",
        "scale": 4.0,
        "width": 3,
    }
    assert found.trainer.optimizers[0].param_groups[0]["lr"] == pytest.approx(0.0125)
    assert isinstance(found.trainer.logger, CSVLogger) and isinstance(
        found.trainer.early_stopping_callback, EarlyStopping
    )
    folder = tmp_path / "named" / "version_0"
    assert (folder / "config.yaml").exists() and (folder / "checkpoints" / "last.ckpt").exists()
    # the checkpoint knows how its model was configured
    loaded = Model.load_from_checkpoint(folder / "checkpoints" / "last.ckpt")
    assert loaded.hparams.scale == 4.0
    with pytest.warns(UserWarning, match="add the following callbacks"):
        tested = cli(["test", f"--ckpt_path={folder / 'checkpoints' / 'last.ckpt'}"], Model, Data,
                     save_config_callback=None)  # fmt: skip
    assert tested.trainer.callback_metrics["test"].item() == 4.0


def test_plateau_takes_its_metric(cli: Any) -> None:
    found = cli(["fit", "--optimizer=SGD", "--optimizer.lr=0.1", "--lr_scheduler=tocha_lightning.cli.ReduceLROnPlateau",
                 "--lr_scheduler.monitor=loss", "--lr_scheduler.patience=3"], Model, Data)  # fmt: skip
    config = found.trainer.lr_scheduler_configs[0]
    assert config.monitor == "loss" and config.scheduler.patience == 3


def test_without_running(cli: Any) -> None:
    found = cli(["--model.width=3"], Model, Data, run=False, save_config_callback=None,
                trainer_defaults={"callbacks": ModelCheckpoint(save_last=True), "max_steps": 2})  # fmt: skip
    assert found.subcommand is None and found.trainer.max_steps == 2 and found.trainer.global_step == 0
    assert found.trainer.checkpoint_callback.save_last is True


def test_own_arguments_and_hooks(cli: Any) -> None:
    seen: list[str] = []

    class Own(LightningCLI):
        def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
            parser.add_lightning_class_args(EarlyStopping, "stopping")
            parser.set_defaults({"stopping.monitor": "loss"})
            parser.link_arguments("data.batch_size", "model.width")

        def before_fit(self) -> None:
            seen.append("before")

        def after_fit(self) -> None:
            seen.append("after")

    found = cli(["fit", "--data.batch_size=3", "--stopping.patience=5", "--optimizer=SGD", "--optimizer.lr=0.1"],
                Model, Data, cls=Own)  # fmt: skip
    assert found.model.hparams.width == 3 and found.trainer.early_stopping_callback.patience == 5
    assert seen == ["before", "after"]


def test_print_config(cli: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli(["fit", "--model.scale=2.0", "--print_config"], Model, Data)
    out = capsys.readouterr().out
    assert "scale: 2.0" in out and "max_epochs: 1" in out and "accumulate_grad_batches: 1" in out


def test_an_argument_that_is_none(cli: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli(["fit", "--model.height=2"], Model, Data)
    assert "height" in capsys.readouterr().err


def test_saving_the_configuration_elsewhere() -> None:
    with pytest.raises(ValueError, match="only makes sense when subclassing"):
        SaveConfigCallback(None, None, save_to_log_dir=False)


def test_the_command_of_tocha(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import argparse

    from tocha_lightning.cli import commands

    (tmp_path / "my_project.py").write_text(
        """
import tocha
import tocha_lightning as L
class Net(L.LightningModule):
    def __init__(self, out: int = 1):
        super().__init__()
        self.layer = tocha.nn.Linear(2, out)
    def training_step(self, batch, batch_idx):
        return self.layer(batch).sum()
    def train_dataloader(self):
        return tocha.utils.data.DataLoader(tocha.ones(4, 2))
"""
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", ["tocha", "fit"])
    top = argparse.ArgumentParser(prog="tocha")
    for name in ("fit", "validate", "test", "predict"):
        assert name in (getattr(commands, name).__doc__ or "")
    sub = top.add_subparsers().add_parser("fit")
    sub.set_defaults(run=commands.fit(sub))
    arguments = top.parse_args(
        ["fit", "--model=my_project.Net", "--model.out", "2", "--optimizer=SGD", "--optimizer.lr=0.1",
         "--trainer.max_steps=3", "--trainer.accelerator=cpu", "--trainer.enable_progress_bar=false",
         "--trainer.logger=false"]
    )  # fmt: skip
    assert not arguments.run(arguments)
    assert (tmp_path / "config.yaml").exists() and (tmp_path / "checkpoints").exists()
    assert "my_project.Net" in (tmp_path / "config.yaml").read_text()
    sys.modules.pop("my_project", None)
