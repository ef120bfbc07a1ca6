"""The base of every logger."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from argparse import Namespace
from collections.abc import Mapping
from typing import Any


def as_dict(params: Mapping[str, Any] | Namespace | None) -> dict[str, Any]:
    """Hyperparameters as a dictionary."""
    if params is None:
        return {}
    return dict(vars(params)) if isinstance(params, Namespace) else dict(params)


def flattened(params: Mapping[str, Any], separator: str = "/") -> dict[str, Any]:
    """Nested hyperparameters with joined keys.

    >>> flattened({"a": {"b": 1, "c": [2]}, "d": None})
    {'a/b': 1, 'a/c': [2], 'd': None}
    """
    flat: dict[str, Any] = {}
    for key, value in params.items():
        if isinstance(value, (Mapping, Namespace)):
            flat.update({f"{key}{separator}{k}": v for k, v in flattened(as_dict(value), separator).items()})
        else:
            flat[str(key)] = value
    return flat


def next_version(folder: str) -> int:
    """One more than the highest ``version_N`` in `folder`."""
    if not os.path.isdir(folder):
        return 0
    found = [name.removeprefix("version_").rstrip("/") for name in os.listdir(folder) if name.startswith("version_")]
    return max((int(number) for number in found if number.isdigit()), default=-1) + 1


class Logger(ABC):
    """Takes metrics and hyperparameters of a run.

    Called from the process of rank zero only.
    """

    LOGGER_JOIN_CHAR = "-"
    _prefix = ""

    @property
    @abstractmethod
    def name(self) -> str | None:
        """The name of the experiment."""

    @property
    @abstractmethod
    def version(self) -> int | str | None:
        """The version of the experiment."""

    @property
    def root_dir(self) -> str | None:
        """The directory with all versions, or None."""
        return None

    @property
    def log_dir(self) -> str | None:
        """The directory of this version, or None."""
        return None

    @property
    def save_dir(self) -> str | None:
        """The directory with all experiments, or None where nothing is written to this disk."""
        return None

    @property
    def group_separator(self) -> str:
        """What joins the keys of nested metrics."""
        return "/"

    @property
    def experiment(self) -> Any:
        """The object behind this logger, made when it is first asked for."""
        return None

    @abstractmethod
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Take metrics of a step."""

    @abstractmethod
    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        """Take hyperparameters."""

    def log_graph(self, model: Any, input_array: Any = None) -> None:
        """Take the graph of a model."""
        return None

    def save(self) -> None:
        """Write what was taken to where it is kept."""
        return None

    def finalize(self, status: str) -> None:
        """The run is over: ``"success"`` or ``"failed"``."""
        self.save()

    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        """A `ModelCheckpoint` has written a checkpoint."""
        return None

    def _prefixed(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        if not self._prefix:
            return dict(metrics)
        return {f"{self._prefix}{self.LOGGER_JOIN_CHAR}{key}": value for key, value in metrics.items()}


class _Anything:
    """Accepts every call."""

    def __getattr__(self, name: str) -> Any:
        return self._nothing

    def _nothing(self, *args: Any, **kwargs: Any) -> None:
        return None

    def __getitem__(self, index: int) -> _Anything:
        return self

    def __setitem__(self, *args: Any) -> None:
        pass


class DummyLogger(Logger):
    """Takes everything and keeps nothing: stands in for the loggers under ``fast_dev_run``."""

    def __init__(self) -> None:
        self._experiment = _Anything()

    @property
    def name(self) -> str:
        """Empty."""
        return ""

    @property
    def version(self) -> str:
        """Empty."""
        return ""

    @property
    def experiment(self) -> Any:
        """An object that accepts every call."""
        return self._experiment

    def log_metrics(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def __getitem__(self, index: int) -> DummyLogger:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._experiment._nothing
