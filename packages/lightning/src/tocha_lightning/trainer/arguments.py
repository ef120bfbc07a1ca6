"""Checking and interpreting the arguments of a Trainer."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.rank_zero import rank_zero_info

_BAREBONES = (
    ("enable_checkpointing", "Checkpointing can impact raw speed so it is disabled in barebones mode."),
    ("logger", "Logging can impact raw speed so it is disabled in barebones mode."),
    ("enable_progress_bar", "The progress bar can impact raw speed so it is disabled in barebones mode."),
    ("log_every_n_steps", "Logging can impact raw speed so it is disabled in barebones mode."),
    ("enable_model_summary", "Model summary can impact raw speed so it is disabled in barebones mode."),
    ("num_sanity_val_steps", "Sanity checking can impact raw speed so it is disabled in barebones mode."),
    ("fast_dev_run", "Development run is not meant for raw speed evaluation so it is disabled in barebones mode."),
    ("detect_anomaly", "Anomaly detection can impact raw speed so it is disabled in barebones mode."),
    ("profiler", "Profiling can impact raw speed so it is disabled in barebones mode."),
)


def check_barebones(**arguments: Any) -> None:
    """Raise ValueError for an argument that ``barebones=True`` rules out; say what is off."""
    for name, reason in _BAREBONES:
        if arguments[name]:
            raise ValueError(f"`Trainer(barebones=True, {name}={arguments[name]!r})` was passed. {reason}")
    off = (
        " - Checkpointing: `Trainer(enable_checkpointing=True)`",
        " - Progress bar: `Trainer(enable_progress_bar=True)`",
        " - Model summary: `Trainer(enable_model_summary=True)`",
        " - Logging: `Trainer(logger=True)`, `Trainer(log_every_n_steps>0)`, `LightningModule.log(...)`",
        " - Sanity checking: `Trainer(num_sanity_val_steps>0)`",
        " - Development run: `Trainer(fast_dev_run=True)`",
        " - Anomaly detection: `Trainer(detect_anomaly=True)`",
        " - Profiling: `Trainer(profiler=...)`",
    )
    rank_zero_info(
        "You are running in `Trainer(barebones=True)` mode. All features that may impact raw speed have been disabled"
        f" to facilitate analyzing the Trainer overhead. The following are deactivated:\n{os.linesep.join(off)}"
    )


def batch_limit(batches: int | float | None, name: str) -> int | float:
    """The value of a ``limit_*_batches`` argument: a fraction of 0 to 1 as a float, or a number as an int.

    Raises:
        MisconfigurationException: anything else.
    """
    if batches is None:
        return 1.0
    if isinstance(batches, bool) or not isinstance(batches, (int, float)):
        raise MisconfigurationException(
            f"You have passed invalid value {batches!r} for {name}, it has to be in [0.0, 1.0] or an int."
        )
    # 1 and 1.0 mean different things: say which one this is
    if batches == 1:
        whole = isinstance(batches, float)
        if name == "limit_train_batches":
            meaning = "100% of the batches per epoch will be used." if whole else "1 batch per epoch will be used."
        elif name == "val_check_interval":
            meaning = "validation will run " + ("at the end of the training epoch." if whole else "after every batch.")
        else:
            meaning = "100% of the batches will be used." if whole else "1 batch will be used."
        rank_zero_info(f"`Trainer({name}={batches})` was configured so {meaning}")
    if 0 <= batches <= 1:
        return batches
    if batches > 1 and batches % 1 == 0:
        return int(batches)
    raise MisconfigurationException(
        f"You have passed invalid value {batches} for {name}, it has to be in [0.0, 1.0] or an int."
    )


def seconds(value: str | timedelta | dict[str, int]) -> float:
    """A duration in seconds: a timedelta, its keyword arguments, or text ``"DD:HH:MM:SS"``.

    Raises:
        MisconfigurationException: anything else.

    >>> seconds("00:01:00:30")
    3630.0
    """
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, dict):
        return timedelta(**value).total_seconds()
    parts = str(value).split(":")
    if not isinstance(value, str) or len(parts) != 4 or not all(part.strip().isdigit() for part in parts):
        raise MisconfigurationException(
            f"`{value!r}` is not a valid duration: use a timedelta, a dictionary of its arguments, or 'DD:HH:MM:SS'."
        )
    days, hours, minutes, secs = (int(part) for part in parts)
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=secs).total_seconds()


def set_limits(
    trainer: Any,
    limits: dict[str, int | float | None],
    fast_dev_run: int | bool,
    overfit_batches: int | float,
    val_check_interval: Any,
    num_sanity_val_steps: int,
) -> None:
    """Set every attribute of `trainer` that says how much of the data is used, and when it validates."""
    if isinstance(fast_dev_run, int) and fast_dev_run < 0:
        raise MisconfigurationException(
            f"fast_dev_run={fast_dev_run!r} is not a valid configuration. It should be >= 0."
        )
    trainer.fast_dev_run = True if fast_dev_run == 1 else fast_dev_run
    trainer.overfit_batches = batch_limit(overfit_batches, "overfit_batches")
    trainer._val_check_time_interval = None
    if fast_dev_run:
        number = int(fast_dev_run)
        limits = dict.fromkeys(limits, number)
        trainer.num_sanity_val_steps = 0
        trainer.val_check_interval = 1.0
        trainer.check_val_every_n_epoch = 1
        trainer.fit_loop.epoch_loop.max_steps = number
        trainer.fit_loop.max_epochs = 1
        rank_zero_info(
            f"Running in `fast_dev_run` mode: will run the requested loop using {number} batch(es)."
            " Logging and checkpointing is suppressed."
        )
        for name, limit in limits.items():
            setattr(trainer, name, limit)
    else:
        for name, limit in limits.items():
            setattr(trainer, name, batch_limit(limit, name))
        trainer.num_sanity_val_steps = float("inf") if num_sanity_val_steps == -1 else num_sanity_val_steps
        if isinstance(val_check_interval, (str, dict, timedelta)):
            trainer._val_check_time_interval = seconds(val_check_interval)
            trainer.val_check_interval = 1.0
        else:
            trainer.val_check_interval = batch_limit(val_check_interval, "val_check_interval")
    if overfit_batches > 0:
        trainer.limit_train_batches = trainer.limit_val_batches = trainer.overfit_batches


def check_validation_arguments(
    val_check_interval: Any, check_val_every_n_epoch: int | None, reload_dataloaders_every_n_epochs: int
) -> None:
    """Raise MisconfigurationException where they contradict each other."""
    if check_val_every_n_epoch is not None and not isinstance(check_val_every_n_epoch, int):
        raise MisconfigurationException(
            f"`check_val_every_n_epoch` should be an integer, found {check_val_every_n_epoch!r}."
        )
    if check_val_every_n_epoch is None and isinstance(val_check_interval, float):
        raise MisconfigurationException(
            "`val_check_interval` should be an integer or a time-based duration (str 'DD:HH:MM:SS', datetime.timedelta,"
            " or dict kwargs for timedelta) when `check_val_every_n_epoch=None`."
        )
    if not isinstance(reload_dataloaders_every_n_epochs, int) or reload_dataloaders_every_n_epochs < 0:
        raise MisconfigurationException(
            f"`reload_dataloaders_every_n_epochs` should be an int >= 0, got {reload_dataloaders_every_n_epochs}."
        )


def check_clipping(value: Any, algorithm: Any) -> None:
    """Raise for gradient clipping that is no number, or an unknown algorithm."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise TypeError(f"`gradient_clip_val` should be an int or a float. Got {value}.")
    if algorithm is not None and str(algorithm).lower() not in ("value", "norm"):
        raise MisconfigurationException(
            f"`gradient_clip_algorithm` {algorithm} is invalid. Allowed algorithms: ['value', 'norm']."
        )


def profiler_of(profiler: Any) -> Any:
    """The profiler that the argument means."""
    from tocha_lightning.profilers import AdvancedProfiler, PassThroughProfiler, SimpleProfiler, TochaProfiler

    if profiler is None:
        return PassThroughProfiler()
    if not isinstance(profiler, str):
        return profiler
    # "pytorch" is Lightning's name for the profiler of the framework itself
    known = {"simple": SimpleProfiler, "advanced": AdvancedProfiler, "tocha": TochaProfiler, "pytorch": TochaProfiler}
    if profiler.lower() not in known:
        raise MisconfigurationException(
            f"When passing string value for the `profiler` parameter of `Trainer`, it can only be one of {list(known)}"
        )
    return known[profiler.lower()]()
