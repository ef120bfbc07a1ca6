"""What the package registers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tocha import plugins
from tocha_lightning import Callback
from tocha_lightning.loggers import Logger
from tocha_lightning.strategies import SingleDeviceStrategy, Strategy


@pytest.mark.parametrize(("kind", "base"), [("callbacks", Callback), ("loggers", Logger), ("strategies", Strategy)])
def test_everything_registered_can_be_imported(kind: str, base: type) -> None:
    names = plugins.names(kind)
    assert names and all(issubclass(plugins.get(kind, name), base) for name in names)
    assert plugins.get("strategies", "single_device") is SingleDeviceStrategy


def test_commands_are_registered() -> None:
    assert {"fit", "validate", "test", "predict"} <= set(plugins.names("commands"))
    for name in ("fit", "validate", "test", "predict"):
        assert callable(plugins.get("commands", name))


def test_importing_imports_no_extra() -> None:
    extras = ("rich", "tensorboard", "matplotlib", "mlflow", "wandb", "psutil")
    code = f"import sys, tocha_lightning.cli, tocha_lightning.tuner; print([m for m in {extras} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"
