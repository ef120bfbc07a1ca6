"""Runs on CUDA, served by the stand-in that computes on the CPU and refuses what CuPy refuses."""

from __future__ import annotations

from typing import Any

import pytest

import tocha
import tocha_lightning as L
from tocha.testing.strict_device import install
from tocha_lightning.callbacks import EMAWeightAveraging, ModelCheckpoint, StochasticWeightAveraging
from tocha_lightning.loggers import CSVLogger
from tocha_lightning.metrics import MeanSquaredError
from tocha_lightning.utilities import MisconfigurationException


@pytest.fixture(autouse=True)
def cuda() -> Any:
    with install():
        yield


def test_a_whole_run_on_the_device(lightning: Any) -> None:
    seen: list[str] = []

    class Model(lightning.Small):
        def __init__(self) -> None:
            super().__init__()
            self.error = MeanSquaredError()

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            seen.append(f"{batch[0].device} {self.layer.weight.device} {self.device}")
            return super().training_step(batch, batch_idx)

        def validation_step(self, batch: Any, batch_idx: int) -> None:
            super().validation_step(batch, batch_idx)
            self.error(self(batch[0]), batch[1])
            self.log("error", self.error)

    model = Model()
    checkpoint = ModelCheckpoint(lightning.path / "c", monitor="val_loss", save_last=True)
    trainer = lightning.trainer(accelerator="auto", logger=CSVLogger(lightning.path), callbacks=[checkpoint])
    trainer.fit(model, lightning.loader(shuffle=True), lightning.loader(4))
    assert set(seen) == {"cuda:0 cuda:0 cuda:0"} and trainer.device_ids == [0]
    # afterwards the model is on the CPU again
    assert model.layer.weight.device.type == "cpu" and model.device.type == "cpu"
    contents = tocha.load(lightning.path / "c" / "last.ckpt")
    assert contents["state_dict"]["layer.weight"].device.type == "cuda"
    assert Model.load_from_checkpoint(checkpoint.best_model_path, map_location="cpu").device.type == "cpu"
    predictions = trainer.predict(model, lightning.loader(4))
    assert all(prediction.device.type == "cpu" for prediction in predictions)
    assert trainer.test(model, lightning.loader(4), verbose=False)[0]["test_loss"] > 0


@pytest.mark.parametrize("average", [None, EMAWeightAveraging, lambda: StochasticWeightAveraging(0.05, 2)])
@pytest.mark.filterwarnings("ignore:Checkpoint directory")
def test_resuming_on_the_device(lightning: Any, average: Any) -> None:
    def run(ckpt_path: Any = None, seed: int = 0) -> Any:
        L.seed_everything(seed, verbose=False)
        model = lightning.Plain(dropout=0.3)
        checkpoint = ModelCheckpoint(lightning.path / "c", every_n_train_steps=5, save_top_k=-1, filename="{step}")
        callbacks = [checkpoint] if average is None else [average(), checkpoint]
        trainer = lightning.trainer(accelerator="cuda", max_epochs=3, callbacks=callbacks, gradient_clip_val=0.5)
        trainer.fit(model, lightning.loader(shuffle=True), ckpt_path=ckpt_path)
        return model

    whole, resumed = run(), run(lightning.path / "c" / "step=5.ckpt", seed=99)
    assert bool((whole.layer.weight == resumed.layer.weight).all())


def test_devices_are_chosen(lightning: Any) -> None:
    count = tocha.cuda.device_count()
    assert lightning.trainer(accelerator="gpu", devices=[count - 1]).strategy.root_device == tocha.device(
        "cuda", count - 1
    )
    assert lightning.trainer(accelerator="gpu", devices="0,").device_ids == [0]
    with pytest.raises(MisconfigurationException, match="You requested gpu"):
        lightning.trainer(accelerator="gpu", devices=[count])
    with pytest.warns(UserWarning, match="GPU available but not used"):
        lightning.trainer(accelerator="cpu")
