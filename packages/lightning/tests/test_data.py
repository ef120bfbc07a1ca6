"""Data: loaders in every form, limits, hooks on batches, data modules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import tocha
import tocha_lightning as L
from tocha.utils.data import DataLoader, IterableDataset
from tocha_lightning.utilities import CombinedLoader, MisconfigurationException, move_data_to_device
from tocha_lightning.utilities.collections import apply_to_collection, describe


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("min_size", [{"a": 0, "b": ["x", 5]}, {"a": 1, "b": ["y", 6]}]),
        ("max_size", [{"a": 0, "b": ["x", 5]}, {"a": 1, "b": ["y", 6]}, {"a": 2, "b": [None, 7]}]),
        ("max_size_cycle", [{"a": 0, "b": ["x", 5]}, {"a": 1, "b": ["y", 6]}, {"a": 2, "b": ["x", 7]}]),
    ],
)
def test_combined_loader(mode: Any, expected: Any) -> None:
    loader = CombinedLoader({"a": range(3), "b": ["xy", range(5, 8)]}, mode)
    items = list(loader)
    assert [batch for batch, _, _ in items] == expected
    assert [index for _, index, _ in items] == list(range(len(expected))) and len(loader) == len(expected)


def test_combined_loader_in_sequence() -> None:
    loader = CombinedLoader({"a": range(3), "b": "", "c": "uvw"}, "sequential")
    assert list(loader) == [(0, 0, 0), (1, 1, 0), (2, 2, 0), ("u", 0, 2), ("v", 1, 2), ("w", 2, 2)]
    loader.limits = [1, 5, 2]
    assert list(loader) == [(0, 0, 0), ("u", 0, 2), ("v", 1, 2)] and len(loader) == 3


def test_combined_loader_refuses() -> None:
    with pytest.raises(ValueError, match="Unsupported mode 'random'"):
        CombinedLoader([1], "random")
    loader = CombinedLoader([range(2), range(3)])
    with pytest.raises(ValueError, match="Mismatch in flattened length"):
        loader.flattened = [range(2)]
    with pytest.raises(ValueError, match="Mismatch in number of limits"):
        loader.limits = [1]
    with pytest.raises(NotImplementedError, match="no length"):
        len(CombinedLoader([iter(range(3))], "max_size"))


def test_empty_loaders(lightning: Any) -> None:
    assert list(CombinedLoader([], "min_size")) == [] and list(CombinedLoader([range(0), range(2)], "min_size")) == []
    assert len(CombinedLoader([], "max_size")) == 0
    with pytest.warns(UserWarning, match="is zero"):
        trainer = lightning.trainer(enable_checkpointing=False)
        trainer.fit(lightning.Plain(), CombinedLoader(range(0)))
    assert trainer.global_step == 0


class Stream(IterableDataset):
    def __init__(self, length: int) -> None:
        self.length = length

    def __iter__(self) -> Any:
        for i in range(self.length):
            yield tocha.full((3,), float(i)), tocha.ones(1)


@pytest.mark.parametrize(("limit", "steps"), [(None, 5), (3, 3), (8, 5), (1.0, 5)])
def test_data_without_length(lightning: Any, limit: Any, steps: int) -> None:
    trainer = lightning.trainer(max_epochs=1, limit_train_batches=limit, enable_checkpointing=False)
    last = []

    class Model(lightning.Small):
        def on_train_batch_end(self, *args: Any) -> None:
            last.append(self.trainer.is_last_batch)

    trainer.fit(Model(), DataLoader(Stream(9), batch_size=2), lightning.loader(2))
    assert trainer.global_step == steps and last == [False] * (steps - 1) + [True]
    assert "val_loss" in trainer.callback_metrics


def test_fractions_of_data_without_length(lightning: Any) -> None:
    with pytest.raises(MisconfigurationException, match=r"must be `1.0` or an int"):
        lightning.trainer(limit_train_batches=0.5).fit(lightning.Plain(), DataLoader(Stream(9)))
    with pytest.raises(MisconfigurationException, match="must be time based, `1.0` or an int"):
        lightning.trainer(val_check_interval=0.5).fit(lightning.Small(), DataLoader(Stream(9)), lightning.loader(2))


def test_a_fraction_that_leaves_nothing(lightning: Any) -> None:
    with pytest.raises(MisconfigurationException, match="Try at least `limit_train_batches="):
        lightning.trainer(limit_train_batches=0.1).fit(lightning.Plain(), lightning.loader())


def test_any_iterable_is_data(lightning: Any) -> None:
    class Batches:
        def __iter__(self) -> Any:
            return iter([(tocha.ones(2, 3), tocha.ones(2, 1))] * 4)

    trainer = lightning.trainer(max_epochs=2, enable_checkpointing=False)
    trainer.fit(lightning.Plain(), Batches())
    assert trainer.global_step == 8 and trainer.num_training_batches == float("inf")


def test_something_that_is_no_data(lightning: Any) -> None:
    with pytest.raises(TypeError, match=r"passed to `Trainer.fit\(train_dataloaders=...\)`. Found 3"):
        lightning.trainer().fit(lightning.Plain(), 3)

    class Model(lightning.Plain):
        def train_dataloader(self) -> Any:
            return None

    with pytest.raises(TypeError, match=r"returned from `Model.train_dataloader\(\)`"):
        lightning.trainer().fit(Model())


def test_several_loaders_need_the_index(lightning: Any) -> None:
    with pytest.raises(RuntimeError, match=r"no `dataloader_idx` argument in `Small.validation_step\(\)`"):
        lightning.trainer().validate(lightning.Small(), [lightning.loader(), lightning.loader()])

    class Model(lightning.Small):
        def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int) -> None:
            self.log("v", float(dataloader_idx))

    with pytest.raises(RuntimeError, match="only a single `val_dataloader`"):
        lightning.trainer().validate(Model(), lightning.loader())
    results = lightning.trainer().validate(Model(), {"x": lightning.loader(), "y": lightning.loader()}, verbose=False)
    assert results == [{"v/dataloader_idx_0": 0.0}, {"v/dataloader_idx_1": 1.0}]


def test_steps_that_take_only_the_batch(lightning: Any) -> None:
    class Model(lightning.Plain):
        def training_step(self, batch: Any) -> Any:
            return self.loss(batch)

        def validation_step(self, batch: Any) -> None:
            self.log("v", self.loss(batch))

    trainer = lightning.trainer(enable_checkpointing=False)
    trainer.fit(Model(), lightning.loader(), lightning.loader(2))
    assert trainer.global_step == 12 and "v" in trainer.callback_metrics


def test_step_that_takes_the_iterator(lightning: Any) -> None:
    class Model(lightning.Plain):
        def training_step(self, dataloader_iter: Any) -> Any:
            first, batch_idx, dataloader_idx = next(dataloader_iter)
            self.seen.append((batch_idx, dataloader_idx))
            return self.loss(first)

        def validation_step(self, dataloader_iter: Any) -> None:
            self.log("v", self.loss(next(dataloader_iter)[0]), batch_size=2)

    model = Model()
    trainer = lightning.trainer(enable_checkpointing=False)
    trainer.fit(model, lightning.loader(), lightning.loader(4))
    assert trainer.global_step == 12 and model.seen[:3] == [(0, 0), (1, 0), (2, 0)]
    assert "v" in trainer.callback_metrics


def test_batches_pass_through_the_hooks(lightning: Any) -> None:
    order: list[str] = []

    class Model(lightning.Plain):
        def on_before_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
            order.append("before")
            return [t * 2 for t in batch]

        def transfer_batch_to_device(self, batch: Any, device: Any, dataloader_idx: int) -> Any:
            order.append(str(device))
            return super().transfer_batch_to_device(batch, device, dataloader_idx)

        def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
            order.append("after")
            return [t + 1 for t in batch]

    model = Model()
    lightning.trainer(max_epochs=1, limit_train_batches=1, enable_checkpointing=False).fit(model, lightning.loader())
    assert order == ["before", "cpu", "after"] and model.seen[0][0] == pytest.approx(-1.0 * 2 + 1)


@dataclass
class Pair:
    x: Any
    label: str


def test_moving_nested_batches() -> None:
    from collections import OrderedDict, namedtuple

    Point = namedtuple("Point", "x y")
    batch = {
        "p": Point(tocha.ones(1), "t"),
        "o": OrderedDict(a=tocha.ones(2)),
        "d": Pair(tocha.ones(3), "l"),
        "n": None,
    }
    moved = move_data_to_device(batch, tocha.device("meta"))
    assert moved["p"].x.device.type == moved["o"]["a"].device.type == moved["d"].x.device.type == "meta"
    assert isinstance(moved["p"], Point) and isinstance(moved["o"], OrderedDict) and moved["d"].label == "l"

    class Own:
        def to(self, device: Any) -> Any:
            self.device = device

    own = Own()
    assert move_data_to_device([own], tocha.device("cpu"))[0] is own and own.device.type == "cpu"
    assert apply_to_collection((1, [2, "a"]), int, lambda v: v + 1) == (2, [3, "a"])
    assert describe({"a": (tocha.ones(2, 1), [1] * 9)}) == "{'a': (float32[2, 1], [int, int, int, int, int, int, ...])}"


def test_prediction(lightning: Any) -> None:
    model = lightning.Plain()
    trainer = lightning.trainer()
    single = trainer.predict(model, lightning.loader(5, 2))
    assert [tuple(p.shape) for p in single] == [(2, 1), (2, 1), (1, 1)] and not single[0].requires_grad

    class Several(lightning.Plain):
        def predict_step(self, batch: Any, batch_idx: int, dataloader_idx: int) -> Any:
            return batch_idx, dataloader_idx

    both = trainer.predict(Several(), [lightning.loader(4, 2), lightning.loader(2, 2)])
    assert both == [[(0, 0), (1, 0)], [(0, 1)]]
    assert trainer.predict(model, lightning.loader(5, 2), return_predictions=False) is None

    class Plainest(L.LightningModule):
        def forward(self, batch: Any) -> Any:
            return batch[0].sum()

    assert len(trainer.predict(Plainest(), lightning.loader(4, 2))) == 2
    with pytest.raises(MisconfigurationException, match="requires `forward`"):
        trainer.predict(L.LightningModule(), lightning.loader())


def test_overfit_stops_shuffling(lightning: Any) -> None:
    model = lightning.Plain()
    with pytest.warns(UserWarning, match="turning off the train dataloader shuffling"):
        lightning.trainer(overfit_batches=2, enable_checkpointing=False).fit(model, lightning.loader(shuffle=True))
    assert model.seen[:2] == model.seen[2:4] and model.seen[0][0] == pytest.approx(-1.0)


def test_shuffled_validation_warns(lightning: Any) -> None:
    with pytest.warns(UserWarning, match="`val_dataloader`'s sampler has shuffling enabled"):
        lightning.trainer().validate(lightning.Small(), lightning.loader(shuffle=True), verbose=False)


def test_samplers_hear_of_the_epoch(lightning: Any) -> None:
    epochs: list[int] = []

    class Sampler:
        def __iter__(self) -> Any:
            return iter(range(4))

        def __len__(self) -> int:
            return 4

        def set_epoch(self, epoch: int) -> None:
            epochs.append(epoch)

    lightning.trainer(max_epochs=3, enable_checkpointing=False).fit(
        lightning.Plain(), lightning.loader(4, sampler=Sampler())
    )
    assert epochs == [0, 1, 2]


def test_data_module_from_datasets(lightning: Any) -> None:
    data = L.LightningDataModule.from_datasets(
        lightning.points(6), [lightning.points(4), lightning.points(2)], batch_size=2
    )
    assert len(data.train_dataloader()) == 3 and [len(loader) for loader in data.val_dataloader()] == [2, 1]
    assert "Train dataset: TensorDataset, size=6" in str(data) and "Val dataset 1: TensorDataset, size=2" in str(data)

    class Model(lightning.Small):
        def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
            super().validation_step(batch, batch_idx)

    trainer = lightning.trainer(enable_checkpointing=False)
    trainer.fit(Model(), datamodule=data)
    assert trainer.global_step == 6 and trainer.datamodule is data and data.trainer is trainer
    trainer.fit_loop.max_epochs = 3
    trainer.fit(Model(), data)
    assert trainer.global_step == 9


def test_data_hooks_in_both_places(lightning: Any) -> None:
    class Data(L.LightningDataModule):
        def train_dataloader(self) -> Any:
            return lightning.loader(2)

        def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
            return [t * 0 for t in batch]

    class Model(lightning.Plain):
        def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
            raise AssertionError

    model = Model()
    with pytest.warns(UserWarning, match="implementation from `LightningDataModule`"):
        lightning.trainer(max_epochs=1, enable_checkpointing=False).fit(model, datamodule=Data())
    assert model.seen == [[0.0, 0.0]]


def test_workers_are_seeded(lightning: Any) -> None:
    import random

    import numpy as np

    class Random(tocha.utils.data.Dataset):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: int) -> Any:
            return tocha.tensor([random.random(), float(np.random.rand()), tocha.rand(1).item()]), tocha.ones(1)

    def run() -> Any:
        L.seed_everything(1, workers=True, verbose=False)
        model = lightning.Plain()
        lightning.trainer(max_epochs=1, enable_checkpointing=False).fit(model, DataLoader(Random(), num_workers=2))
        return model.seen

    first = run()
    assert first == run() and len({x for batch in first for x in batch}) == 4
    L.seed_everything(0, workers=False, verbose=False)
