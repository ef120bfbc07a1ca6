"""The Trainer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import tocha
from tocha_lightning.accelerators import Accelerator
from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.core.datamodule import LightningDataModule
from tocha_lightning.core.module import LightningModule
from tocha_lightning.loggers import Logger
from tocha_lightning.loggers.default import loggers_of
from tocha_lightning.logging import LoggingConnector
from tocha_lightning.loops import EvaluationLoop, FitLoop, PredictionLoop, TrainingEpochLoop
from tocha_lightning.plugins import CheckpointIO, Precision
from tocha_lightning.profilers import Profiler
from tocha_lightning.strategies import Strategy
from tocha_lightning.trainer.arguments import (
    check_barebones,
    check_clipping,
    check_validation_arguments,
    profiler_of,
    set_limits,
)
from tocha_lightning.trainer.callback_setup import make_callbacks
from tocha_lightning.trainer.checkpointing import CheckpointConnector
from tocha_lightning.trainer.device_setup import make_strategy
from tocha_lightning.trainer.hook_calls import HookCalls
from tocha_lightning.trainer.run import TrainerRun
from tocha_lightning.trainer.signals import SignalConnector
from tocha_lightning.trainer.states import RunningStage, TrainerFn, TrainerState
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.rank_zero import PossibleUserWarning, rank_zero_info, rank_zero_only, rank_zero_warn


class Trainer(TrainerRun):
    """Trains, validates, tests and uses a `LightningModule`.

    Args:
        accelerator: ``"cpu"``, ``"cuda"`` (or ``"gpu"``), ``"auto"``, or an `Accelerator`.
        strategy: ``"auto"``, the name of a registered strategy, or a `Strategy`.
        devices: how many devices, which ones, or ``"auto"``.
        num_nodes: how many machines.
        precision: ``"32-true"`` (or 32), ``"64-true"``, ``"16-true"``, ``"bf16-true"``, ``"16-mixed"`` (or 16),
            ``"bf16-mixed"`` (or ``"bf16"``).
        logger: a logger, several, True for the default one (TensorBoard if it is installed, else CSV), or False.
        callbacks: a callback or a list of them.
        fast_dev_run: run this many batches (True: 1) of every loop, once, without loggers and checkpoints.
        max_epochs: stop after so many epochs; -1: never. Default 1000 unless `max_steps` or `max_time` is given.
        min_epochs: do not stop early before so many epochs.
        max_steps: stop after so many optimizer steps; -1: never.
        min_steps: do not stop early before so many optimizer steps.
        max_time: stop after this duration: a timedelta, ``"DD:HH:MM:SS"``, or a dictionary of timedelta's arguments.
        limit_train_batches: how much of the training data an epoch uses: a fraction (float) or a number of batches.
        limit_val_batches: the same for validation.
        limit_test_batches: the same for test.
        limit_predict_batches: the same for prediction.
        overfit_batches: train and validate on this fraction or number of batches, without shuffling.
        val_check_interval: validate after this fraction of an epoch (float), after so many batches (int), or after a
            duration.
        check_val_every_n_epoch: validate every so many epochs; None: `val_check_interval` counts over epochs.
        num_sanity_val_steps: validation batches to try before training; -1: all. Default 2.
        log_every_n_steps: log the metrics of every so many training steps. Default 50.
        enable_checkpointing: add a `ModelCheckpoint` if there is none. Default True.
        enable_progress_bar: add a progress bar if there is none. Default True.
        enable_model_summary: add a `ModelSummary` if there is none. Default True.
        accumulate_grad_batches: step the optimizer with the gradients of so many batches.
        gradient_clip_val: clip gradients at this value.
        gradient_clip_algorithm: ``"norm"`` (default) or ``"value"``.
        deterministic: use deterministic algorithms only; ``"warn"`` warns where there is none.
        benchmark: let cuDNN choose its algorithms by trying them.
        inference_mode: evaluate in `tocha.inference_mode` rather than `tocha.no_grad`.
        use_distributed_sampler: split the data between processes.
        profiler: ``"simple"``, ``"advanced"``, ``"tocha"``, or a `Profiler`.
        detect_anomaly: find the forward operation of a backward pass that gives NaN.
        barebones: switch off everything that costs time.
        plugins: a `Precision` or a `CheckpointIO`, or a list of them.
        sync_batchnorm: compute batch statistics over all processes.
        reload_dataloaders_every_n_epochs: request the loaders again every so many epochs.
        default_root_dir: where logs and checkpoints go. Default: the working directory.
        enable_autolog_hparams: send hyperparameters to the loggers at the start.
        model_registry: not supported; only None.

    Raises:
        MisconfigurationException: arguments that cannot work or contradict each other.

    >>> import tocha
    >>> from tocha_lightning import LightningModule, Trainer
    >>> class Line(LightningModule):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = tocha.nn.Linear(1, 1)
    ...     def training_step(self, batch, batch_idx):
    ...         return ((self.layer(batch) - 3 * batch) ** 2).mean()
    ...     def configure_optimizers(self):
    ...         return tocha.optim.SGD(self.parameters(), lr=0.1)
    >>> trainer = Trainer(max_epochs=2, barebones=True)
    >>> trainer.fit(Line(), tocha.utils.data.DataLoader(tocha.ones(8, 1), batch_size=2))
    >>> trainer.global_step
    8
    """

    def __init__(
        self,
        *,
        accelerator: str | Accelerator = "auto",
        strategy: str | Strategy = "auto",
        devices: list[int] | str | int = "auto",
        num_nodes: int = 1,
        precision: int | str | None = None,
        logger: Logger | Iterable[Logger] | bool | None = None,
        callbacks: list[Callback] | Callback | None = None,
        fast_dev_run: int | bool = False,
        max_epochs: int | None = None,
        min_epochs: int | None = None,
        max_steps: int = -1,
        min_steps: int | None = None,
        max_time: str | timedelta | dict[str, int] | None = None,
        limit_train_batches: int | float | None = None,
        limit_val_batches: int | float | None = None,
        limit_test_batches: int | float | None = None,
        limit_predict_batches: int | float | None = None,
        overfit_batches: int | float = 0.0,
        val_check_interval: int | float | str | timedelta | dict[str, int] | None = None,
        check_val_every_n_epoch: int | None = 1,
        num_sanity_val_steps: int | None = None,
        log_every_n_steps: int | None = None,
        enable_checkpointing: bool | None = None,
        enable_progress_bar: bool | None = None,
        enable_model_summary: bool | None = None,
        accumulate_grad_batches: int = 1,
        gradient_clip_val: int | float | None = None,
        gradient_clip_algorithm: str | None = None,
        deterministic: bool | str | None = None,
        benchmark: bool | None = None,
        inference_mode: bool = True,
        use_distributed_sampler: bool = True,
        profiler: Profiler | str | None = None,
        detect_anomaly: bool = False,
        barebones: bool = False,
        plugins: Precision | CheckpointIO | list[Precision | CheckpointIO] | None = None,
        sync_batchnorm: bool = False,
        reload_dataloaders_every_n_epochs: int = 0,
        default_root_dir: str | Path | None = None,
        enable_autolog_hparams: bool = True,
        model_registry: str | None = None,
    ) -> None:
        if model_registry is not None:
            raise MisconfigurationException("`model_registry` is a cloud service of Lightning's: tocha has none.")
        self.barebones = barebones
        if barebones:
            check_barebones(
                enable_checkpointing=enable_checkpointing,
                logger=logger,
                enable_progress_bar=enable_progress_bar,
                log_every_n_steps=log_every_n_steps,
                enable_model_summary=enable_model_summary,
                num_sanity_val_steps=num_sanity_val_steps,
                fast_dev_run=fast_dev_run,
                detect_anomaly=detect_anomaly,
                profiler=profiler,
            )
            enable_checkpointing = enable_progress_bar = enable_model_summary = logger = False
            log_every_n_steps = num_sanity_val_steps = 0
        self.state = TrainerState()
        self.should_stop = False
        self.profiler = profiler_of(profiler)
        self._hooks = HookCalls(self)
        self._logging = LoggingConnector(self)
        self._checkpoints = CheckpointConnector(self)
        self._signals = SignalConnector()
        self.datamodule: LightningDataModule | None = None
        self.use_distributed_sampler = use_distributed_sampler
        self.strategy = make_strategy(accelerator, strategy, devices, num_nodes, precision, plugins, sync_batchnorm)
        rank_zero_only.rank = self.strategy.global_rank  # type: ignore[attr-defined]
        self._num_nodes = num_nodes
        self._set_determinism(deterministic, benchmark)

        self.fit_loop = FitLoop(self, min_epochs=min_epochs, max_epochs=max_epochs)
        self.fit_loop.epoch_loop = TrainingEpochLoop(self, min_steps=min_steps, max_steps=max_steps)
        self.validate_loop = EvaluationLoop(
            self, TrainerFn.VALIDATING, RunningStage.VALIDATING, inference_mode=inference_mode
        )
        self.test_loop = EvaluationLoop(self, TrainerFn.TESTING, RunningStage.TESTING, inference_mode=inference_mode)
        self.predict_loop = PredictionLoop(self, inference_mode=inference_mode)

        check_clipping(gradient_clip_val, gradient_clip_algorithm)
        self.gradient_clip_val = gradient_clip_val
        self.gradient_clip_algorithm = gradient_clip_algorithm.lower() if gradient_clip_algorithm else None
        if not isinstance(accumulate_grad_batches, int) or accumulate_grad_batches < 1:
            raise MisconfigurationException(
                f"`accumulate_grad_batches` should be an int >= 1, got {accumulate_grad_batches!r}."
            )
        self.accumulate_grad_batches = accumulate_grad_batches
        check_validation_arguments(val_check_interval, check_val_every_n_epoch, reload_dataloaders_every_n_epochs)
        self.check_val_every_n_epoch = check_val_every_n_epoch
        self.reload_dataloaders_every_n_epochs = reload_dataloaders_every_n_epochs
        self.val_check_batch: int | float | None = None
        self._val_check_time_interval: float | None = None
        self._last_val_time = 0.0
        self._detect_anomaly = detect_anomaly
        self.enable_autolog_hparams = enable_autolog_hparams
        self._default_root_dir = os.getcwd() if default_root_dir is None else os.fspath(default_root_dir)
        self.log_every_n_steps = 50 if log_every_n_steps is None else log_every_n_steps
        self._loggers = loggers_of(logger, self._default_root_dir, bool(fast_dev_run))
        set_limits(
            self,
            {
                "limit_train_batches": limit_train_batches,
                "limit_val_batches": limit_val_batches,
                "limit_test_batches": limit_test_batches,
                "limit_predict_batches": limit_predict_batches,
            },
            fast_dev_run,
            overfit_batches,
            val_check_interval,
            2 if num_sanity_val_steps is None else num_sanity_val_steps,
        )
        self.callbacks = make_callbacks(
            callbacks,
            enable_checkpointing is None or enable_checkpointing,
            enable_progress_bar is None or enable_progress_bar,
            enable_model_summary is None or enable_model_summary,
            max_time,
        )
        self._step_context: Callable[[], Any] | None = None
        self._transfer: Callable[[Any, int], Any] = lambda batch, dataloader_idx: batch
        self._clips_gradients = False
        if detect_anomaly:
            rank_zero_info(
                "You have turned on `Trainer(detect_anomaly=True)`. This will significantly slow down compute speed and"
                " is recommended only for model debugging."
            )
        self._say_devices()

    @staticmethod
    def _set_determinism(deterministic: bool | str | None, benchmark: bool | None) -> None:
        if deterministic:
            tocha.use_deterministic_algorithms(True, warn_only=deterministic == "warn")
        if benchmark is not None or deterministic:
            cudnn = getattr(getattr(tocha, "backends", None), "cudnn", None)
            if cudnn is not None:
                cudnn.benchmark = benchmark if benchmark is not None else not deterministic

    def _say_devices(self) -> None:
        available = bool(tocha.cuda.is_available())
        used = self.strategy.root_device.type == "cuda"
        rank_zero_info(f"GPU available: {available}{' (cuda)' if available else ''}, used: {used}")
        if available and not used:
            rank_zero_warn(
                "GPU available but not used. You can set it by doing `Trainer(accelerator='gpu')`.",
                category=PossibleUserWarning,
            )

    # --- the four methods -------------------------------------------------------------------------------------------

    def fit(
        self,
        model: LightningModule,
        train_dataloaders: Any = None,
        val_dataloaders: Any = None,
        datamodule: LightningDataModule | None = None,
        ckpt_path: str | os.PathLike[str] | None = None,
        weights_only: bool | None = None,
    ) -> None:
        """Train the model.

        Args:
            model: what to train.
            train_dataloaders: an iterable of batches or nested collections of them, or a `LightningDataModule`.
            val_dataloaders: an iterable of batches or a list of them.
            datamodule: gives the loaders instead.
            ckpt_path: a checkpoint to go on from, ``"best"`` or ``"last"``. Training goes on exactly as it would have,
                also from the middle of an epoch.
            weights_only: as in `tocha.load`; by default only data is read, no code.

        Raises:
            TypeError: `model` is no `LightningModule`.
            MisconfigurationException: something is missing, or data is given twice.
        """
        model = _checked(model)
        self.should_stop = False
        if isinstance(train_dataloaders, LightningDataModule):
            datamodule, train_dataloaders = train_dataloaders, None
        if (train_dataloaders is not None or val_dataloaders is not None) and datamodule is not None:
            raise MisconfigurationException(
                "You cannot pass `train_dataloader` or `val_dataloaders` to `trainer.fit(datamodule=...)`"
            )
        self._start(TrainerFn.FITTING, RunningStage.TRAINING, model, datamodule)
        self.fit_loop.source = self._source(train_dataloaders, datamodule, model, "train_dataloader")
        self.fit_loop.combined_loader = None
        val_loop = self.fit_loop.epoch_loop.val_loop
        val_loop.source = self._source(val_dataloaders, datamodule, model, "val_dataloader")
        val_loop.combined_loader = None
        self._guarded(model, True, ckpt_path, weights_only)

    def validate(
        self,
        model: LightningModule | None = None,
        dataloaders: Any = None,
        ckpt_path: str | os.PathLike[str] | None = None,
        verbose: bool = True,
        datamodule: LightningDataModule | None = None,
        weights_only: bool | None = None,
    ) -> list[dict[str, float]]:
        """Run one epoch over the validation data.

        Args:
            model: what to validate; by default the model of the last run.
            dataloaders: an iterable of batches or a list of them, or a `LightningDataModule`.
            ckpt_path: a checkpoint to take the weights from, ``"best"`` or ``"last"``. Without it and without `model`
                the best one of the last fit.
            verbose: print the results.
            datamodule: gives the loaders instead.
            weights_only: as in `tocha.load`.

        Returns:
            the logged metrics of every loader.
        """
        self.validate_loop.verbose = verbose
        return self._evaluate(
            TrainerFn.VALIDATING,
            RunningStage.VALIDATING,
            self.validate_loop,
            model,
            dataloaders,
            ckpt_path,
            datamodule,
            weights_only,
        )

    def test(
        self,
        model: LightningModule | None = None,
        dataloaders: Any = None,
        ckpt_path: str | os.PathLike[str] | None = None,
        verbose: bool = True,
        datamodule: LightningDataModule | None = None,
        weights_only: bool | None = None,
    ) -> list[dict[str, float]]:
        """Run one epoch over the test data; arguments and result as in `validate`."""
        self.test_loop.verbose = verbose
        return self._evaluate(
            TrainerFn.TESTING,
            RunningStage.TESTING,
            self.test_loop,
            model,
            dataloaders,
            ckpt_path,
            datamodule,
            weights_only,
        )

    def predict(
        self,
        model: LightningModule | None = None,
        dataloaders: Any = None,
        datamodule: LightningDataModule | None = None,
        return_predictions: bool | None = None,
        ckpt_path: str | os.PathLike[str] | None = None,
        weights_only: bool | None = None,
    ) -> list[Any] | None:
        """Run `predict_step` on every batch; arguments as in `validate`.

        Returns:
            a list of predictions, with several loaders a list of lists; None with ``return_predictions=False``.
        """
        self.predict_loop.return_predictions = return_predictions
        return self._evaluate(
            TrainerFn.PREDICTING,
            RunningStage.PREDICTING,
            self.predict_loop,
            model,
            dataloaders,
            ckpt_path,
            datamodule,
            weights_only,
        )

    def _evaluate(
        self,
        fn: TrainerFn,
        stage: RunningStage,
        loop: Any,
        model: LightningModule | None,
        dataloaders: Any,
        ckpt_path: Any,
        datamodule: LightningDataModule | None,
        weights_only: bool | None,
    ) -> Any:
        provided = model is not None
        if isinstance(dataloaders, LightningDataModule):
            datamodule, dataloaders = dataloaders, None
        if dataloaders is not None and datamodule is not None:
            raise MisconfigurationException(f"You cannot pass both `trainer.{fn}(dataloaders=..., datamodule=...)`")
        if model is None:
            model = self.lightning_module
            if model is None:
                raise TypeError(
                    f"`Trainer.{fn}()` requires a `LightningModule` when it hasn't been passed in a previous run"
                )
        model = _checked(model)
        self._start(fn, stage, model, datamodule)
        name = f"{stage.dataloader_prefix}_dataloader"
        loop.source = self._source(dataloaders, datamodule, model, name)
        if not loop.source.is_defined():
            raise MisconfigurationException(
                f"No `{name}()` method defined to run `Trainer.{fn}`, and no data loaders were passed to it."
            )
        return self._guarded(model, provided, ckpt_path, weights_only)

    # --- everything else a user calls ---------------------------------------------------------------------------------

    def save_checkpoint(
        self, filepath: str | os.PathLike[str], weights_only: bool | None = None, storage_options: Any = None
    ) -> None:
        """Write a checkpoint: all processes have to call this.

        Args:
            filepath: where to. The file is complete or not there at all.
            weights_only: leave out what training needs to go on.
            storage_options: passed to the `CheckpointIO`.

        Raises:
            AttributeError: no model was given to the Trainer yet.
        """
        if self.lightning_module is None:
            raise AttributeError(
                "Saving a checkpoint is only possible if a model is attached to the Trainer. Did you call"
                " `Trainer.save_checkpoint()` before calling `Trainer.{fit,validate,test,predict}`?"
            )
        with self.profiler.profile("save_checkpoint"):
            checkpoint = self._checkpoints.dump(bool(weights_only))
            self.strategy.save_checkpoint(checkpoint, os.fspath(filepath), storage_options=storage_options)
            self.strategy.barrier("Trainer.save_checkpoint")

    @contextmanager
    def init_module(self, empty_init: bool | None = None) -> Iterator[None]:
        """Within, new tensors are made on the device of the run and in its precision.

        `empty_init` is accepted for Lightning's sake: parameters are initialised either way.
        """
        with self.strategy.root_device, self.precision_plugin.module_init_context():
            yield

    def print(self, *args: Any, **kwargs: Any) -> None:
        """Print from rank zero without tearing the progress bar apart."""
        if not self.is_global_zero:
            return
        bar = self.progress_bar_callback
        if bar is not None and bar.is_enabled:
            bar.print(*args, **kwargs)
        else:
            print(*args, **kwargs)


def _checked(model: Any) -> LightningModule:
    if not isinstance(model, LightningModule):
        raise TypeError(f"`model` must be a `LightningModule`, got `{type(model).__qualname__}`")
    return model
