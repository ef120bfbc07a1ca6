"""Runs whose behaviour is compared with Lightning's: the same code runs on Lightning with PyTorch and on tocha.

`run(environment, name)` returns everything observable about a run as plain data: the order of the hooks, what reached
the loggers, metrics, the names and the contents of checkpoints, learning rates and counters.
"""

from __future__ import annotations

import math
import os
import tempfile
from types import SimpleNamespace
from typing import Any

CALLBACK_HOOKS = [
    "setup", "teardown", "on_fit_start", "on_fit_end", "on_sanity_check_start", "on_sanity_check_end",
    "on_train_batch_start", "on_train_batch_end", "on_train_epoch_start", "on_train_epoch_end",
    "on_validation_epoch_start", "on_validation_epoch_end", "on_test_epoch_start", "on_test_epoch_end",
    "on_predict_epoch_start", "on_predict_epoch_end", "on_validation_batch_start", "on_validation_batch_end",
    "on_test_batch_start", "on_test_batch_end", "on_predict_batch_start", "on_predict_batch_end", "on_train_start",
    "on_train_end", "on_validation_start", "on_validation_end", "on_test_start", "on_test_end", "on_predict_start",
    "on_predict_end", "on_exception", "on_save_checkpoint", "on_load_checkpoint", "on_before_backward",
    "on_after_backward", "on_before_optimizer_step", "on_before_zero_grad",
]  # fmt: skip
MODULE_HOOKS = [
    "on_fit_start", "on_fit_end", "on_train_start", "on_train_end", "on_validation_start", "on_validation_end",
    "on_test_start", "on_test_end", "on_predict_start", "on_predict_end", "on_train_batch_start", "on_train_batch_end",
    "on_validation_batch_start", "on_validation_batch_end", "on_test_batch_start", "on_test_batch_end",
    "on_predict_batch_start", "on_predict_batch_end", "on_validation_model_zero_grad", "on_validation_model_eval",
    "on_validation_model_train", "on_test_model_eval", "on_test_model_train", "on_predict_model_eval",
    "on_train_epoch_start", "on_train_epoch_end", "on_validation_epoch_start", "on_validation_epoch_end",
    "on_test_epoch_start", "on_test_epoch_end", "on_predict_epoch_start", "on_predict_epoch_end", "on_before_zero_grad",
    "on_before_backward", "on_after_backward", "on_before_optimizer_step", "prepare_data", "setup", "teardown",
    "on_before_batch_transfer", "transfer_batch_to_device", "on_after_batch_transfer", "on_load_checkpoint",
    "on_save_checkpoint", "training_step", "validation_step", "test_step", "predict_step", "configure_optimizers",
    "configure_callbacks", "configure_gradient_clipping", "optimizer_step", "optimizer_zero_grad", "lr_scheduler_step",
    "backward", "train_dataloader", "val_dataloader", "test_dataloader", "predict_dataloader", "configure_model",
]  # fmt: skip
DATA_HOOKS = ["prepare_data", "setup", "teardown", "train_dataloader", "val_dataloader", "state_dict",
              "load_state_dict", "on_before_batch_transfer", "on_after_batch_transfer"]  # fmt: skip

# name -> what to run: arguments of the Trainer, of the module, and the methods to call
TABLE: dict[str, dict[str, Any]] = {
    "fit": {"trainer": {"max_epochs": 2}, "hooks": True},
    "fit_without_validation": {"trainer": {"max_epochs": 2, "limit_val_batches": 0}, "hooks": True},
    "all_stages": {
        "trainer": {"max_epochs": 1, "limit_train_batches": 2, "limit_val_batches": 1, "limit_test_batches": 2,
                    "limit_predict_batches": 2, "num_sanity_val_steps": 0},
        "calls": ["fit", "validate", "test", "predict"], "hooks": True,
    },
    "datamodule": {
        "trainer": {"max_epochs": 1, "limit_train_batches": 1, "limit_val_batches": 1},
        "datamodule": True, "hooks": True,
    },
    "accumulate_4_over_10": {"trainer": {"max_epochs": 2, "accumulate_grad_batches": 4}, "hooks": True},
    "accumulate_3_with_step_scheduler": {
        "trainer": {"max_epochs": 2, "accumulate_grad_batches": 3}, "module": {"scheduler": "step"},
    },
    "gradient_clip_norm": {"trainer": {"max_epochs": 1, "gradient_clip_val": 0.1}},
    "gradient_clip_value": {
        "trainer": {"max_epochs": 1, "gradient_clip_val": 0.05, "gradient_clip_algorithm": "value"},
    },
    "val_check_interval_float": {"trainer": {"max_epochs": 2, "val_check_interval": 0.4}},
    "val_check_interval_int": {"trainer": {"max_epochs": 2, "val_check_interval": 3}, "hooks": True},
    "val_check_interval_beyond_epoch": {
        "trainer": {"max_epochs": 3, "val_check_interval": 12, "check_val_every_n_epoch": None},
    },
    "check_val_every_2": {"trainer": {"max_epochs": 5, "check_val_every_n_epoch": 2}},
    "max_steps_mid_epoch": {"trainer": {"max_steps": 13}},
    "max_steps_with_accumulation": {"trainer": {"max_steps": 4, "accumulate_grad_batches": 3}},
    "min_epochs_beats_stop": {"trainer": {"max_epochs": 6, "min_epochs": 4}, "module": {"stop_at": 3}},
    "stop_mid_epoch": {"trainer": {"max_epochs": 3}, "module": {"stop_at": 14}, "hooks": True},
    "limit_batches_int": {"trainer": {"max_epochs": 2, "limit_train_batches": 3, "limit_val_batches": 2}},
    "limit_batches_float": {"trainer": {"max_epochs": 2, "limit_train_batches": 0.35, "limit_val_batches": 0.5}},
    "overfit_batches": {"trainer": {"max_epochs": 2, "overfit_batches": 2}},
    "fast_dev_run": {"trainer": {"fast_dev_run": True}, "hooks": True},
    "fast_dev_run_3": {"trainer": {"fast_dev_run": 3}},
    "log_every_3": {"trainer": {"max_epochs": 2, "log_every_n_steps": 3}, "module": {"log": "everything"}},
    "log_everywhere": {"trainer": {"max_epochs": 2, "log_every_n_steps": 2}, "module": {"log": "everywhere"}},
    "two_val_loaders": {"trainer": {"max_epochs": 2}, "module": {"val_loaders": 2}, "calls": ["fit", "validate"]},
    "uneven_batches": {"trainer": {"max_epochs": 1}, "module": {"samples": 11}},
    "scheduler_epoch": {"trainer": {"max_epochs": 4}, "module": {"scheduler": "epoch"}, "hooks": True},
    "scheduler_step_frequency_2": {"trainer": {"max_epochs": 2}, "module": {"scheduler": "step2"}},
    "scheduler_plateau": {"trainer": {"max_epochs": 5}, "module": {"scheduler": "plateau"}},
    "scheduler_plateau_train_metric": {
        "trainer": {"max_epochs": 4, "limit_val_batches": 0}, "module": {"scheduler": "plateau_train"},
    },
    "two_schedulers": {"trainer": {"max_epochs": 3}, "module": {"scheduler": "both"}},
    "manual_optimization": {"trainer": {"max_epochs": 2}, "module": {"manual": True}, "hooks": True},
    "skip_steps": {"trainer": {"max_epochs": 2}, "module": {"skip": True}},
    "skip_epoch": {"trainer": {"max_epochs": 2}, "module": {"skip_epoch_after": 4}, "hooks": True},
    "checkpoint_top_2": {
        "trainer": {"max_epochs": 5},
        "checkpoint": {"monitor": "val_wave", "save_top_k": 2, "filename": "{epoch}-{val_wave:.2f}", "save_last": True},
    },
    "checkpoint_max_all": {
        "trainer": {"max_epochs": 3}, "checkpoint": {"monitor": "val_wave", "mode": "max", "save_top_k": -1},
    },
    "checkpoint_every_4_steps": {
        "trainer": {"max_epochs": 2},
        "checkpoint": {"every_n_train_steps": 4, "save_top_k": -1, "filename": "{step}"},
    },
    "checkpoint_every_2_epochs": {"trainer": {"max_epochs": 5}, "checkpoint": {"every_n_epochs": 2, "save_top_k": -1}},
    "checkpoint_last_only": {"trainer": {"max_epochs": 2}, "checkpoint": {"save_top_k": 0, "save_last": True}},
    "checkpoint_slash_in_metric": {
        "trainer": {"max_epochs": 2},
        "checkpoint": {"monitor": "val/acc", "filename": "best-{val/acc:.1f}", "auto_insert_metric_name": False},
    },
    "checkpoint_val_interval": {
        "trainer": {"max_epochs": 2, "val_check_interval": 4}, "checkpoint": {"monitor": "val_wave", "save_top_k": 3},
    },
    "early_stopping": {"trainer": {"max_epochs": 20}, "early_stopping": {"monitor": "val_wave", "patience": 2}},
    "early_stopping_threshold": {
        "trainer": {"max_epochs": 20}, "early_stopping": {"monitor": "val_wave", "stopping_threshold": 0.2},
    },
    "early_stopping_nan": {
        "trainer": {"max_epochs": 20}, "module": {"val_nan_at": 3}, "early_stopping": {"monitor": "val_wave"},
    },
    "early_stopping_every_check": {
        "trainer": {"max_epochs": 9, "val_check_interval": 0.5},
        "early_stopping": {"monitor": "val_wave", "patience": 3},
    },
    "lr_monitor": {
        "trainer": {"max_epochs": 2, "log_every_n_steps": 3}, "module": {"scheduler": "both"}, "lr_monitor": {},
    },
    "lr_monitor_momentum": {
        "trainer": {"max_epochs": 2, "log_every_n_steps": 5}, "module": {"scheduler": "epoch", "groups": True},
        "lr_monitor": {"logging_interval": "step", "log_momentum": True, "log_weight_decay": True},
    },
    "resume_end_of_epoch": {"trainer": {"max_epochs": 2}, "resume": {"max_epochs": 4}, "hooks": True},
    "resume_mid_epoch": {
        "trainer": {"max_epochs": 1}, "resume": {"max_epochs": 2}, "checkpoint": {"every_n_train_steps": 6},
    },
    "iterable_train_data": {"trainer": {"max_epochs": 2}, "module": {"iterable": True}},
    "two_train_loaders": {"trainer": {"max_epochs": 2}, "module": {"train_loaders": True}},
    "shuffled": {"trainer": {"max_epochs": 3}, "module": {"shuffle": True, "dropout": True, "log": "everything"}},
    "gradient_accumulation_scheduler": {
        "trainer": {"max_epochs": 4}, "accumulation_scheduler": {0: 2, 2: 5},
    },
    "reload_dataloaders": {
        "trainer": {"max_epochs": 3, "reload_dataloaders_every_n_epochs": 1, "limit_train_batches": 1,
                    "limit_val_batches": 1, "num_sanity_val_steps": 1}, "hooks": True,
    },
    "sum_and_extremes": {"trainer": {"max_epochs": 2}, "module": {"log": "reductions"}},
}  # fmt: skip


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    return round(value, 5) if isinstance(value, float) else value


def _plain_items(items: dict[str, Any]) -> dict[str, Any]:
    return {key: _plain(value) for key, value in sorted(items.items())}


def _recorded(cls: type, hooks: list[str], prefix: str, calls: list[str]) -> type:
    """A subclass that notes every call of its hooks."""

    def make(name: str) -> Any:
        def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
            calls.append(f"{prefix}.{name}")
            return getattr(super(recorded, self), name)(*args, **kwargs)

        return hook

    class recorded(cls):  # type: ignore[valid-type,misc]
        pass

    for name in hooks:
        setattr(recorded, name, make(name))
    return recorded


def _module(env: SimpleNamespace, seen: dict[str, Any], options: dict[str, Any]) -> Any:
    T, L = env.T, env.L
    DataLoader, TensorDataset = T.utils.data.DataLoader, T.utils.data.TensorDataset
    wave = [
        0.9,
        0.5,
        0.7,
        0.3,
        0.6,
        0.4,
        0.1,
        0.8,
        0.95,
        0.2,
        0.65,
        0.55,
        0.45,
        0.35,
        0.25,
        0.15,
        0.05,
        0.85,
        0.75,
        0.01,
    ]

    class Stream(T.utils.data.IterableDataset):
        def __iter__(self) -> Any:
            x, y = data(20)
            for i in range(20):
                yield x[i], y[i]

    def data(samples: int) -> Any:
        x = T.linspace(-1.0, 1.0, samples * 3).reshape(samples, 3)
        return x, x.sum(1, keepdim=True) * 0.5 + 0.1

    class Model(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = T.nn.Linear(3, 1)
            with T.no_grad():
                self.layer.weight.copy_(T.tensor([[0.1, -0.2, 0.3]]))
                self.layer.bias.fill_(0.05)
            self.drop = T.nn.Dropout(0.3 if options.get("dropout") else 0.0)
            self.automatic_optimization = not options.get("manual")
            self.validations = 0

        def loss(self, batch: Any) -> Any:
            x, y = batch
            return T.nn.functional.mse_loss(self.layer(self.drop(x)), y)

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            if isinstance(batch, dict):
                loss = self.loss(batch["a"]) + self.loss(batch["b"])
            else:
                loss = self.loss(batch)
            log = options.get("log")
            self.log("loss", loss.detach(), on_epoch=True, batch_size=None if not isinstance(batch, dict) else 2)
            if log in ("everything", "everywhere"):
                self.log("step_only", float(batch_idx))
                self.log("epoch_only", float(batch_idx), on_step=False, on_epoch=True)
                self.log("bar_only", float(batch_idx), prog_bar=True, logger=False)
                if batch_idx % 2:
                    self.log("odd", float(batch_idx))
            if log == "reductions":
                for reduce in ("sum", "min", "max", "mean"):
                    self.log(f"r_{reduce}", float(batch_idx), on_step=True, on_epoch=True, reduce_fx=reduce)
            seen["lr"].append(_plain(self.trainer.optimizers[0].param_groups[0]["lr"]))
            seen["steps"].append(self.trainer.global_step)
            if len(seen["lr"]) == options.get("stop_at"):
                self.trainer.should_stop = True
            if options.get("manual"):
                first, second = self.optimizers()
                for optimizer in (first, second) if batch_idx % 2 else (first,):
                    optimizer.zero_grad()
                    self.manual_backward(self.loss(batch))
                    optimizer.step()
                return None
            if options.get("skip") and batch_idx % 3 == 0:
                return None
            if batch_idx % 2:
                return loss
            return {"loss": loss, "extra": batch_idx}

        def on_train_batch_start(self, batch: Any, batch_idx: int) -> Any:
            after = options.get("skip_epoch_after")
            if after is not None and batch_idx >= after:
                return -1
            if options.get("log") == "everywhere":
                self.log("at_batch_start", float(batch_idx))
            return None

        def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
            outputs = {} if outputs is None else outputs
            loss = outputs.get("loss")
            seen["outputs"].append([sorted(outputs), None if loss is None else _plain(loss)])
            if options.get("log") == "everywhere":
                self.log("at_batch_end", float(batch_idx))

        def on_train_epoch_end(self) -> None:
            if options.get("log") == "everywhere":
                self.log("at_epoch_end", float(self.current_epoch))

        def on_train_start(self) -> None:
            if options.get("log") == "everywhere":
                self.log("at_train_start", 1.0)

        def on_validation_epoch_end(self) -> None:
            if options.get("log") == "everywhere":
                self.log("val_at_epoch_end", 2.0)
            if self.trainer.sanity_checking:
                return
            value = wave[self.validations % len(wave)]
            if options.get("val_nan_at") == self.validations:
                value = float("nan")
            self.validations += 1
            self.log("val_wave", value)
            self.log("val/acc", 1 - value)

        def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> Any:
            loss = self.loss(batch)
            self.log("val_loss", loss)
            if options.get("log") in ("everything", "everywhere"):
                self.log("val_both", float(batch_idx), on_step=True, on_epoch=True)
            return loss

        def test_step(self, batch: Any, batch_idx: int) -> Any:
            self.log("test_loss", self.loss(batch))
            self.log("test_count", 1.0, reduce_fx="sum")

        def predict_step(self, batch: Any, batch_idx: int) -> Any:
            return self.layer(batch[0]).sum()

        def configure_optimizers(self) -> Any:
            sgd = T.optim.SGD
            if options.get("manual"):
                return sgd([self.layer.weight], lr=0.1), sgd([self.layer.bias], lr=0.05)
            if options.get("groups"):
                groups = [{"params": [self.layer.weight]}, {"params": [self.layer.bias], "lr": 0.01, "name": "bias"}]
                optimizer = sgd(groups, lr=0.1, momentum=0.9, weight_decay=0.001)
            else:
                optimizer = sgd(self.parameters(), lr=0.1, momentum=0.5)
            lr = T.optim.lr_scheduler
            kind = options.get("scheduler")
            if kind == "epoch":
                return [optimizer], [lr.StepLR(optimizer, 2, 0.5)]
            if kind in ("step", "step2"):
                config = {"scheduler": lr.StepLR(optimizer, 1, 0.9), "interval": "step"}
                return {"optimizer": optimizer, "lr_scheduler": {**config, "frequency": 2 if kind == "step2" else 1}}
            if kind in ("plateau", "plateau_train"):
                plateau = lr.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
                monitor = "val_wave" if kind == "plateau" else "loss_epoch"
                return {"optimizer": optimizer, "lr_scheduler": plateau, "monitor": monitor}
            if kind == "both":
                first = {"scheduler": lr.StepLR(optimizer, 1, 0.95), "interval": "step", "name": "by_step"}
                return [optimizer], [first, lr.StepLR(optimizer, 1, 0.5)]
            return optimizer

        def _loader(self, samples: int, shuffle: bool = False) -> Any:
            return DataLoader(TensorDataset(*data(samples)), batch_size=2, shuffle=shuffle)

        def train_dataloader(self) -> Any:
            if options.get("iterable"):
                return DataLoader(Stream(), batch_size=2)
            if options.get("train_loaders"):
                return {"a": self._loader(20), "b": self._loader(6)}
            return self._loader(options.get("samples", 20), shuffle=bool(options.get("shuffle")))

        def val_dataloader(self) -> Any:
            samples = options.get("samples", 8)
            if options.get("val_loaders"):
                return [self._loader(8), self._loader(5)]
            return self._loader(samples)

        def test_dataloader(self) -> Any:
            return self._loader(8)

        def predict_dataloader(self) -> Any:
            return self._loader(8)

    return Model


def _datamodule(env: SimpleNamespace) -> Any:
    T = env.T

    class Data(env.L.LightningDataModule):
        def state_dict(self) -> Any:
            return {"seen": 3}

        def train_dataloader(self) -> Any:
            x = T.linspace(-1.0, 1.0, 24).reshape(8, 3)
            return T.utils.data.DataLoader(T.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), batch_size=2)

        val_dataloader = train_dataloader

    return Data


def _logger(env: SimpleNamespace, seen: dict[str, Any]) -> Any:
    class Recorder(env.loggers.Logger):
        name = "recorder"
        version = 0
        save_dir = None
        experiment = None

        def log_metrics(self, metrics: Any, step: Any = None) -> None:
            seen["logged"].append([step, {key: _plain(value) for key, value in sorted(metrics.items())}])

        def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
            seen["hparams"] = dict(params)

        def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
            seen["saved"].append(
                [
                    os.path.basename(checkpoint_callback._last_checkpoint_saved),
                    checkpoint_callback._last_global_step_saved,
                ]
            )

    return Recorder()


def _callbacks(env: SimpleNamespace, case: dict[str, Any], folder: str, calls: list[str] | None) -> list[Any]:
    callbacks = []
    if calls is not None:
        callbacks.append(_recorded(env.callbacks.Callback, CALLBACK_HOOKS, "callback", calls)())
    if "checkpoint" in case:
        callbacks.append(
            env.callbacks.ModelCheckpoint(dirpath=os.path.join(folder, "checkpoints"), **case["checkpoint"])
        )
    if "early_stopping" in case:
        callbacks.append(env.callbacks.EarlyStopping(**case["early_stopping"]))
    if "lr_monitor" in case:
        callbacks.append(env.callbacks.LearningRateMonitor(**case["lr_monitor"]))
    if "accumulation_scheduler" in case:
        callbacks.append(env.callbacks.GradientAccumulationScheduler(case["accumulation_scheduler"]))
    return callbacks


def _checkpoint_contents(env: SimpleNamespace, path: str) -> dict[str, Any]:
    checkpoint = env.load(path)
    fit_loop = checkpoint["loops"]["fit_loop"]
    counters = {
        name: fit_loop[name]
        for name in ("epoch_progress", "epoch_loop.batch_progress", "epoch_loop.scheduler_progress",
                     "epoch_loop.automatic_optimization.optim_progress",
                     "epoch_loop.manual_optimization.optim_step_progress")
    }  # fmt: skip
    return {
        "keys": sorted(checkpoint),
        "epoch": checkpoint["epoch"],
        "global_step": checkpoint["global_step"],
        "counters": counters,
        "loops": sorted(checkpoint["loops"]),
        "callbacks": sorted(key for key in checkpoint["callbacks"] if not key.startswith("Timer")),
        "batches_that_stepped": fit_loop["epoch_loop.state_dict"]["_batches_that_stepped"],
    }


def run(env: SimpleNamespace, name: str) -> dict[str, Any]:
    """Run the case `name` and return what was observed."""
    case = TABLE[name]
    seen: dict[str, Any] = {"logged": [], "saved": [], "lr": [], "steps": [], "outputs": []}
    calls: list[str] | None = [] if case.get("hooks") else None
    env.L.seed_everything(0, verbose=False)
    with tempfile.TemporaryDirectory() as folder:
        cls = _module(env, seen, case.get("module", {}))
        data_cls = _datamodule(env) if case.get("datamodule") else None
        if calls is not None:
            cls = _recorded(cls, MODULE_HOOKS, "module", calls)
            data_cls = _recorded(data_cls, DATA_HOOKS, "data", calls) if data_cls is not None else None
        common = {"enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu",
                  "default_root_dir": folder}  # fmt: skip
        arguments = {**common, "log_every_n_steps": 1, **case["trainer"]}
        trainer = env.L.Trainer(**arguments, logger=_logger(env, seen), callbacks=_callbacks(env, case, folder, calls))
        model = cls()
        results = []
        for call in case.get("calls", ["fit"]):
            if calls is not None:
                calls.append(f"== {call}")
            kwargs = {"datamodule": data_cls()} if data_cls is not None else {}
            if call in ("validate", "test"):
                kwargs["verbose"] = False
            result = getattr(trainer, call)(model, **kwargs)
            if result is not None:
                results.append([_plain_items(item) if isinstance(item, dict) else _plain(item) for item in result])
        found = _observed(env, trainer, model, seen, folder)
        found["results"] = results
        if "resume" in case:
            checkpoints = [os.path.join(root, file) for root, _, files in os.walk(folder) for file in files]
            path = max((p for p in checkpoints if p.endswith(".ckpt")), key=os.path.getmtime)
            if calls is not None:
                calls.append("== resume")
            seen.update({"logged": [], "saved": [], "lr": [], "steps": [], "outputs": []})
            trainer = env.L.Trainer(
                **{**arguments, **case["resume"]},
                logger=_logger(env, seen),
                callbacks=_callbacks(env, case, folder, calls),
            )
            model = cls()
            trainer.fit(model, ckpt_path=path)
            found["resumed"] = _observed(env, trainer, model, seen, folder)
    if calls is not None:
        found["hooks"] = calls
    return found


def _observed(env: SimpleNamespace, trainer: Any, model: Any, seen: dict[str, Any], folder: str) -> dict[str, Any]:
    files = sorted(
        os.path.relpath(os.path.join(root, file), folder) for root, _, names in os.walk(folder) for file in names
    )
    checkpoints = [file for file in files if file.endswith(".ckpt")]
    newest = max(checkpoints, key=lambda file: os.path.getmtime(os.path.join(folder, file)), default=None)
    callback = trainer.checkpoint_callback
    stopping = trainer.early_stopping_callback
    return {
        **{key: list(value) if isinstance(value, list) else value for key, value in seen.items()},
        "files": [os.path.basename(file) for file in checkpoints],
        "folders": sorted({os.path.dirname(file) for file in checkpoints}),
        "contents": None if newest is None else _checkpoint_contents(env, os.path.join(folder, newest)),
        "best": os.path.basename(getattr(callback, "best_model_path", "") or ""),
        "best_score": _plain(getattr(callback, "best_model_score", None)),
        "stopped_epoch": getattr(stopping, "stopped_epoch", None),
        "wait_count": getattr(stopping, "wait_count", None),
        "current_epoch": trainer.current_epoch,
        "global_step": trainer.global_step,
        "should_stop": trainer.should_stop,
        "callback_metrics": {key: _plain(value) for key, value in sorted(trainer.callback_metrics.items())},
        "logged_metrics": {key: _plain(value) for key, value in sorted(trainer.logged_metrics.items())},
        "progress_bar_metrics": {key: _plain(value) for key, value in sorted(trainer.progress_bar_metrics.items())},
        "weights": [round(value, 5) for value in model.layer.weight.detach().flatten().tolist()]
        + [round(model.layer.bias.item(), 5)],
        "estimated_stepping_batches": _estimate(trainer) if trainer.state.fn == "fit" else None,
    }


def _estimate(trainer: Any) -> Any:
    try:
        value = trainer.estimated_stepping_batches
    except Exception as error:
        return type(error).__name__
    return "inf" if value == float("inf") else value


# where tocha means to differ from Lightning, and why
DIFFERENCES = {
    # tocha goes on with the batches that were not seen; Lightning begins the epoch's data again
    "resume_mid_epoch": ["resumed/callback_metrics", "resumed/logged", "resumed/weights", "resumed/outputs",
                         "resumed/progress_bar_metrics"],
    # Lightning answers max_steps, which is -1 here; tocha says that it cannot know
    "iterable_train_data": ["estimated_stepping_batches"],
    # Lightning takes the last epoch's number of accumulated batches for all epochs
    "gradient_accumulation_scheduler": ["estimated_stepping_batches"],
}  # fmt: skip


def differences(expected: Any, found: Any, path: str = "") -> list[str]:
    """Where two pieces of plain data differ; numbers may by 2e-5."""
    if isinstance(expected, dict) and isinstance(found, dict):
        out = (
            [f"{path}: only in one: {sorted(expected.keys() ^ found.keys())}"]
            if expected.keys() != found.keys()
            else []
        )
        for key in expected.keys() & found.keys():
            out += differences(expected[key], found[key], f"{path}/{key}".lstrip("/"))
        return out
    if isinstance(expected, list) and isinstance(found, list):
        out = []
        for i, (a, b) in enumerate(zip(expected, found, strict=False)):
            out += differences(a, b, f"{path}[{i}]")
            if out:
                return out
        return out if len(expected) == len(found) else [f"{path}: {len(expected)} items, found {len(found)}"]
    if isinstance(expected, float) and isinstance(found, (int, float)):
        if math.isnan(expected) and math.isnan(found) or abs(expected - found) <= 2e-5:
            return []
    return [] if expected == found else [f"{path}: expected {expected!r}, found {found!r}"]


def unexpected(name: str, expected: Any, found: Any) -> list[str]:
    """The differences between two runs of the case `name` that tocha does not mean to have."""
    allowed = DIFFERENCES.get(name, [])
    return [d for d in differences(expected, found) if not any(d.startswith(prefix) for prefix in allowed)]
