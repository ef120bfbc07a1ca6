"""Event files are read back with tensorboard itself."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

import tocha
from tocha_lightning.loggers import TensorBoardLogger

pytestmark = [
    pytest.mark.skipif(find_spec("tensorboard") is None, reason="TensorBoard is an extra"),
    # tensorboard and what it is made of warn of their own ways
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]


def events(folder: str) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(folder)
    accumulator.Reload()
    return accumulator


def test_metrics_of_a_run(lightning: Any) -> None:
    logger = TensorBoardLogger(lightning.path, name="tb")
    trainer = lightning.trainer(logger=logger, enable_checkpointing=False)
    trainer.fit(lightning.Small(lr=0.2), lightning.loader(), lightning.loader(4))
    folder = str(lightning.path / "tb" / "version_0")
    assert logger.log_dir == folder and trainer.log_dir == folder
    found = events(folder)
    assert {"loss_step", "loss_epoch", "val_loss", "epoch", "hp_metric"} <= set(found.Tags()["scalars"])
    steps = found.Scalars("loss_step")
    assert [event.step for event in steps] == list(range(12))
    assert [event.step for event in found.Scalars("val_loss")] == [5, 11]
    assert found.Scalars("val_loss")[-1].value == pytest.approx(trainer.callback_metrics["val_loss"].item())
    assert (lightning.path / "tb" / "version_0" / "hparams.yaml").read_text().startswith("lr: 0.2")
    assert TensorBoardLogger(lightning.path, name="tb").version == 1


def test_everything_else_that_can_be_added(lightning: Any) -> None:
    logger = TensorBoardLogger(lightning.path, name=None, version="v", sub_dir="s", prefix="p", default_hp_metric=False)
    logger.log_metrics({"a": tocha.tensor(1.5), "nested": {"x": 1, "y": 2}}, step=3)
    logger.log_hyperparams({"lr": 0.1, "net": {"width": 3}}, metrics={"score": 0.5})
    writer = logger.experiment
    writer.add_histogram("weights", tocha.linspace(0, 1, 100), 1)
    writer.add_histogram("empty", tocha.zeros(0), 1)
    writer.add_text("note", "**bold**", 2)
    logger.finalize("success")
    found = events(str(lightning.path / "v" / "s"))
    plugins = found.summary_metadata
    assert plugins["_hparams_/experiment"].plugin_data.plugin_name == "hparams"
    assert b"net/width" in plugins["_hparams_/session_start_info"].plugin_data.content
    assert set(found.Tags()["scalars"]) == {"p-a", "p-nested/x", "p-nested/y", "score"}
    histogram = found.Histograms("weights")[0].histogram_value
    assert histogram.num == 100 and histogram.max == 1.0 and histogram.sum == pytest.approx(50.0)
    assert "note/text_summary" in found.Tags()["tensors"]
    with pytest.raises(ValueError, match="not supported"):
        logger.log_metrics({"a": "text"}, step=0)
    logger.finalize("failed")
    with pytest.raises(ValueError, match="`log_graph=True` is not supported"):
        TensorBoardLogger(lightning.path, log_graph=True)


def test_pictures(lightning: Any) -> None:
    image_module = pytest.importorskip("PIL.Image", reason="Pillow writes the pictures")
    import io

    logger = TensorBoardLogger(lightning.path)
    picture = tocha.zeros(3, 4, 5)
    picture[0] = 1.0
    logger.experiment.add_image("red", picture, 1)
    logger.experiment.add_image("grey", tocha.full((4, 5), 0.5), 1, dataformats="HW")
    logger.finalize("success")
    image = events(logger.log_dir).Images("red")[0]
    assert (image.width, image.height) == (5, 4)
    assert image_module.open(io.BytesIO(image.encoded_image_string)).getpixel((0, 0)) == (255, 0, 0)
