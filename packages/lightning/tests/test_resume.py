"""Training that is interrupted anywhere and resumed gives the weights of training that never was, bit for bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

import tocha
import tocha_lightning as L
from tocha_lightning.callbacks import (
    EarlyStopping,
    GradientAccumulationScheduler,
    ModelCheckpoint,
    StochasticWeightAveraging,
)

# a resumed run finds the checkpoints of the first
pytestmark = pytest.mark.filterwarnings("ignore:Checkpoint directory")


class Killed(Exception):
    """Stands in for kill -9: nothing may be written after it."""


class Kill(L.Callback):
    def __init__(self, at: int) -> None:
        self.at = at

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        if trainer.fit_loop.epoch_loop.total_batch_idx == self.at:
            raise Killed


def make_model(lightning: Any, scheduler: str) -> Any:
    class Model(lightning.Small):
        def configure_optimizers(self) -> Any:
            optimizer = tocha.optim.Adam(self.parameters(), lr=0.05)
            lr = tocha.optim.lr_scheduler
            if scheduler == "step":
                config = {"scheduler": lr.StepLR(optimizer, 3, 0.8), "interval": "step"}
            elif scheduler == "plateau":
                plateau = lr.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
                config = {"scheduler": plateau, "monitor": "loss_epoch"}
            else:
                config = {"scheduler": lr.StepLR(optimizer, 1, 0.8)}
            return {"optimizer": optimizer, "lr_scheduler": config}

    return Model(dropout=0.3)


def train(
    lightning: Any,
    scheduler: str,
    checkpoint: dict[str, Any],
    kill: int | None = None,
    ckpt_path: Any = None,
    seed: int = 0,
    generator: bool = False,
    workers: int = 0,
    swa: bool = False,
    **arguments: Any,
) -> Any:
    """A run with everything random; returns the model, or None where it was killed."""
    L.seed_everything(seed, verbose=False)
    model = make_model(lightning, scheduler)
    own = tocha.Generator() if generator else None
    train_loader = lightning.loader(14, 2, shuffle=True, generator=own, num_workers=workers)
    callbacks: list[Any] = [ModelCheckpoint(lightning.path / "ckpt", filename="{step}", save_top_k=-1, **checkpoint)]
    if swa:
        callbacks.append(StochasticWeightAveraging(0.02, swa_epoch_start=2, annealing_epochs=1))
    if kill is not None:
        callbacks.append(Kill(kill))
    trainer = lightning.trainer(max_epochs=3, callbacks=callbacks, **arguments)
    try:
        trainer.fit(model, train_loader, lightning.loader(4), ckpt_path=ckpt_path)
    except Killed:
        return None
    return model


def newest(folder: Any) -> Any:
    files = list((folder / "ckpt").glob("*.ckpt"))
    return max(files, key=os.path.getmtime) if files else None


def equal(a: Any, b: Any) -> bool:
    return all(bool((x == y).all()) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


@pytest.mark.parametrize("swa", [False, True])
@pytest.mark.parametrize("kill", range(1, 21))
def test_killed_at_any_step(lightning: Any, kill: int, swa: bool) -> None:
    options = {"scheduler": "epoch" if swa else "step", "checkpoint": {"every_n_train_steps": 1},
               "accumulate_grad_batches": 2, "swa": swa}  # fmt: skip
    whole = train(lightning, **options)
    for file in (lightning.path / "ckpt").iterdir():
        file.unlink()
    assert train(lightning, kill=kill, **options) is None
    path = newest(lightning.path)
    # another seed: everything random has to come from the checkpoint, if there was one already
    resumed = train(lightning, ckpt_path=path, seed=99 if path else 0, **options)
    assert equal(whole, resumed)
    assert whole.seen[-len(resumed.seen) :] == resumed.seen


CHILD = """
import os, sys
import tocha
import tocha_lightning as L
from tocha_lightning.callbacks import ModelCheckpoint

class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = tocha.nn.Sequential(tocha.nn.Linear(3, 4), tocha.nn.Dropout(0.3), tocha.nn.Linear(4, 1))
    def training_step(self, batch, batch_idx):
        return (self.net(batch[0]) - batch[1]).pow(2).mean()
    def configure_optimizers(self):
        optimizer = tocha.optim.Adam(self.parameters(), lr=0.05)
        return [optimizer], [tocha.optim.lr_scheduler.StepLR(optimizer, 1, 0.7)]

class Kill(L.Callback):
    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if trainer.fit_loop.epoch_loop.total_batch_idx == int(os.environ["KILL_AT"]):
            os.kill(os.getpid(), 9)

folder, resume = sys.argv[1], sys.argv[2] == "resume"
if os.environ["KILL_AT"] == "writing":
    save = tocha.save
    def half(obj, file):
        if obj["global_step"] == 6:
            file.write(b"half a file")
            file.flush()
            os.kill(os.getpid(), 9)
        save(obj, file)
    tocha.save = half
L.seed_everything(99 if resume else 0, verbose=False)
x = tocha.linspace(-1, 1, 42).reshape(14, 3)
data = tocha.utils.data.DataLoader(tocha.utils.data.TensorDataset(x, x[:, :1]), batch_size=2, shuffle=True)
callbacks = [ModelCheckpoint(folder, every_n_train_steps=1, save_last=True)]
if os.environ["KILL_AT"].isdigit():
    callbacks.append(Kill())
trainer = L.Trainer(max_epochs=3, accelerator="cpu", logger=False, enable_progress_bar=False, callbacks=callbacks,
                    accumulate_grad_batches=2, enable_model_summary=False, default_root_dir=folder)
model = Model()
trainer.fit(model, data, ckpt_path="last" if resume else None)
tocha.save(model.state_dict(), os.path.join(folder, "weights.pt"))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_processes_that_are_killed(tmp_path: Any) -> None:
    def run(folder: Any, mode: str, kill_at: str) -> int:
        arguments = [sys.executable, "-c", CHILD, str(folder), mode]
        return subprocess.run(arguments, env={**os.environ, "KILL_AT": kill_at}, capture_output=True).returncode

    assert run(tmp_path / "whole", "start", "never") == 0
    whole = tocha.load(tmp_path / "whole" / "weights.pt")
    for kill_at in ("writing", "17"):
        folder = tmp_path / kill_at
        assert run(folder, "start", kill_at) == -signal.SIGKILL
        assert run(folder, "resume", "never") == 0
        resumed = tocha.load(folder / "weights.pt")
        assert all(bool((whole[key] == resumed[key]).all()) for key in whole), kill_at


@pytest.mark.parametrize("scheduler", ["epoch", "plateau"])
@pytest.mark.parametrize(
    ("checkpoint", "arguments"),
    [
        ({"every_n_epochs": 1}, {}),
        ({"every_n_epochs": 1, "save_on_train_epoch_end": False}, {}),
        ({"every_n_epochs": 1}, {"val_check_interval": 3}),
        ({"every_n_train_steps": 5}, {"val_check_interval": 5, "check_val_every_n_epoch": None}),
    ],
)
def test_resumed_from_every_checkpoint(lightning: Any, scheduler: str, checkpoint: Any, arguments: Any) -> None:
    whole = train(lightning, scheduler, checkpoint, **arguments)
    paths = sorted((lightning.path / "ckpt").glob("*.ckpt"))
    assert len(paths) >= 3
    for path in paths:
        resumed = train(lightning, scheduler, checkpoint, ckpt_path=path, seed=99, **arguments)
        if resumed.seen:
            assert equal(whole, resumed), path.name


@pytest.mark.parametrize("options", [{"generator": True}, {"workers": 1}])
def test_loaders_with_their_own_generator_or_workers(lightning: Any, options: Any) -> None:
    checkpoint = {"every_n_train_steps": 4}
    whole = train(lightning, "epoch", checkpoint, **options)
    for path in (lightning.path / "ckpt").glob("*.ckpt"):
        resumed = train(lightning, "epoch", checkpoint, ckpt_path=path, seed=99, **options)
        assert equal(whole, resumed), path.name


def test_mid_epoch_resume_gives_the_unseen_samples(lightning: Any) -> None:
    whole = train(lightning, "epoch", {"every_n_train_steps": 3})
    resumed = train(lightning, "epoch", {"every_n_train_steps": 3}, ckpt_path=lightning.path / "ckpt" / "step=3.ckpt")
    assert resumed.seen == whole.seen[3:]
    first = [x for batch in whole.seen[:7] for x in batch]
    assert sorted(first) == sorted(lightning.points(14).tensors[0][:, 0].tolist())


def test_gradients_of_half_an_accumulation_are_kept(lightning: Any) -> None:
    class SaveAt(L.Callback):
        def on_train_batch_end(self, trainer: Any, *args: Any) -> None:
            if trainer.fit_loop.epoch_loop.total_batch_idx == 4:
                trainer.save_checkpoint(lightning.path / "half.ckpt")

    def run(ckpt_path: Any = None, callbacks: Any = None) -> Any:
        model = lightning.Plain()
        lightning.trainer(accumulate_grad_batches=3, callbacks=callbacks, enable_checkpointing=False).fit(
            model, lightning.loader(), ckpt_path=ckpt_path
        )
        return model

    L.seed_everything(1, verbose=False)
    whole = run(callbacks=[SaveAt()])
    resumed = run(lightning.path / "half.ckpt")
    assert equal(whole, resumed)


def test_scheduled_accumulation_goes_on(lightning: Any) -> None:
    def run(ckpt_path: Any = None) -> Any:
        L.seed_everything(0, verbose=False)
        model = lightning.Plain()
        callbacks = [
            GradientAccumulationScheduler({0: 2, 1: 3}),
            ModelCheckpoint(lightning.path / "c", every_n_train_steps=1, save_top_k=-1, filename="{step}"),
        ]
        trainer = lightning.trainer(max_epochs=3, callbacks=callbacks)
        trainer.fit(model, lightning.loader(), ckpt_path=ckpt_path)
        assert trainer.global_step == 3 + 2 + 2 and trainer.accumulate_grad_batches == 1
        return model

    whole = run()
    for step in (1, 4, 6):
        assert equal(whole, run(lightning.path / "c" / f"step={step}.ckpt"))


def test_further_epochs_after_the_end(lightning: Any) -> None:
    L.seed_everything(3, verbose=False)
    whole = lightning.Plain(dropout=0.2)
    start = {key: value.clone() for key, value in whole.state_dict().items()}
    lightning.trainer(max_epochs=4, enable_checkpointing=False).fit(whole, lightning.loader(shuffle=True))
    L.seed_everything(3, verbose=False)
    first = lightning.Plain(dropout=0.2)
    first.load_state_dict(start)
    trainer = lightning.trainer(max_epochs=2, enable_checkpointing=False)
    trainer.fit(first, lightning.loader(shuffle=True))
    trainer.save_checkpoint(lightning.path / "two.ckpt")
    rest = lightning.Plain(dropout=0.2)
    trainer = lightning.trainer(max_epochs=4, enable_checkpointing=False)
    trainer.fit(rest, lightning.loader(shuffle=True), ckpt_path=lightning.path / "two.ckpt")
    assert trainer.current_epoch == 4
    assert equal(whole, rest)


def test_an_interrupted_batch_is_done_again(lightning: Any) -> None:
    class Failing(lightning.Plain):
        fail = True

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            if self.fail and self.trainer.fit_loop.epoch_loop.total_batch_idx == 4:
                raise Killed
            return super().training_step(batch, batch_idx)

    checkpoint = ModelCheckpoint(lightning.path / "ckpt", save_on_exception=True, filename="failed")
    with pytest.raises(Killed):
        lightning.trainer(callbacks=[checkpoint]).fit(Failing(), lightning.loader())
    resumed = lightning.Plain()
    trainer = lightning.trainer(callbacks=[ModelCheckpoint(lightning.path / "ckpt")])
    trainer.fit(resumed, lightning.loader(), ckpt_path=lightning.path / "ckpt" / "failed.ckpt")
    assert len(resumed.seen) == 12 - 4
    assert trainer.global_step == 12


def test_callbacks_take_up_their_state(lightning: Any) -> None:
    stopping = EarlyStopping("val_loss", patience=50, mode="max")
    checkpoint = ModelCheckpoint(lightning.path / "ckpt", save_last=True)
    lightning.trainer(callbacks=[stopping, checkpoint]).fit(lightning.Small(), lightning.loader(), lightning.loader(4))
    assert stopping.wait_count == 1
    again = EarlyStopping("val_loss", patience=50, mode="max")
    lightning.trainer(max_epochs=3, callbacks=[again, ModelCheckpoint(lightning.path / "ckpt")]).fit(
        lightning.Small(), lightning.loader(), lightning.loader(4), ckpt_path=lightning.path / "ckpt" / "last.ckpt"
    )
    assert again.wait_count == 2
    assert again.best_score.item() == stopping.best_score.item()


def test_a_callback_that_is_missing_is_named(lightning: Any) -> None:
    checkpoint = ModelCheckpoint(lightning.path / "ckpt", save_last=True)
    stopping = EarlyStopping("val_loss")
    lightning.trainer(callbacks=[stopping, checkpoint]).fit(lightning.Small(), lightning.loader(), lightning.loader(4))
    with pytest.warns(UserWarning, match="Please add the following callbacks: .*EarlyStopping"):
        lightning.trainer(max_epochs=3, enable_checkpointing=False).fit(
            lightning.Small(), lightning.loader(), lightning.loader(4), ckpt_path=lightning.path / "ckpt" / "last.ckpt"
        )


def test_further_than_max_epochs(lightning: Any) -> None:
    trainer = lightning.trainer(max_epochs=3, enable_checkpointing=False)
    trainer.fit(lightning.Plain(), lightning.loader())
    trainer.save_checkpoint(lightning.path / "three.ckpt")
    with pytest.raises(Exception, match="restored a checkpoint with current_epoch=3"):
        lightning.trainer(max_epochs=2).fit(
            lightning.Plain(), lightning.loader(), ckpt_path=lightning.path / "three.ckpt"
        )


def test_a_checkpoint_without_the_state_of_training(lightning: Any) -> None:
    trainer = lightning.trainer(max_epochs=1, enable_checkpointing=False)
    trainer.fit(lightning.Plain(), lightning.loader())
    trainer.save_checkpoint(lightning.path / "old.ckpt")
    contents = tocha.load(lightning.path / "old.ckpt")
    del contents["loops"]
    tocha.save(contents, lightning.path / "old.ckpt")
    with pytest.raises(KeyError, match="does not say how far it was"):
        lightning.trainer(max_epochs=2).fit(
            lightning.Plain(), lightning.loader(), ckpt_path=lightning.path / "old.ckpt"
        )
    lightning.trainer().test(
        lightning.Plain(), lightning.loader(), ckpt_path=lightning.path / "old.ckpt", verbose=False
    )
