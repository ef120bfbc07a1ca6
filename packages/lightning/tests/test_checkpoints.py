"""Checkpoints: what is in them, which are kept, and that they survive what happens to files."""

from __future__ import annotations

import itertools
import os
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

import tocha
import tocha_lightning as L
from tocha_lightning.callbacks import ModelCheckpoint, OnExceptionCheckpoint
from tocha_lightning.plugins import AsyncCheckpointIO, FileCheckpointIO
from tocha_lightning.utilities import MisconfigurationException
from tocha_lightning.utilities.files import write_atomically


def monitored(lightning: Any, values: list[float]) -> Any:
    """A model whose validation logs these values, one a run."""

    class Model(lightning.Small):
        def on_validation_epoch_end(self) -> None:
            if not self.trainer.sanity_checking:
                self.log("wave", values[self.current_epoch])

    return Model()


def names(folder: Any) -> list[str]:
    return sorted(os.listdir(folder))


def test_nan_never_wins(lightning: Any) -> None:
    nan = float("nan")
    checkpoint = ModelCheckpoint(lightning.path / "c", monitor="wave", filename="{epoch}", save_top_k=1)
    lightning.trainer(max_epochs=4, callbacks=[checkpoint]).fit(
        monitored(lightning, [nan, 0.5, 0.4, nan]), lightning.loader(), lightning.loader(4)
    )
    assert names(lightning.path / "c") == ["epoch=2.ckpt"]
    assert checkpoint.best_model_score.item() == pytest.approx(0.4)


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.filterwarnings("ignore:Checkpoint directory")
def test_top_k_is_kept_across_a_resume(lightning: Any, mode: str, k: int) -> None:
    values = [0.5, 0.9, 0.1, 0.7, 0.3, 0.8]
    folder = lightning.path / "c"

    def callback() -> ModelCheckpoint:
        return ModelCheckpoint(folder, monitor="wave", mode=mode, save_top_k=k, filename="{epoch}", save_last=True)

    lightning.trainer(max_epochs=3, callbacks=[callback()]).fit(
        monitored(lightning, values), lightning.loader(), lightning.loader(4)
    )
    lightning.trainer(max_epochs=6, callbacks=[callback()]).fit(
        monitored(lightning, values), lightning.loader(), lightning.loader(4), ckpt_path=folder / "last.ckpt"
    )
    order = sorted(range(6), key=lambda i: values[i], reverse=mode == "max")
    kept = [name for name in names(folder) if name.startswith("epoch")]
    assert kept == sorted(f"epoch={i}.ckpt" for i in order[:k])


def test_versions_rather_than_overwriting(lightning: Any) -> None:
    for expected in (["only.ckpt"], ["only-v1.ckpt", "only.ckpt"]):
        checkpoint = ModelCheckpoint(lightning.path / "c", filename="only")
        trainer = lightning.trainer(max_epochs=1, callbacks=[checkpoint])
        if len(expected) == 2:
            with pytest.warns(UserWarning, match="exists and is not empty"):
                trainer.fit(lightning.Plain(), lightning.loader())
        else:
            trainer.fit(lightning.Plain(), lightning.loader())
        assert names(lightning.path / "c") == expected


def test_last_as_a_link(lightning: Any) -> None:
    checkpoint = ModelCheckpoint(lightning.path / "c", save_last="link", filename="{epoch}")
    lightning.trainer(max_epochs=3, callbacks=[checkpoint]).fit(lightning.Plain(), lightning.loader())
    assert os.path.islink(lightning.path / "c" / "last.ckpt")
    assert os.path.realpath(lightning.path / "c" / "last.ckpt") == os.path.realpath(
        lightning.path / "c" / "epoch=2.ckpt"
    )


def test_time_interval(lightning: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tocha_lightning.callbacks import model_checkpoint

    seconds = itertools.count()  # the clock is looked at when training starts and after every batch
    monkeypatch.setattr(model_checkpoint, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    checkpoint = ModelCheckpoint(
        lightning.path / "c", train_time_interval=timedelta(seconds=4), save_top_k=-1, filename="{step}"
    )
    lightning.trainer(max_epochs=1, callbacks=[checkpoint]).fit(lightning.Plain(), lightning.loader(20))
    assert names(lightning.path / "c") == ["step=4.ckpt", "step=8.ckpt"]


def test_missing_monitor(lightning: Any) -> None:
    checkpoint = ModelCheckpoint(lightning.path / "c", monitor="nothing")
    with pytest.raises(MisconfigurationException, match="could not find the monitored key"):
        lightning.trainer(callbacks=[checkpoint]).fit(lightning.Small(), lightning.loader(), lightning.loader(4))


@pytest.mark.parametrize(
    "arguments",
    [
        {"save_top_k": -2}, {"save_top_k": 2}, {"every_n_epochs": -1}, {"every_n_train_steps": -1}, {"mode": "most"},
        {"every_n_epochs": 1, "every_n_train_steps": 1},
    ],
)  # fmt: skip
def test_arguments_that_cannot_work(arguments: Any) -> None:
    with pytest.raises(MisconfigurationException):
        ModelCheckpoint(**arguments)


def test_contents_are_read_without_running_code(lightning: Any) -> None:
    checkpoint = ModelCheckpoint(lightning.path / "c", monitor="val_loss", save_last=True)
    model = lightning.Small(lr=0.3)
    lightning.trainer(callbacks=[checkpoint], max_time="00:00:01:00").fit(
        model, lightning.loader(), lightning.loader(4)
    )
    contents = tocha.load(lightning.path / "c" / "last.ckpt", weights_only=True)
    assert contents["hyper_parameters"] == {"lr": 0.3, "dropout": 0.0}
    assert contents["epoch"] == 1 and contents["global_step"] == 12
    assert len(contents["optimizer_states"]) == 1 and contents["lr_schedulers"] == []
    assert all(bool((contents["state_dict"][k] == v).all()) for k, v in model.state_dict().items())


def test_weights_only(lightning: Any) -> None:
    checkpoint = ModelCheckpoint(lightning.path / "c", save_weights_only=True, filename="w")
    lightning.trainer(callbacks=[checkpoint]).fit(lightning.Plain(), lightning.loader())
    path = lightning.path / "c" / "w.ckpt"
    assert "optimizer_states" not in tocha.load(path)
    assert lightning.Plain.load_from_checkpoint(path).hparams.lr == 0.1
    with pytest.raises(KeyError, match="contains only the model"):
        lightning.trainer(max_epochs=4, enable_checkpointing=False).fit(
            lightning.Plain(), lightning.loader(), ckpt_path=path
        )


def test_a_crash_while_writing_leaves_the_old_file(lightning: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lightning.path / "c.ckpt"
    io = FileCheckpointIO()
    io.save_checkpoint({"state_dict": {"a": tocha.ones(2)}}, str(path))

    def fail(obj: Any, file: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tocha, "save", fail)
    with pytest.raises(OSError, match="No space left"):
        io.save_checkpoint({"state_dict": {}}, str(path))
    monkeypatch.undo()
    assert names(lightning.path) == ["c.ckpt"]
    assert io.load_checkpoint(str(path))["state_dict"]["a"].tolist() == [1.0, 1.0]


def test_files_have_ordinary_permissions(lightning: Any) -> None:
    old = os.umask(0o022)
    try:
        write_atomically(lightning.path / "f", lambda file: file.write(b"x"))
    finally:
        os.umask(old)
    assert (lightning.path / "f").stat().st_mode & 0o777 == 0o644


def test_files_that_are_no_checkpoints(lightning: Any) -> None:
    with pytest.raises(FileNotFoundError, match="Checkpoint file not found"):
        lightning.Plain.load_from_checkpoint(lightning.path / "nothing.ckpt")
    (lightning.path / "damaged.ckpt").write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(Exception) as caught:
        lightning.Plain.load_from_checkpoint(lightning.path / "damaged.ckpt")
    assert any("damaged" in note for note in caught.value.__notes__)
    tocha.save({"weight": tocha.ones(1)}, lightning.path / "bare.pt")
    with pytest.raises(ValueError, match=r"not a checkpoint that a Trainer wrote.*\['weight'\]"):
        lightning.Plain.load_from_checkpoint(lightning.path / "bare.pt")


def test_load_from_checkpoint(lightning: Any) -> None:
    trainer = lightning.trainer(max_epochs=1, enable_checkpointing=False)
    model = lightning.Plain(lr=0.7)
    trainer.fit(model, lightning.loader())
    trainer.save_checkpoint(lightning.path / "m.ckpt")
    loaded = lightning.Plain.load_from_checkpoint(lightning.path / "m.ckpt", dropout=0.25)
    assert (loaded.hparams.lr, loaded.hparams.dropout) == (0.7, 0.25)
    assert bool((loaded.layer.weight == model.layer.weight).all())
    with open(lightning.path / "m.ckpt", "rb") as file:
        assert lightning.Plain.load_from_checkpoint(file).hparams.lr == 0.7
    (lightning.path / "h.yaml").write_text("lr: 0.9\n")
    assert (
        lightning.Plain.load_from_checkpoint(
            lightning.path / "m.ckpt", hparams_file=lightning.path / "h.yaml"
        ).hparams.lr
        == 0.9
    )
    with pytest.raises(ValueError, match="is required for `hparams_file`"):
        lightning.Plain.load_from_checkpoint(lightning.path / "m.ckpt", hparams_file="h.txt")


def test_strictness(lightning: Any) -> None:
    class Larger(lightning.Plain):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.more = tocha.nn.Linear(1, 1)

    trainer = lightning.trainer(max_epochs=1, enable_checkpointing=False)
    trainer.fit(lightning.Plain(), lightning.loader())
    trainer.save_checkpoint(lightning.path / "m.ckpt")
    with pytest.raises(RuntimeError, match=r"more\.weight"):
        Larger.load_from_checkpoint(lightning.path / "m.ckpt")
    with pytest.warns(UserWarning, match="in the model state dict but not in the checkpoint"):
        Larger.load_from_checkpoint(lightning.path / "m.ckpt", strict=False)

    class Loose(Larger):
        strict_loading = False

    assert Loose.strict_loading is False


def test_saving_without_a_model(lightning: Any) -> None:
    with pytest.raises(AttributeError, match="only possible if a model is attached"):
        lightning.trainer().save_checkpoint(lightning.path / "x.ckpt")


def test_hooks_change_the_checkpoint(lightning: Any) -> None:
    class Model(lightning.Plain):
        loaded = None

        def on_save_checkpoint(self, checkpoint: Any) -> None:
            checkpoint["mine"] = [1, 2]

        def on_load_checkpoint(self, checkpoint: Any) -> None:
            type(self).loaded = checkpoint["mine"]

    trainer = lightning.trainer(max_epochs=1, enable_checkpointing=False)
    trainer.fit(Model(), lightning.loader())
    trainer.save_checkpoint(lightning.path / "m.ckpt")
    Model.load_from_checkpoint(lightning.path / "m.ckpt")
    assert Model.loaded == [1, 2]


def test_datamodule_state(lightning: Any) -> None:
    class Data(L.LightningDataModule):
        def __init__(self, size: int = 12) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.count = 0

        def train_dataloader(self) -> Any:
            self.count += 1
            return lightning.loader(self.hparams.size)

        def state_dict(self) -> Any:
            return {"count": self.count}

        def load_state_dict(self, state: Any) -> None:
            self.count = state["count"]

    trainer = lightning.trainer(max_epochs=1, enable_checkpointing=False)
    trainer.fit(lightning.Plain(), datamodule=Data(6))
    trainer.save_checkpoint(lightning.path / "d.ckpt")
    loaded = Data.load_from_checkpoint(lightning.path / "d.ckpt")
    assert (loaded.hparams.size, loaded.count) == (6, 1)
    again = Data(6)
    lightning.trainer(max_epochs=2, enable_checkpointing=False).fit(
        lightning.Plain(), datamodule=again, ckpt_path=lightning.path / "d.ckpt"
    )
    assert again.count == 2


def test_best_and_last_of_the_previous_fit(lightning: Any) -> None:
    checkpoint = ModelCheckpoint(lightning.path / "c", monitor="wave", save_last=True)
    trainer = lightning.trainer(max_epochs=3, callbacks=[checkpoint])
    trainer.fit(monitored(lightning, [0.1, 0.9, 0.8]), lightning.loader(), lightning.loader(4))
    with pytest.warns(UserWarning, match="best model of the previous `fit` call"):
        trainer.test(dataloaders=lightning.loader(4), verbose=False)
    assert trainer.ckpt_path == checkpoint.best_model_path
    trainer.test(dataloaders=lightning.loader(4), ckpt_path="last", verbose=False)
    assert trainer.ckpt_path == checkpoint.last_model_path
    trainer.validate(lightning.Small(), lightning.loader(4), verbose=False)
    assert trainer.ckpt_path is None
    with pytest.raises(ValueError, match="`ModelCheckpoint` is not configured"):
        lightning.trainer(enable_checkpointing=False).test(lightning.Small(), lightning.loader(4), ckpt_path="best")
    with pytest.warns(UserWarning, match="there is no last checkpoint available"):
        lightning.trainer(callbacks=ModelCheckpoint(lightning.path / "none")).fit(
            lightning.Plain(), lightning.loader(), ckpt_path="last"
        )


def test_on_exception(lightning: Any) -> None:
    class Fails(lightning.Plain):
        def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
            if self.global_step == 8:
                raise RuntimeError("on purpose")

    callback = OnExceptionCheckpoint(lightning.path, "failed")
    with pytest.raises(RuntimeError, match="on purpose"):
        lightning.trainer(callbacks=[callback]).fit(Fails(), lightning.loader())
    assert tocha.load(callback.ckpt_path)["global_step"] == 8
    lightning.trainer(callbacks=[OnExceptionCheckpoint(lightning.path, "failed")]).fit(
        lightning.Plain(), lightning.loader()
    )
    assert not os.path.exists(callback.ckpt_path)


def test_asynchronous_writing(lightning: Any) -> None:
    checkpoint = ModelCheckpoint(lightning.path / "c", every_n_train_steps=1, save_top_k=-1, filename="{step}")
    model = lightning.Plain()
    lightning.trainer(callbacks=[checkpoint], plugins=[AsyncCheckpointIO()]).fit(model, lightning.loader())
    assert len(names(lightning.path / "c")) == 12
    saved = tocha.load(lightning.path / "c" / "step=12.ckpt")["state_dict"]["layer.weight"]
    assert bool((saved == model.layer.weight).all())


def test_list_of_kept_checkpoints(lightning: Any) -> None:
    checkpoint = ModelCheckpoint(lightning.path / "c", monitor="wave", save_top_k=2, filename="{epoch}")
    lightning.trainer(max_epochs=3, callbacks=[checkpoint]).fit(
        monitored(lightning, [0.5, 0.25, 0.75]), lightning.loader(), lightning.loader(4)
    )
    checkpoint.to_yaml()
    text = (lightning.path / "c" / "best_k_models.yaml").read_text()
    assert "epoch=0.ckpt: 0.5" in text and "epoch=1.ckpt: 0.25" in text and "epoch=2" not in text
