"""What a strategy of several processes has to override is asked for, played by one process."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest

import tocha
import tocha_lightning as L
from tocha_lightning.callbacks import ModelCheckpoint, TextProgressBar
from tocha_lightning.loggers import CSVLogger
from tocha_lightning.strategies import SingleDeviceStrategy, Strategy
from tocha_lightning.utilities.rank_zero import rank_zero_only


class Second(SingleDeviceStrategy):
    """The second of two processes, without a first one."""

    strategy_name = "second"

    def __init__(self, rank: int = 1) -> None:
        super().__init__("cpu")
        self.rank = rank
        self.reduced = 0
        self.asked: list[Any] = []

    @property
    def world_size(self) -> int:
        return 2

    @property
    def global_rank(self) -> int:
        return self.rank

    @property
    def distributed_sampler_kwargs(self) -> dict[str, Any]:
        return {"num_replicas": 2, "rank": self.rank}

    def reduce(self, tensor: Any, group: Any = None, reduce_op: str = "mean") -> Any:
        self.asked.append(reduce_op)
        return tensor * 2 if reduce_op == "sum" else tensor

    def reduce_gradients(self, module: Any) -> None:
        self.reduced += 1

    def all_gather(self, tensor: Any, group: Any = None, sync_grads: bool = False) -> Any:
        return tocha.stack([tensor, tensor])


@pytest.fixture(autouse=True)
def first_again() -> Any:
    yield
    rank_zero_only.rank = 0  # type: ignore[attr-defined]


def test_gradients_are_reduced_once_a_step(lightning: Any) -> None:
    strategy = Second()
    trainer = lightning.trainer(strategy=strategy, accumulate_grad_batches=3, enable_checkpointing=False, max_epochs=1)
    trainer.fit(lightning.Plain(), lightning.loader(24))
    assert trainer.global_step == 2 and strategy.reduced == 2


def test_data_is_split_between_processes(lightning: Any) -> None:
    seen = []
    for rank in (0, 1):
        model = lightning.Plain()
        trainer = lightning.trainer(strategy=Second(rank), enable_checkpointing=False, max_epochs=1)
        trainer.fit(model, lightning.loader(12, shuffle=True))
        assert trainer.num_training_batches == 3
        seen += [x for batch in model.seen for x in batch]
    assert sorted(seen) == sorted(lightning.points(12).tensors[0][:, 0].tolist())
    trainer = lightning.trainer(strategy=Second(), use_distributed_sampler=False, enable_checkpointing=False)
    trainer.fit(lightning.Plain(), lightning.loader(12))
    assert trainer.num_training_batches == 6


def test_metrics_are_reduced_on_request(lightning: Any) -> None:
    class Model(lightning.Plain):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            self.log("alone", 1.0, on_step=False, on_epoch=True)
            self.log("sum", 1.0, on_step=False, on_epoch=True, reduce_fx="sum", sync_dist=True)
            self.log("mean", float(batch_idx), on_step=False, on_epoch=True, sync_dist=True)
            return self.loss(batch)

    strategy = Second()
    trainer = lightning.trainer(strategy=strategy, enable_checkpointing=False, max_epochs=1)
    model = Model()
    trainer.fit(model, lightning.loader(12))
    found = {key: value.item() for key, value in trainer.callback_metrics.items()}
    # a mean is the sum of weighted values over the sum of weights, both of all processes
    assert (found["alone"], found["sum"], found["mean"]) == (1.0, 6.0, 1.0)
    assert strategy.asked.count("sum") == 3
    assert model.all_gather({"a": tocha.ones(3)})["a"].shape == (2, 3)


def test_only_the_first_process_writes(lightning: Any) -> None:
    stream = io.StringIO()
    trainer = lightning.trainer(
        strategy=Second(), logger=CSVLogger(lightning.path), callbacks=[TextProgressBar(stream=stream),
        ModelCheckpoint(save_last=True)], enable_progress_bar=True, enable_model_summary=True,
    )  # fmt: skip
    with contextlib.redirect_stdout(stream):
        trainer.fit(lightning.Small(), lightning.loader(), lightning.loader(4))
        trainer.print("quiet")
        trainer.validate(lightning.Small(), lightning.loader(4))
    assert stream.getvalue() == "" and list(lightning.path.iterdir()) == []
    assert "val_loss" in trainer.logged_metrics and not trainer.is_global_zero


def test_a_strategy_has_to_know_its_device() -> None:
    with pytest.raises(TypeError, match="root_device"):
        Strategy()  # type: ignore[abstract]
    assert L.Trainer(barebones=True, strategy=SingleDeviceStrategy("cpu")).strategy.root_device.type == "cpu"
