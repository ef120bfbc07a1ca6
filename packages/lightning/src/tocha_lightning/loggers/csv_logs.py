"""Metrics in a CSV file, hyperparameters in a YAML file."""

from __future__ import annotations

import csv
import os
from argparse import Namespace
from typing import Any

from tocha import Tensor
from tocha_lightning.loggers.logger import Logger, as_dict, next_version
from tocha_lightning.utilities.files import write_atomically
from tocha_lightning.utilities.rank_zero import rank_zero_warn
from tocha_lightning.utilities.yaml import save_yaml


class ExperimentWriter:
    """Writes ``metrics.csv`` and ``hparams.yaml`` into a directory.

    Rows are appended; when a new metric appears, the file is written anew with one more column.
    """

    NAME_METRICS_FILE = "metrics.csv"
    NAME_HPARAMS_FILE = "hparams.yaml"

    def __init__(self, log_dir: str) -> None:
        self.hparams: dict[str, Any] = {}
        self.metrics: list[dict[str, float]] = []
        self.metrics_keys: list[str] = []
        self.log_dir = log_dir
        self.metrics_file_path = os.path.join(log_dir, self.NAME_METRICS_FILE)
        if os.path.isdir(log_dir) and os.listdir(log_dir):
            rank_zero_warn(
                f"Experiment logs directory {log_dir} exists and is not empty."
                " Previous log files in this directory will be deleted when the new ones are saved!"
            )
            if os.path.isfile(self.metrics_file_path):
                os.remove(self.metrics_file_path)
        os.makedirs(log_dir, exist_ok=True)

    def log_hparams(self, params: dict[str, Any]) -> None:
        """Write hyperparameters."""
        self.hparams.update(params)
        save_yaml(os.path.join(self.log_dir, self.NAME_HPARAMS_FILE), self.hparams)

    def log_metrics(self, metrics_dict: dict[str, Any], step: int | None = None) -> None:
        """Take a row."""
        row = {key: value.item() if isinstance(value, Tensor) else value for key, value in metrics_dict.items()}
        row["step"] = len(self.metrics) if step is None else step
        self.metrics.append(row)

    def save(self) -> None:
        """Write the rows taken since the last call."""
        if not self.metrics:
            return
        rows: list[Any] = self.metrics
        self.metrics = []
        new = {key for row in rows for key in row} - set(self.metrics_keys)
        exists = os.path.isfile(self.metrics_file_path)
        if new:
            self.metrics_keys = sorted({*self.metrics_keys, *new})
            if exists:
                with open(self.metrics_file_path, newline="") as file:
                    rows = [*csv.DictReader(file), *rows]
            self._write(rows)
            return
        with open(self.metrics_file_path, "a", newline="") as file:
            csv.DictWriter(file, fieldnames=self.metrics_keys).writerows(rows)

    def _write(self, rows: list[dict[str, Any]]) -> None:
        import io

        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, fieldnames=self.metrics_keys)
        writer.writeheader()
        writer.writerows(rows)
        write_atomically(self.metrics_file_path, lambda file: file.write(text.getvalue().encode()))


class CSVLogger(Logger):
    """Writes to ``save_dir/name/version``.

    Args:
        save_dir: the directory of all experiments.
        name: the experiment; None or empty for none.
        version: a number, or the name of a directory; by default the next number.
        prefix: put before the name of every metric.
        flush_logs_every_n_steps: write at least so often.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     logger = CSVLogger(folder)
    ...     logger.log_metrics({"loss": 0.5}, step=3)
    ...     logger.save()
    ...     with open(logger.log_dir + "/metrics.csv") as file:
    ...         print(file.read().split())
    ['loss,step', '0.5,3']
    """

    def __init__(
        self,
        save_dir: str | os.PathLike[str],
        name: str | None = "lightning_logs",
        version: int | str | None = None,
        prefix: str = "",
        flush_logs_every_n_steps: int = 100,
    ) -> None:
        self._save_dir = os.fspath(save_dir)
        self._name = name or ""
        self._version = version
        self._prefix = prefix
        self._flush_logs_every_n_steps = flush_logs_every_n_steps
        self._experiment: ExperimentWriter | None = None

    @property
    def name(self) -> str:
        """The experiment."""
        return self._name

    @property
    def version(self) -> int | str:
        """The version."""
        if self._version is None:
            self._version = next_version(self.root_dir)
        return self._version

    @property
    def save_dir(self) -> str:
        """The directory of all experiments."""
        return self._save_dir

    @property
    def root_dir(self) -> str:
        """The directory of all versions."""
        return os.path.join(self._save_dir, self._name)

    @property
    def log_dir(self) -> str:
        """The directory of this version."""
        version = self.version
        return os.path.join(self.root_dir, version if isinstance(version, str) else f"version_{version}")

    @property
    def experiment(self) -> ExperimentWriter:
        """The writer."""
        if self._experiment is None:
            self._experiment = ExperimentWriter(self.log_dir)
        return self._experiment

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Take a row."""
        if step is None:
            step = len(self.experiment.metrics)
        self.experiment.log_metrics(self._prefixed(metrics), step)
        if (step + 1) % self._flush_logs_every_n_steps == 0:
            self.save()

    def log_hyperparams(self, params: dict[str, Any] | Namespace | None = None, *args: Any, **kwargs: Any) -> None:
        """Write hyperparameters."""
        self.experiment.log_hparams(as_dict(params))

    def save(self) -> None:
        """Write the rows taken since the last call."""
        self.experiment.save()

    def finalize(self, status: str) -> None:
        """Write the rest."""
        if self._experiment is not None:
            self.save()
