"""Runs whose every observable is compared with what Lightning 2.6.6 did: see reference/make_lightning.py."""

from __future__ import annotations

import importlib.util
import json
import logging
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

import tocha
import tocha_lightning as L
from tocha_lightning import callbacks, loggers, profilers

REFERENCE = Path(__file__).parent / "reference"
_spec = importlib.util.spec_from_file_location("lightning_scenarios", REFERENCE / "scenarios.py")
assert _spec is not None and _spec.loader is not None
scenarios = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(scenarios)
RECORD = json.loads((REFERENCE / "lightning.json").read_text())
CASES = RECORD["cases"]


@pytest.mark.parametrize("name", sorted(scenarios.TABLE))
def test_run_is_as_with_lightning(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, logger="tocha_lightning")
    env = SimpleNamespace(L=L, T=tocha, callbacks=callbacks, loggers=loggers, load=tocha.load)
    with warnings.catch_warnings():
        # the table is about behaviour; what is warned of is tested where it belongs
        warnings.simplefilter("ignore")
        found = json.loads(json.dumps(scenarios.run(env, name)))
    assert scenarios.unexpected(name, CASES[name], found) == []


def test_the_reference_covers_the_table() -> None:
    assert CASES.keys() == scenarios.TABLE.keys()


# names of Lightning's that are not here, and why
ABSENT = {
    "Trainer": ["strategy"],  # an attribute of instances
    "LightningModule": ["configure_sharded_model", "device_mesh", "fabric", "to_tensorrt", "to_torchscript"],
    "loggers": ["CometLogger", "LitLogger"],  # services without an offline mode to test against
    "profilers": ["PyTorchProfiler", "XLAProfiler"],  # TochaProfiler
}


@pytest.mark.parametrize("name", sorted(RECORD["members"]))
def test_names_are_lightnings(name: str) -> None:
    owner = getattr(L, name, None) or {"callbacks": callbacks, "loggers": loggers, "profilers": profilers}[name]
    assert [member for member in RECORD["members"][name] if not hasattr(owner, member)] == ABSENT.get(name, [])
