"""Averaging, finetuning, monitors, finders."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

import tocha
import tocha_lightning as L
from tocha_lightning.callbacks import (
    BackboneFinetuning,
    BatchSizeFinder,
    DeviceStatsMonitor,
    EMAWeightAveraging,
    LearningRateFinder,
    ModelCheckpoint,
    ModelPruning,
    RichModelSummary,
    RichProgressBar,
    SpikeDetection,
    StochasticWeightAveraging,
    ThroughputMonitor,
    WeightAveraging,
)
from tocha_lightning.callbacks.spike import TrainingSpikeException
from tocha_lightning.loggers import CSVLogger, Logger
from tocha_lightning.tuner import Tuner
from tocha_lightning.utilities import MisconfigurationException
from tocha_lightning.utilities.throughput import Throughput


class Weights(L.Callback):
    """Notes the weight at the start of every epoch and after every step."""

    def __init__(self) -> None:
        self.epochs: list[Any] = []
        self.steps: list[Any] = []

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        self.epochs.append(pl_module.layer.weight.detach().clone())

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *args: Any) -> None:
        self.steps.append(pl_module.layer.weight.detach().clone())


def close(a: Any, b: Any) -> bool:
    return bool(((a - b).abs() < 1e-5).all())


def test_swa_averages_the_last_epochs(lightning: Any) -> None:
    weights = Weights()
    swa = StochasticWeightAveraging(swa_lrs=0.05, swa_epoch_start=3, annealing_epochs=2)
    model = lightning.Plain()
    trainer = lightning.trainer(max_epochs=6, callbacks=[weights, swa], enable_checkpointing=False)
    trainer.fit(model, lightning.loader())
    assert swa.n_averaged == 4
    assert close(model.layer.weight, sum(weights.epochs[2:6]) / 4)
    assert trainer.optimizers[0].param_groups[0]["lr"] == pytest.approx(0.05)


def test_swa_with_batch_normalization_takes_one_more_epoch(lightning: Any) -> None:
    class Model(lightning.Plain):
        def __init__(self) -> None:
            super().__init__()
            self.norm = tocha.nn.BatchNorm1d(3)

        def forward(self, x: Any) -> Any:
            return self.layer(self.norm(x))

    model = Model()
    swa = StochasticWeightAveraging(swa_lrs=0.05, swa_epoch_start=0.5)
    trainer = lightning.trainer(max_epochs=4, callbacks=[swa], enable_checkpointing=False)
    trainer.fit(model, lightning.loader(12, 4))
    assert trainer.current_epoch == 5 and trainer.global_step == 4 * 3 and trainer.max_epochs == 4
    assert int(model.norm.num_batches_tracked) == 3 and model.norm.momentum == 0.1
    x = lightning.points(12).tensors[0]
    assert close(model.norm.running_mean, x.mean(0))
    assert not trainer.fit_loop.epoch_loop.automatic_optimization.skip_backward


@pytest.mark.parametrize(
    "arguments",
    [{"swa_lrs": -1.0}, {"swa_lrs": "fast"}, {"swa_lrs": 0.1, "swa_epoch_start": 1.5},
     {"swa_lrs": 0.1, "swa_epoch_start": 0}, {"swa_lrs": 0.1, "avg_fn": 3},
     {"swa_lrs": 0.1, "annealing_strategy": "log"}],
)  # fmt: skip
def test_swa_arguments_that_cannot_work(arguments: Any) -> None:
    with pytest.raises(MisconfigurationException):
        StochasticWeightAveraging(**arguments)


@pytest.mark.parametrize("stop", [4, 9, 13])
@pytest.mark.filterwarnings("ignore:Checkpoint directory")
def test_swa_and_ema_are_resumed_exactly(lightning: Any, stop: int) -> None:
    def run(kind: Any, ckpt_path: Any = None, seed: int = 0) -> Any:
        L.seed_everything(seed, verbose=False)
        model = lightning.Plain(dropout=0.2)
        checkpoint = ModelCheckpoint(lightning.path / "c", every_n_train_steps=1, save_top_k=-1, filename="{step}")
        trainer = lightning.trainer(max_epochs=5, callbacks=[kind(), checkpoint], accumulate_grad_batches=2)
        trainer.fit(model, lightning.loader(shuffle=True), ckpt_path=ckpt_path)
        return model

    for kind in (
        lambda: StochasticWeightAveraging(swa_lrs=0.05, swa_epoch_start=3, annealing_epochs=2),
        lambda: EMAWeightAveraging(decay=0.8),
    ):
        whole = run(kind)
        resumed = run(kind, lightning.path / "c" / f"step={stop}.ckpt", seed=99)
        assert bool((whole.layer.weight == resumed.layer.weight).all())
        for file in (lightning.path / "c").iterdir():
            file.unlink()


def test_exponential_moving_average(lightning: Any) -> None:
    weights = Weights()
    model = lightning.Plain()
    start = model.layer.weight.detach().clone()
    lightning.trainer(max_epochs=1, callbacks=[weights, EMAWeightAveraging(decay=0.5)], enable_checkpointing=False).fit(
        model, lightning.loader(6)
    )
    # the first update copies the weights
    expected = weights.steps[0]
    for step in weights.steps[1:]:
        expected = 0.5 * expected + 0.5 * step
    assert close(model.layer.weight, expected) and not close(model.layer.weight, start)


def test_validation_uses_the_average(lightning: Any) -> None:
    seen: list[Any] = []

    class Model(lightning.Small):
        def on_validation_batch_start(self, *args: Any) -> None:
            seen.append(self.layer.weight.detach().clone())

    class EveryEpoch(WeightAveraging):
        def should_update(self, step_idx: Any = None, epoch_idx: Any = None) -> bool:
            return epoch_idx is not None

    model, weights = Model(), Weights()
    checkpoint = ModelCheckpoint(lightning.path / "c", filename="{epoch}", save_top_k=-1)
    lightning.trainer(max_epochs=2, callbacks=[weights, EveryEpoch(), checkpoint], num_sanity_val_steps=0).fit(
        model, lightning.loader(), lightning.loader(2)
    )
    assert close(seen[1], weights.epochs[1])
    saved = tocha.load(lightning.path / "c" / "epoch=1.ckpt")
    assert close(saved["current_model_state"]["layer.weight"], weights.steps[-1])
    assert close(saved["state_dict"]["layer.weight"], (weights.epochs[1] + weights.steps[-1]) / 2)


def test_a_backbone_is_trained_later(lightning: Any) -> None:
    class Model(lightning.Plain):
        def __init__(self) -> None:
            super().__init__()
            self.backbone = tocha.nn.Sequential(tocha.nn.Linear(3, 3), tocha.nn.ReLU())
            self.rates: list[list[float]] = []

        def forward(self, x: Any) -> Any:
            return self.layer(self.backbone(x))

        def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
            if batch_idx == 0:
                self.rates.append([group["lr"] for group in self.trainer.optimizers[0].param_groups])

        def configure_optimizers(self) -> Any:
            return tocha.optim.SGD([p for p in self.parameters() if p.requires_grad], lr=0.1)

    def callbacks() -> list[Any]:
        return [BackboneFinetuning(2, lambda epoch: 3.0), ModelCheckpoint(lightning.path / "c", save_last=True)]

    model = Model()
    before = model.backbone[0].weight.detach().clone()
    lightning.trainer(max_epochs=5, callbacks=callbacks()).fit(model, lightning.loader())
    assert model.rates == [
        [0.1],
        [0.1],
        [0.1, pytest.approx(0.01)],
        [0.1, pytest.approx(0.03)],
        [0.1, pytest.approx(0.09)],
    ]
    assert not close(model.backbone[0].weight, before)
    again = Model()
    with pytest.warns(UserWarning, match="exists and is not empty"):
        lightning.trainer(max_epochs=6, callbacks=callbacks()).fit(
            again, lightning.loader(), ckpt_path=lightning.path / "c" / "last.ckpt"
        )
    assert again.rates == [[0.1, 0.1]]
    with pytest.raises(MisconfigurationException, match="`backbone` attribute"):
        lightning.trainer(
            callbacks=[type("B", (BackboneFinetuning,), {"freeze_before_training": lambda *a: None})()]
        ).fit(lightning.Plain(), lightning.loader())


def test_spikes_end_the_run(lightning: Any) -> None:
    class Model(lightning.Plain):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            return self.loss(batch) * 0 + (100.0 if batch_idx == 4 else 1.0)

    with pytest.raises(TrainingSpikeException, match="batch 4"):
        lightning.trainer(callbacks=[SpikeDetection()], enable_checkpointing=False).fit(Model(), lightning.loader())
    assert json.loads((lightning.path / "skip_batches.json").read_text()) == [3, 4]
    spikes = SpikeDetection(atol=1000.0)
    lightning.trainer(callbacks=[spikes], enable_checkpointing=False).fit(Model(), lightning.loader())
    again = SpikeDetection()
    again.load_state_dict(spikes.state_dict())
    assert again.last_val == spikes.last_val
    with pytest.raises(ValueError, match="Invalid mode"):
        SpikeDetection(mode="odd")


class Recorder(Logger):
    name, version = "r", 0  # type: ignore[assignment]

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def log_metrics(self, metrics: Any, step: Any = None) -> None:
        self.rows.append((step, metrics))

    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        pass


def test_throughput(lightning: Any) -> None:
    class Model(lightning.Small):
        flops_per_batch = 1000

    logger = Recorder()
    monitor = ThroughputMonitor(lambda batch: len(batch[0]), length_fn=lambda batch: 3 * len(batch[0]), window_size=4)
    lightning.trainer(max_epochs=1, callbacks=[monitor], logger=logger, enable_checkpointing=False).fit(
        Model(), lightning.loader(), lightning.loader(4)
    )
    rows = [metrics for _, metrics in logger.rows if "train/batches" in metrics]
    assert [row["train/samples"] for row in rows] == [2, 4, 6, 8, 10, 12]
    assert [row["train/lengths"] for row in rows] == [6, 12, 18, 24, 30, 36]
    rates = {"batches_per_sec", "samples_per_sec", "items_per_sec", "flops_per_sec"}
    assert {f"train/device/{rate}" for rate in rates} <= rows[-1].keys() and len(rows[2]) < len(rows[3])
    ratio = rows[-1]["train/device/samples_per_sec"] / rows[-1]["train/device/batches_per_sec"]
    assert ratio == pytest.approx(2)
    assert any("validate/batches" in metrics for _, metrics in logger.rows)


def test_rates_of_several_devices() -> None:
    throughput = Throughput(available_flops=100.0, world_size=2, window_size=3)
    for i in range(4):
        throughput.update(time=float(i), batches=i + 1, samples=4 * (i + 1), flops=10)
    metrics = throughput.compute()
    assert metrics["device/samples_per_sec"] == 4.0 and metrics["samples_per_sec"] == 8.0
    assert metrics["device/flops_per_sec"] == 10.0 and metrics["device/mfu"] == pytest.approx(0.1)
    for wrong in ({"time": 1.0, "batches": 9, "samples": 99}, {"time": 9.0, "batches": 9, "samples": 3}):
        with pytest.raises(ValueError, match="Expected"):
            throughput.update(**wrong)
    with pytest.raises(ValueError, match="at least 2"):
        Throughput(window_size=1)


def test_figures_about_the_device(lightning: Any) -> None:
    pytest.importorskip("psutil", reason="psutil gives the figures of the CPU")
    logger = Recorder()
    lightning.trainer(max_epochs=1, callbacks=[DeviceStatsMonitor()], logger=logger, enable_checkpointing=False).fit(
        lightning.Plain(), lightning.loader(2)
    )
    keys = set().union(*(metrics for _, metrics in logger.rows))
    assert "DeviceStatsMonitor.on_train_batch_start/cpu/cpu_vm_percent" in keys
    with pytest.raises(MisconfigurationException, match="logger=False"):
        lightning.trainer(callbacks=[DeviceStatsMonitor()]).fit(lightning.Plain(), lightning.loader())


def test_learning_rate_finder(lightning: Any) -> None:
    model = lightning.Plain(lr=1e-5)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    trainer = lightning.trainer(enable_checkpointing=False, logger=CSVLogger(lightning.path), accumulate_grad_batches=2)
    state = tocha.get_rng_state()
    finder = Tuner(trainer).lr_find(
        model, lightning.loader(), min_lr=1e-4, max_lr=10.0, num_training=40, early_stop_threshold=None
    )
    assert finder is not None and bool((tocha.get_rng_state() == state).all())
    lrs, losses = finder.results["lr"], finder.results["loss"]
    assert lrs[0] == 1e-4 and len(lrs) == len(losses) == 40
    assert lrs[5] == pytest.approx(1e-4 * (1e5) ** (6 / 40))
    assert model.hparams.lr == finder.suggestion() and 1e-4 < model.hparams.lr < 10
    assert all(bool((value == before[key]).all()) for key, value in model.state_dict().items())
    assert trainer.global_step == 0 and trainer.current_epoch == 0 and model.seen
    assert not any(isinstance(callback, LearningRateFinder) for callback in trainer.callbacks)
    trainer.fit(model, lightning.loader())
    assert trainer.optimizers[0].param_groups[0]["lr"] == model.hparams.lr and trainer.global_step == 6


def test_learning_rate_finder_as_a_callback(lightning: Any) -> None:
    finder = LearningRateFinder(num_training_steps=30, mode="linear", max_lr=0.1)
    model = lightning.Plain()
    trainer = lightning.trainer(callbacks=[finder], enable_checkpointing=False)
    trainer.fit(model, lightning.loader())
    assert trainer.global_step == 12 and finder.optimal_lr.results["lr"][-1] == pytest.approx(0.1)
    assert trainer.optimizers[0].param_groups[0]["lr"] == finder.optimal_lr.suggestion()

    class Nameless(lightning.Plain):
        def __init__(self) -> None:
            L.LightningModule.__init__(self)
            self.layer, self.drop, self.seen = tocha.nn.Linear(3, 1), tocha.nn.Identity(), []

        def configure_optimizers(self) -> Any:
            return tocha.optim.SGD(self.parameters(), lr=0.1)

    with pytest.raises(AttributeError, match="one of these fields"):
        Tuner(lightning.trainer(enable_checkpointing=False)).lr_find(Nameless(), lightning.loader())
    with pytest.raises(MisconfigurationException, match="method='fit'"):
        Tuner(trainer).lr_find(model, method="test")
    with pytest.raises(ValueError, match="already configured"):
        Tuner(trainer).lr_find(model, lightning.loader())


def test_plot_of_the_learning_rates(lightning: Any) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="Matplotlib draws the plot")
    matplotlib.use("Agg")
    trainer = lightning.trainer(enable_checkpointing=False)
    finder = Tuner(trainer).lr_find(
        lightning.Plain(), lightning.loader(), num_training=30, update_attr=False, early_stop_threshold=None
    )
    figure = finder.plot(suggest=True)
    assert figure.axes[0].get_xscale() == "log" and len(figure.axes[0].lines) == 2
    import matplotlib.pyplot as plt

    plt.close(figure)


class Sized(L.LightningModule):
    def __init__(self, limit: int, batch_size: int = 2) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layer = tocha.nn.Linear(3, 1)
        self.sizes: list[int] = []

    def work(self, batch: Any) -> Any:
        self.sizes.append(len(batch))
        if len(batch) > self.hparams.limit:
            raise MemoryError
        return self.layer(batch).sum()

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        return self.work(batch)

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        self.work(batch)

    def configure_optimizers(self) -> Any:
        return tocha.optim.SGD(self.parameters(), lr=0.1)

    def train_dataloader(self) -> Any:
        return tocha.utils.data.DataLoader(tocha.ones(200, 3), batch_size=self.hparams.batch_size)

    val_dataloader = train_dataloader


@pytest.mark.parametrize(
    ("mode", "limit", "expected"), [("power", 50, 32), ("binsearch", 50, 47), ("power", 10**6, 256)]
)
def test_batch_size_finder(lightning: Any, mode: str, limit: int, expected: int) -> None:
    model = Sized(limit)
    trainer = lightning.trainer(max_epochs=1, enable_checkpointing=False, limit_val_batches=0)
    found = Tuner(trainer).scale_batch_size(model, mode=mode)
    assert found == expected == model.hparams.batch_size and trainer.global_step == 0
    model.sizes.clear()
    trainer.fit(model)
    assert model.sizes[0] == min(expected, 200)


def test_batch_size_finder_in_validation(lightning: Any) -> None:
    model = Sized(20)
    finder = BatchSizeFinder()
    lightning.trainer(callbacks=[finder]).validate(model, verbose=False)
    assert finder.optimal_batch_size == 16 and model.sizes[-1] == 200 % 16
    assert Tuner(lightning.trainer()).scale_batch_size(Sized(20), method="validate") == 16


def test_batch_sizes_that_cannot_be_found(lightning: Any) -> None:
    with pytest.raises(MemoryError, match="Not even a batch size of 1"):
        Tuner(lightning.trainer(enable_checkpointing=False, limit_val_batches=0)).scale_batch_size(Sized(0))
    with pytest.raises(MisconfigurationException, match="passed directly"):
        Tuner(lightning.trainer(enable_checkpointing=False, limit_val_batches=0)).scale_batch_size(
            Sized(9), lightning.loader()
        )
    with pytest.raises(MisconfigurationException, match="Field size not found"):
        Tuner(lightning.trainer(enable_checkpointing=False, limit_val_batches=0)).scale_batch_size(
            Sized(9), batch_arg_name="size"
        )


def test_rich_bar_and_summary(lightning: Any) -> None:
    pytest.importorskip("rich", reason="rich draws them")
    stream = io.StringIO()
    bar = RichProgressBar(console_kwargs={"file": stream, "width": 160})
    trainer = lightning.trainer(
        callbacks=[bar, RichModelSummary()],
        enable_progress_bar=True,
        enable_model_summary=True,
        enable_checkpointing=False,
    )
    trainer.fit(lightning.Small(), lightning.loader(), lightning.loader(4))
    trainer.test(lightning.Small(), lightning.loader(4), verbose=False)
    text = stream.getvalue()
    assert "Epoch 1/1" in text and "6/6" in text and "val_loss" in text and "Testing" in text


@pytest.mark.parametrize("globally", [True, False])
def test_pruning(lightning: Any, globally: bool) -> None:
    class Model(lightning.Plain):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = tocha.nn.Linear(3, 8)
            self.layer = tocha.nn.Linear(8, 1)

        def forward(self, x: Any) -> Any:
            return self.layer(self.hidden(x).relu())

    model = Model()
    pruning = ModelPruning("l1_unstructured", parameter_names=["weight"], amount=0.5, use_global_unstructured=globally,
                           apply_pruning=lambda epoch: epoch == 0, use_lottery_ticket_hypothesis=False)  # fmt: skip
    checkpoint = ModelCheckpoint(lightning.path / "c", filename="m")
    lightning.trainer(callbacks=[pruning, checkpoint]).fit(model, lightning.loader())
    zeros = [int((module.weight == 0).sum()) for module in (model.hidden, model.layer)]
    assert sum(zeros) == 16 and (globally or zeros == [12, 4])
    assert sorted(model.state_dict()) == ["hidden.bias", "hidden.weight", "layer.bias", "layer.weight"]
    saved = tocha.load(lightning.path / "c" / "m.ckpt")["state_dict"]
    assert sorted(saved) == sorted(model.state_dict()) and int((saved["hidden.weight"] == 0).sum()) == zeros[0]


def test_pruning_gives_the_rest_its_first_values(lightning: Any) -> None:
    model = lightning.Plain()
    first = model.layer.weight.detach().clone()
    pruning = ModelPruning(
        "random_unstructured", [(model.layer, "weight")], amount=1, make_pruning_permanent=False, verbose=2
    )
    lightning.trainer(max_epochs=1, callbacks=[pruning], enable_checkpointing=False).fit(model, lightning.loader())
    assert bool((model.layer.weight_orig == first).all()) and pruning.statistics() == [(1, 3)]
    assert int((model.layer.weight == 0).sum()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pruning_fn": "sparkle"}, "`pruning_fn` has to be"),
        ({"pruning_fn": "ln_structured", "use_global_unstructured": False}, "`pruning_dim` should be provided"),
        ({"pruning_fn": "ln_structured", "use_global_unstructured": False, "pruning_dim": 0}, "`pruning_norm` should"),
        ({"pruning_fn": "random_structured", "pruning_dim": 0}, "Only unstructured pruning"),
        ({"pruning_fn": "l1_unstructured", "amount": "half"}, "`amount` should be provided"),
        ({"pruning_fn": "l1_unstructured", "verbose": 3}, "`verbose` must be"),
    ],
)
def test_pruning_that_cannot_work(arguments: Any, message: str) -> None:
    with pytest.raises(MisconfigurationException, match=message):
        ModelPruning(**arguments)


def test_structured_pruning(lightning: Any) -> None:
    model = lightning.Plain()
    pruning = ModelPruning("ln_structured", [(model.layer, "weight")], use_global_unstructured=False, amount=1,
                           pruning_dim=1, pruning_norm=2)  # fmt: skip
    lightning.trainer(max_epochs=1, callbacks=[pruning], enable_checkpointing=False).fit(model, lightning.loader())
    assert int((model.layer.weight == 0).sum()) == 1
