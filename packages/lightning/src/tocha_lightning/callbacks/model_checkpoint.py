"""Keeping the best and the last checkpoints of a run."""

from __future__ import annotations

import os
import re
import shutil
import time
from copy import deepcopy
from datetime import timedelta
from typing import Any

import tocha
from tocha import Tensor
from tocha_lightning.callbacks.checkpoint import Checkpoint
from tocha_lightning.trainer.states import TrainerFn
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.rank_zero import WarningCache, rank_zero_info, rank_zero_warn

_warnings = WarningCache()


class ModelCheckpoint(Checkpoint):
    """Saves checkpoints and deletes those that are no longer among the best.

    Args:
        dirpath: where to; by default ``checkpoints`` in the directory of the logger or of the Trainer.
        filename: a template: ``"{epoch}-{val_loss:.2f}"`` gives ``epoch=2-val_loss=0.32``. Default
            ``"{epoch}-{step}"``.
        monitor: the logged metric that decides; without it the last checkpoint is kept.
        verbose: say when a checkpoint is saved.
        save_last: keep ``last.ckpt`` too: a copy, or with ``"link"`` a symbolic link.
        save_top_k: how many of the best to keep; -1: all; 0: none.
        save_on_exception: save when a run ends with an exception.
        save_weights_only: leave out what training needs to go on.
        mode: whether the best is the ``"min"`` or the ``"max"``.
        auto_insert_metric_name: put ``name=`` before every value in the file's name.
        every_n_train_steps: save every so many optimizer steps.
        train_time_interval: save every so much time.
        every_n_epochs: save every so many epochs (the default is every epoch).
        save_on_train_epoch_end: save at the end of the training epoch rather than after validation.
        enable_version_counter: give a file that exists already a ``-v1``, rather than overwrite it.

    Attributes:
        best_model_path: the best checkpoint so far.
        best_model_score: its metric.
        last_model_path: the last checkpoint.
        best_k_models: the metric of each kept checkpoint.

    Raises:
        MisconfigurationException: arguments that contradict each other.

    >>> checkpoint = ModelCheckpoint(dirpath="runs", filename="{epoch}-{val_loss:.2f}", monitor="val_loss")
    >>> os.path.basename(checkpoint.format_checkpoint_name({"epoch": tocha.tensor(2), "val_loss": tocha.tensor(0.125)}))
    'epoch=2-val_loss=0.12.ckpt'
    """

    CHECKPOINT_JOIN_CHAR = "-"
    CHECKPOINT_EQUALS_CHAR = "="
    CHECKPOINT_NAME_LAST = "last"
    FILE_EXTENSION = ".ckpt"
    STARTING_VERSION = 1

    def __init__(
        self,
        dirpath: str | os.PathLike[str] | None = None,
        filename: str | None = None,
        monitor: str | None = None,
        verbose: bool = False,
        save_last: bool | str | None = None,
        save_top_k: int = 1,
        save_on_exception: bool = False,
        save_weights_only: bool = False,
        mode: str = "min",
        auto_insert_metric_name: bool = True,
        every_n_train_steps: int | None = None,
        train_time_interval: timedelta | None = None,
        every_n_epochs: int | None = None,
        save_on_train_epoch_end: bool | None = None,
        enable_version_counter: bool = True,
    ) -> None:
        if mode not in ("min", "max"):
            raise MisconfigurationException(f"`mode` can be min, max but got {mode}")
        if every_n_train_steps is None and every_n_epochs is None and train_time_interval is None:
            every_n_epochs = 1
        self.dirpath = None if dirpath is None else os.path.realpath(os.path.expanduser(os.fspath(dirpath)))
        self.filename = filename
        self.monitor = monitor
        self.verbose = verbose
        self.save_last = save_last
        self.save_top_k = save_top_k
        self.save_on_exception = save_on_exception
        self.save_weights_only = save_weights_only
        self.mode = mode
        self.auto_insert_metric_name = auto_insert_metric_name
        self._every_n_train_steps = every_n_train_steps or 0
        self._train_time_interval = train_time_interval
        self._every_n_epochs = every_n_epochs or 0
        self._save_on_train_epoch_end = save_on_train_epoch_end
        self._enable_version_counter = enable_version_counter
        self._check_arguments()
        self.current_score: Tensor | None = None
        self.best_k_models: dict[str, Tensor] = {}
        self.kth_best_model_path = ""
        self.kth_value = tocha.tensor(float("inf") if mode == "min" else float("-inf"))
        self.best_model_score: Tensor | None = None
        self.best_model_path = ""
        self.last_model_path = ""
        self._last_global_step_saved = 0
        self._last_checkpoint_saved = ""
        self._last_time_checked: float | None = None
        # a save that was due at a batch waits for the validation that logs its metric
        self._deferred = False

    def _check_arguments(self) -> None:
        if self.save_top_k < -1:
            raise MisconfigurationException(f"Invalid value for save_top_k={self.save_top_k}. Must be >= -1")
        for name in ("every_n_train_steps", "every_n_epochs"):
            value = getattr(self, f"_{name}")
            if value < 0:
                raise MisconfigurationException(f"Invalid value for {name}={value}. Must be >= 0")
        triggers = (self._every_n_train_steps >= 1, self._every_n_epochs >= 1, self._train_time_interval is not None)
        if sum(triggers) > 1:
            raise MisconfigurationException(
                f"Combination of parameters every_n_train_steps={self._every_n_train_steps},"
                f" every_n_epochs={self._every_n_epochs} and train_time_interval={self._train_time_interval} should be"
                " mutually exclusive."
            )
        if self.monitor is None and self.save_top_k not in (-1, 0, 1):
            raise MisconfigurationException(
                f"ModelCheckpoint(save_top_k={self.save_top_k}, monitor=None) is not a valid configuration."
                " No quantity for top_k to track."
            )

    @property
    def every_n_epochs(self) -> int:
        """How many epochs lie between two checkpoints."""
        return self._every_n_epochs

    @property
    def state_key(self) -> str:
        """The class with the arguments that tell several instances apart."""
        return self._generate_state_key(
            monitor=self.monitor,
            mode=self.mode,
            every_n_train_steps=self._every_n_train_steps,
            every_n_epochs=self._every_n_epochs,
            train_time_interval=self._train_time_interval,
        )

    # --- when ------------------------------------------------------------------------------------------------------

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Find the directory."""
        self.dirpath = trainer.strategy.broadcast(self._resolve_dirpath(trainer))
        if trainer.is_global_zero and stage == "fit" and self.save_top_k != 0:
            if os.path.isdir(self.dirpath) and os.listdir(self.dirpath):
                rank_zero_warn(f"Checkpoint directory {self.dirpath} exists and is not empty.")

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Start the clock."""
        self._last_time_checked = time.monotonic()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Save if enough steps or enough time have passed."""
        every = self._every_n_train_steps
        due = every >= 1 and trainer.global_step % every == 0
        if self._train_time_interval is not None:
            now = time.monotonic()
            last = self._last_time_checked
            timed = last is not None and now - last >= self._train_time_interval.total_seconds()
            if trainer.strategy.broadcast(timed):
                self._last_time_checked = now
                due = True
        if not due:
            return
        metrics = self._monitor_candidates(trainer)
        if self.monitor is not None and self.monitor not in metrics:
            self._deferred = True
            return
        if self.monitor is not None and trainer.is_last_batch and self._validation_follows(trainer):
            # the metric there is of the last validation: wait for the fresh one
            self._deferred = True
            return
        if not self._skips(trainer):
            self._save_topk(trainer, metrics)
            self._save_last(trainer, metrics)

    def _validation_follows(self, trainer: Any) -> bool:
        if self._saves_on_train_epoch_end(trainer) or not trainer.enable_validation or not sum(trainer.num_val_batches):
            return False
        every = trainer.check_val_every_n_epoch
        return every is None or (trainer.current_epoch + 1) % every == 0

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Save if it is this hook's turn."""
        if not self._skips(trainer) and self._saves_on_train_epoch_end(trainer):
            self._save_of_epoch(trainer)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Save if it is this hook's turn."""
        if self._skips(trainer) or self._saves_on_train_epoch_end(trainer):
            return
        if self._deferred:
            metrics = self._monitor_candidates(trainer)
            self._save_topk(trainer, metrics)
            self._save_last(trainer, metrics)
            self._deferred = False
            return
        self._save_of_epoch(trainer)

    def _save_of_epoch(self, trainer: Any) -> None:
        metrics = self._monitor_candidates(trainer)
        if self._every_n_epochs >= 1 and (trainer.current_epoch + 1) % self._every_n_epochs == 0:
            self._save_topk(trainer, metrics)
        saved_now = self._last_global_step_saved == trainer.global_step
        if saved_now or (self.save_last == "link" and self._last_checkpoint_saved):
            self._save_last(trainer, metrics)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """With `save_last`, make sure that there is a last checkpoint."""
        if self.save_last and not self._last_checkpoint_saved:
            self._save_last(trainer, self._monitor_candidates(trainer))

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """With `save_on_exception`, save what there is."""
        if not self.save_on_exception or trainer.fast_dev_run or trainer.sanity_checking:
            return
        if self._last_global_step_saved == trainer.global_step:
            return
        metrics = self._monitor_candidates(trainer)
        path = self.format_checkpoint_name(metrics)
        self._save(trainer, path)
        self._save_last(trainer, metrics)
        rank_zero_info(
            f"An {type(exception).__name__} was raised with message: {exception}, saved checkpoint to {path}"
        )

    def _skips(self, trainer: Any) -> bool:
        return (
            bool(trainer.fast_dev_run)
            or trainer.state.fn is not TrainerFn.FITTING
            or trainer.sanity_checking
            or self._last_global_step_saved == trainer.global_step
        )

    def _saves_on_train_epoch_end(self, trainer: Any) -> bool:
        if self._save_on_train_epoch_end is not None:
            return self._save_on_train_epoch_end
        if trainer._val_check_time_interval is not None or trainer.check_val_every_n_epoch != 1:
            return False
        # with several validations in an epoch, each of them may bring a better model
        return sum(trainer.num_val_batches) == 0 or trainer.val_check_interval == 1.0

    # --- which -----------------------------------------------------------------------------------------------------

    def _monitor_candidates(self, trainer: Any) -> dict[str, Tensor]:
        metrics = deepcopy(dict(trainer.callback_metrics))
        for name, value in (("epoch", trainer.current_epoch), ("step", trainer.global_step)):
            logged = metrics.get(name)
            metrics[name] = logged.int() if isinstance(logged, Tensor) else tocha.tensor(value)
        return metrics

    def check_monitor_top_k(self, trainer: Any, current: Tensor | None = None) -> bool:
        """Whether a checkpoint with this metric belongs to the best."""
        if current is None:
            return False
        if self.save_top_k == -1 or len(self.best_k_models) < self.save_top_k:
            return True
        worst = self.best_k_models[self.kth_best_model_path]
        better = bool(current < worst) if self.mode == "min" else bool(current > worst)
        return bool(trainer.strategy.reduce_boolean_decision(better))

    def _save_topk(self, trainer: Any, metrics: dict[str, Tensor]) -> None:
        if self.save_top_k == 0:
            return
        if self.monitor is None:
            self._save_newest(trainer, metrics)
            return
        if self.monitor not in metrics:
            message = (
                f"`ModelCheckpoint(monitor={self.monitor!r})` could not find the monitored key in the returned metrics:"
                f" {list(metrics)}. HINT: Did you call `log({self.monitor!r}, value)` in the `LightningModule`?"
            )
            if trainer.fit_loop.epoch_loop.val_loop.has_run:
                raise MisconfigurationException(message)
            _warnings.warn(message)
        current = metrics.get(self.monitor)
        if self.check_monitor_top_k(trainer, current):
            assert current is not None
            self._save_better(current, trainer, metrics)
        elif self.verbose:
            rank_zero_info(
                f"Epoch {int(metrics['epoch'])}, global step {int(metrics['step'])}: {self.monitor!r} was not in top"
                f" {self.save_top_k}"
            )

    def _save_newest(self, trainer: Any, metrics: dict[str, Tensor]) -> None:
        path = self._free_path(metrics, trainer, self.best_model_path)
        # the path is part of the state that is being saved
        previous, self.best_model_path = self.best_model_path, path
        self._save(trainer, path)
        if self.save_top_k == 1 and previous and self._may_remove(trainer, previous, path):
            trainer.strategy.remove_checkpoint(previous)

    def _save_better(self, current: Tensor, trainer: Any, metrics: dict[str, Tensor]) -> None:
        k = len(self.best_k_models) + 1 if self.save_top_k == -1 else self.save_top_k
        removed = None
        if len(self.best_k_models) == k and k > 0:
            removed = self.kth_best_model_path
            self.best_k_models.pop(removed)
        if bool(tocha.isnan(current)):
            # NaN compares with nothing: any number has to be better
            current = tocha.tensor(float("inf" if self.mode == "min" else "-inf"), device=current.device)
        path = self._free_path(metrics, trainer, removed)
        self.current_score = current
        self.best_k_models[path] = current
        best, worst = (min, max) if self.mode == "min" else (max, min)
        scores = {key: value.item() for key, value in self.best_k_models.items()}
        if len(scores) == k:
            self.kth_best_model_path = worst(scores, key=scores.__getitem__)
            self.kth_value = self.best_k_models[self.kth_best_model_path]
        self.best_model_path = best(scores, key=scores.__getitem__)
        self.best_model_score = self.best_k_models[self.best_model_path]
        if self.verbose:
            rank_zero_info(
                f"Epoch {int(metrics['epoch'])}, global step {int(metrics['step'])}: {self.monitor!r} reached"
                f" {current.item():0.5f} (best {self.best_model_score.item():0.5f}), saving model to {path!r} as"
                f" top {k}"
            )
        self._save(trainer, path)
        if removed and self._may_remove(trainer, removed, path):
            trainer.strategy.remove_checkpoint(removed)

    # --- saving and removing -----------------------------------------------------------------------------------------

    def _save(self, trainer: Any, path: str) -> None:
        trainer.save_checkpoint(path, self.save_weights_only)
        self._last_global_step_saved = trainer.global_step
        self._last_checkpoint_saved = path
        if trainer.is_global_zero:
            for logger in trainer.loggers:
                logger.after_save_checkpoint(self)

    def _save_last(self, trainer: Any, metrics: dict[str, Tensor]) -> None:
        if not self.save_last:
            return
        path = self.format_checkpoint_name(metrics, self.CHECKPOINT_NAME_LAST)
        if self._enable_version_counter:
            version = self.STARTING_VERSION
            while self.file_exists(path, trainer) and path != self.last_model_path:
                path = self.format_checkpoint_name(metrics, self.CHECKPOINT_NAME_LAST, ver=version)
                version += 1
        previous, self.last_model_path = self.last_model_path, path
        if self.save_last == "link" and self._last_checkpoint_saved and self.save_top_k != 0:
            self._link(trainer, self._last_checkpoint_saved, path)
        else:
            self._save(trainer, path)
        if previous and self._may_remove(trainer, previous, path):
            trainer.strategy.remove_checkpoint(previous)

    @staticmethod
    def _link(trainer: Any, path: str, link: str) -> None:
        if trainer.is_global_zero and os.path.abspath(path) != os.path.abspath(link):
            trainer.strategy.remove_checkpoint(link)
            try:
                os.symlink(os.path.relpath(path, os.path.dirname(link)), link)
            except OSError:
                # on Windows ordinary users may not make symbolic links
                shutil.copy(path, link)
        trainer.strategy.barrier()

    def _may_remove(self, trainer: Any, previous: str, current: str) -> bool:
        """Only files of this directory are deleted, and never the one that the run was resumed from."""
        if previous == current:
            return False
        path = os.path.abspath(previous)
        if trainer.ckpt_path is not None and path == os.path.abspath(trainer.ckpt_path):
            return False
        assert self.dirpath is not None
        return os.path.commonpath([path, os.path.abspath(self.dirpath)]) == os.path.abspath(self.dirpath)

    def file_exists(self, filepath: str | os.PathLike[str], trainer: Any) -> bool:
        """Whether there is a file, as rank zero sees it."""
        there = os.path.lexists(filepath) if trainer.is_global_zero else False
        return bool(trainer.strategy.reduce_boolean_decision(there, all=False))

    def to_yaml(self, filepath: str | os.PathLike[str] | None = None) -> None:
        """Write the paths and metrics of the best checkpoints to a YAML file."""
        from tocha_lightning.utilities.yaml import save_yaml

        if filepath is None:
            assert self.dirpath is not None
            filepath = os.path.join(self.dirpath, "best_k_models.yaml")
        save_yaml(filepath, {path: score.item() for path, score in self.best_k_models.items()})

    # --- names ---------------------------------------------------------------------------------------------------

    def _resolve_dirpath(self, trainer: Any) -> str:
        if self.dirpath is not None:
            return self.dirpath
        if not trainer.loggers:
            return os.path.join(trainer.default_root_dir, "checkpoints")
        logger = trainer.loggers[0]
        root = logger.save_dir if logger.save_dir is not None else trainer.default_root_dir
        version = logger.version if isinstance(logger.version, str) else f"version_{logger.version}"
        return os.path.join(root, str(logger.name), version, "checkpoints")

    def find_last_checkpoints(self, trainer: Any) -> set[str]:
        """All files ``last*.ckpt`` in the directory."""
        folder = self._resolve_dirpath(trainer)
        if not os.path.isdir(folder):
            return set()
        pattern = re.compile(rf"{re.escape(self.CHECKPOINT_NAME_LAST)}(-.*)?{re.escape(self.FILE_EXTENSION)}")
        return {os.path.join(folder, name) for name in os.listdir(folder) if pattern.fullmatch(name)}

    def _free_path(self, metrics: dict[str, Tensor], trainer: Any, replaced: str | None) -> str:
        path = self.format_checkpoint_name(metrics)
        if self._enable_version_counter:
            version = self.STARTING_VERSION
            while self.file_exists(path, trainer) and path != replaced:
                path = self.format_checkpoint_name(metrics, ver=version)
                version += 1
        return path

    def _fill_in(self, template: str | None, metrics: dict[str, Tensor]) -> str:
        template = template or f"{{epoch}}{self.CHECKPOINT_JOIN_CHAR}{{step}}"

        def value(match: re.Match[str]) -> str:
            name, spec = match[1], match[2] or ""
            metric: Any = metrics.get(name, 0)
            text = format(metric.item() if isinstance(metric, Tensor) else metric, spec)
            return f"{name}{self.CHECKPOINT_EQUALS_CHAR}{text}" if self.auto_insert_metric_name else text

        return re.sub(r"\{([^{}:]*)(?::([^{}]*))?\}", value, template)

    def format_checkpoint_name(
        self,
        metrics: dict[str, Tensor],
        filename: str | None = None,
        ver: int | None = None,
        prefix: str | None = None,
    ) -> str:
        """The path of a checkpoint with these metrics; a metric that is missing counts as 0."""
        name = self._fill_in(filename or self.filename, metrics)
        if prefix is not None:
            name = f"{prefix}{self.CHECKPOINT_JOIN_CHAR}{name}"
        if ver is not None:
            name = f"{name}{self.CHECKPOINT_JOIN_CHAR}v{ver}"
        name += self.FILE_EXTENSION
        return os.path.join(self.dirpath, name) if self.dirpath else name

    # --- state -----------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Paths and metrics of the kept checkpoints."""
        return {
            "monitor": self.monitor,
            "best_model_score": self.best_model_score,
            "best_model_path": self.best_model_path,
            "current_score": self.current_score,
            "dirpath": self.dirpath,
            "best_k_models": dict(self.best_k_models),
            "kth_best_model_path": self.kth_best_model_path,
            "kth_value": self.kth_value,
            "last_model_path": self.last_model_path,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up the kept checkpoints again; in another directory only the best one is remembered."""
        saved_dirpath = state_dict.get("dirpath", self.dirpath)
        if self.dirpath == saved_dirpath:
            self.best_model_score = state_dict["best_model_score"]
            self.kth_best_model_path = state_dict.get("kth_best_model_path", self.kth_best_model_path)
            self.kth_value = state_dict.get("kth_value", self.kth_value)
            self.best_k_models = state_dict.get("best_k_models", self.best_k_models)
            self.last_model_path = state_dict.get("last_model_path", self.last_model_path)
        else:
            rank_zero_warn(
                f"The dirpath has changed from {saved_dirpath!r} to {self.dirpath!r}, therefore `best_model_score`,"
                " `kth_best_model_path`, `kth_value`, `last_model_path` and `best_k_models` won't be reloaded. Only"
                " `best_model_path` will be reloaded."
            )
        self.best_model_path = state_dict["best_model_path"]
