"""MLflow and Weights & Biases, where they are installed."""

from __future__ import annotations

from typing import Any

import pytest

from tocha_lightning.callbacks import ModelCheckpoint
from tocha_lightning.loggers import MLFlowLogger, WandbLogger

pytestmark = pytest.mark.filterwarnings("ignore")  # of the services' own packages


def test_mlflow(lightning: Any) -> None:
    tracking = pytest.importorskip("mlflow.tracking", reason="MLflow is not installed")
    uri = f"sqlite:///{lightning.path / 'mlflow.db'}"
    logger = MLFlowLogger("mine", run_name="first", tracking_uri=uri, log_model=True,
                          artifact_location=(lightning.path / "artifacts").as_uri())  # fmt: skip
    checkpoint = ModelCheckpoint(lightning.path / "c", filename="best")
    lightning.trainer(logger=logger, callbacks=[checkpoint]).fit(lightning.Plain(lr=0.2), lightning.loader())
    client = tracking.MlflowClient(uri)
    run = client.get_run(logger.run_id)
    assert run.info.status == "FINISHED" and run.info.run_name == "first"
    assert run.data.params["lr"] == "0.2"
    history = client.get_metric_history(logger.run_id, "loss_step")
    assert [metric.step for metric in history] == list(range(12))
    assert [item.path for item in client.list_artifacts(logger.run_id, "model/checkpoints")] == [
        "model/checkpoints/best"
    ]


def test_wandb(lightning: Any) -> None:
    pytest.importorskip("wandb", reason="Weights & Biases is not installed")
    logger = WandbLogger(name="first", save_dir=lightning.path, project="mine", offline=True)
    lightning.trainer(logger=logger, enable_checkpointing=False).fit(lightning.Plain(lr=0.2), lightning.loader())
    run = logger.experiment
    assert run.config["lr"] == 0.2 and run.summary["trainer/global_step"] == 11
    assert "loss_epoch" in run.summary.keys()
    run.finish()
    assert list((lightning.path / "wandb").glob("offline-run-*"))
    with pytest.raises(ValueError, match="invalid configuration"):
        WandbLogger(offline=True, log_model=True)


@pytest.mark.parametrize(("logger", "package"), [(MLFlowLogger, "mlflow"), (WandbLogger, "wandb")])
def test_what_to_install(logger: Any, package: str) -> None:
    from importlib.util import find_spec

    if find_spec(package) is not None:
        pytest.skip(f"{package} is installed")
    with pytest.raises(ModuleNotFoundError, match=f"pip install {package}"):
        logger()
