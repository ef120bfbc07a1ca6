"""Metrics and hyperparameters in MLflow."""

from __future__ import annotations

import os
import re
import time
from argparse import Namespace
from typing import Any

from tocha_lightning.loggers.logger import Logger, as_dict, flattened
from tocha_lightning.utilities.rank_zero import rank_zero_warn


class MLFlowLogger(Logger):
    """Logs to an MLflow server or directory.

    Args:
        experiment_name: the experiment.
        run_name: the run.
        tracking_uri: the server or directory; by default ``file:`` and `save_dir`, or ``MLFLOW_TRACKING_URI``.
        tags: of the run.
        save_dir: a local directory.
        log_model: keep checkpoints as artifacts at the end; ``"all"``: as they are saved.
        prefix: put before the name of every metric.
        artifact_location: where a new experiment keeps its artifacts.
        run_id: go on with this run.
        synchronous: False logs in the background.

    Raises:
        ModuleNotFoundError: mlflow is not installed.
    """

    def __init__(
        self,
        experiment_name: str = "lightning_logs",
        run_name: str | None = None,
        tracking_uri: str | None = None,
        tags: dict[str, Any] | None = None,
        save_dir: str | None = "./mlruns",
        log_model: bool | str = False,
        prefix: str = "",
        artifact_location: str | None = None,
        run_id: str | None = None,
        synchronous: bool | None = None,
    ) -> None:
        try:
            from mlflow.tracking import MlflowClient
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("`MLFlowLogger` needs mlflow: `pip install mlflow`.") from error
        uri = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI")
        self._tracking_uri = uri or f"file:{save_dir}"
        self._experiment_name = experiment_name
        self._experiment_id: str | None = None
        self._run_name = run_name
        self._run_id = run_id
        self.tags = dict(tags or {})
        self._log_model = log_model
        self._prefix = prefix
        self._artifact_location = artifact_location
        self._synchronous = {} if synchronous is None else {"synchronous": synchronous}
        self._client: Any = MlflowClient(self._tracking_uri)
        self._started = False
        self._checkpoint_callback: Any = None
        self._logged: set[str] = set()

    @property
    def experiment(self) -> Any:
        """The client, with the run begun."""
        if not self._started:
            self._started = True
            if self._run_id is not None:
                self._experiment_id = self._client.get_run(self._run_id).info.experiment_id
            else:
                found = self._client.get_experiment_by_name(self._experiment_name)
                if found is not None and found.lifecycle_stage != "deleted":
                    self._experiment_id = found.experiment_id
                else:
                    self._experiment_id = self._client.create_experiment(
                        self._experiment_name, artifact_location=self._artifact_location
                    )
                if self._run_name is not None:
                    self.tags["mlflow.runName"] = self._run_name
                self._run_id = self._client.create_run(self._experiment_id, tags=self.tags).info.run_id
        return self._client

    @property
    def run_id(self) -> str | None:
        """The run, begun if it was not."""
        _ = self.experiment
        return self._run_id

    @property
    def experiment_id(self) -> str | None:
        """The experiment's number, made if there was none."""
        _ = self.experiment
        return self._experiment_id

    @property
    def name(self) -> str | None:
        """The experiment's number."""
        return self.experiment_id

    @property
    def version(self) -> str | None:
        """The run."""
        return self.run_id

    @property
    def save_dir(self) -> str | None:
        """The local directory, or None for a server."""
        prefix = "file:"
        return self._tracking_uri[len(prefix) :] if self._tracking_uri.startswith(prefix) else None

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        """Log hyperparameters."""
        from mlflow.entities import Param

        # MLflow takes 250 characters, and 100 parameters a call
        found = [Param(key=key, value=str(value)[:250]) for key, value in flattened(as_dict(params)).items()]
        for start in range(0, len(found), 100):
            self.experiment.log_batch(run_id=self.run_id, params=found[start : start + 100], **self._synchronous)

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Log metrics."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        found = []
        for key, value in self._prefixed(metrics).items():
            if isinstance(value, str):
                rank_zero_warn(f"Discarding metric with string value {key}={value}.")
                continue
            name = re.sub(r"[^a-zA-Z0-9_/. -]+", "", key)
            if name != key:
                rank_zero_warn(
                    "MLFlow only allows '_', '/', '.' and ' ' special characters in metric name."
                    f" Replacing {key} with {name}."
                )
            found.append(Metric(key=name, value=value, timestamp=now, step=step or 0))
        self.experiment.log_batch(run_id=self.run_id, metrics=found, **self._synchronous)

    def finalize(self, status: str) -> None:
        """End the run, and keep the checkpoints."""
        if not self._started:
            return
        if self._checkpoint_callback is not None and self._log_model:
            self._log_checkpoints()
        names = {"success": "FINISHED", "failed": "FAILED", "finished": "FINISHED"}
        self._client.set_terminated(self.run_id, names.get(status, status))

    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        """Keep a checkpoint now, or remember to."""
        self._checkpoint_callback = checkpoint_callback
        if self._log_model == "all" or (self._log_model is True and checkpoint_callback.save_top_k == -1):
            self._log_checkpoints()

    def _log_checkpoints(self) -> None:
        callback = self._checkpoint_callback
        paths = {callback.last_model_path, callback.best_model_path, *callback.best_k_models}
        for path in sorted(path for path in paths if path and os.path.isfile(path) and path not in self._logged):
            name = os.path.splitext(os.path.basename(path))[0]
            self._client.log_artifact(self.run_id, path, f"model/checkpoints/{name}")
            self._logged.add(path)
