"""Metrics and hyperparameters in Weights & Biases."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import Any

from tocha_lightning.loggers.logger import Logger, as_dict


class WandbLogger(Logger):
    """Logs to Weights & Biases.

    Args:
        name: of the run.
        save_dir: a local directory.
        version: the run's id, to go on with it.
        offline: keep everything here.
        dir: same as `save_dir`.
        id: same as `version`.
        anonymous: log without an account.
        project: the project.
        log_model: keep checkpoints as artifacts at the end; ``"all"``: as they are saved.
        experiment: a run that is there already.
        prefix: put before the name of every metric.
        checkpoint_name: of the artifacts.
        add_file_policy: ``"mutable"`` or ``"immutable"``: whether checkpoints are copied first.
        kwargs: passed to ``wandb.init``.

    Raises:
        ModuleNotFoundError: wandb is not installed.
        ValueError: `log_model` and `offline` together.
    """

    def __init__(
        self,
        name: str | None = None,
        save_dir: str | os.PathLike[str] = ".",
        version: str | None = None,
        offline: bool = False,
        dir: str | os.PathLike[str] | None = None,
        id: str | None = None,
        anonymous: bool | None = None,
        project: str | None = None,
        log_model: bool | str = False,
        experiment: Any = None,
        prefix: str = "",
        checkpoint_name: str | None = None,
        add_file_policy: str = "mutable",
        **kwargs: Any,
    ) -> None:
        try:
            import wandb
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("`WandbLogger` needs wandb: `pip install wandb`.") from error
        if offline and log_model:
            raise ValueError(
                f"Providing log_model={log_model} and offline={offline} is an invalid configuration since model"
                " checkpoints cannot be uploaded in offline mode."
            )
        self._wandb = wandb
        self._save_dir = os.fspath(save_dir if dir is None else dir)
        self._project = project or os.environ.get("WANDB_PROJECT", "lightning_logs")
        self._arguments: dict[str, Any] = {
            "name": name,
            "project": self._project,
            "dir": self._save_dir,
            "id": version or id,
            "resume": "allow",
            "anonymous": "allow" if anonymous else None,
            "mode": "offline" if offline else None,
            **kwargs,
        }
        self._experiment = experiment
        self._log_model = log_model
        self._prefix = prefix
        self._checkpoint_name = checkpoint_name
        self._policy = add_file_policy
        self._checkpoint_callback: Any = None
        self._logged: dict[str, float] = {}

    @property
    def experiment(self) -> Any:
        """The run."""
        if self._experiment is None:
            os.makedirs(self._save_dir, exist_ok=True)
            current = self._wandb.run
            arguments = {key: value for key, value in self._arguments.items() if value is not None}
            self._experiment = current if current is not None else self._wandb.init(**arguments)
            # metrics of epochs come late: each has the step of the Trainer
            self._experiment.define_metric("trainer/global_step")
            self._experiment.define_metric("*", step_metric="trainer/global_step", step_sync=True)
        return self._experiment

    @property
    def name(self) -> str | None:
        """The project."""
        return str(self._project)

    @property
    def version(self) -> str | None:
        """The run's id."""
        return self._experiment.id if self._experiment is not None else self._arguments["id"]

    @property
    def save_dir(self) -> str | None:
        """The local directory."""
        return self._save_dir

    def watch(self, model: Any, log: str | None = "gradients", log_freq: int = 100, log_graph: bool = False) -> None:
        """Log gradients or parameters of a model."""
        self.experiment.watch(model, log=log, log_freq=log_freq, log_graph=log_graph)

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        """Log hyperparameters."""
        self.experiment.config.update(as_dict(params), allow_val_change=True)

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Log metrics."""
        found = self._prefixed(metrics)
        self.experiment.log(found if step is None else {**found, "trainer/global_step": step})

    def log_image(self, key: str, images: list[Any], step: int | None = None, **kwargs: Any) -> None:
        """Log images; each of `kwargs` is a list with an item for each."""
        made = [
            self._wandb.Image(image, **{name: values[i] for name, values in kwargs.items()})
            for i, image in enumerate(images)
        ]
        self.log_metrics({key: made}, step)  # type: ignore[dict-item]

    def finalize(self, status: str) -> None:
        """Keep the checkpoints."""
        if status == "success" and self._checkpoint_callback is not None and self._experiment is not None:
            self._log_checkpoints()

    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        """Keep a checkpoint now, or remember to."""
        if self._log_model == "all" or (self._log_model is True and checkpoint_callback.save_top_k == -1):
            self._checkpoint_callback = checkpoint_callback
            self._log_checkpoints()
        elif self._log_model is True:
            self._checkpoint_callback = checkpoint_callback

    def _log_checkpoints(self) -> None:
        callback = self._checkpoint_callback
        paths = {callback.last_model_path, callback.best_model_path, *callback.best_k_models}
        for path in sorted(path for path in paths if path and os.path.isfile(path)):
            written = os.path.getmtime(path)
            if self._logged.get(path) == written:
                continue
            self._logged[path] = written
            artifact = self._wandb.Artifact(name=self._checkpoint_name or f"model-{self.experiment.id}", type="model")
            artifact.add_file(path, name="model.ckpt", policy=self._policy)
            best = path == callback.best_model_path
            self.experiment.log_artifact(artifact, aliases=["latest", "best"] if best else ["latest"])
