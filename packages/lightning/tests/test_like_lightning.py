"""Runs whose every observable is compared with what Lightning 2.6.6 did: see reference/make_lightning.py."""

from __future__ import annotations

import importlib.util
import json
import logging
import math
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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

# where tocha means to differ from Lightning, and why
DIFFERENCES = {
    # tocha goes on with the batches that were not seen; Lightning begins the epoch's data again
    "resume_mid_epoch": ["resumed/callback_metrics", "resumed/logged", "resumed/weights", "resumed/outputs",
                         "resumed/progress_bar_metrics"],
    # Lightning answers max_steps, which is -1 here; tocha says that it cannot know
    "iterable_train_data": ["estimated_stepping_batches"],
    # Lightning takes the last epoch's number of accumulated batches for all epochs
    "gradient_accumulation_scheduler": ["estimated_stepping_batches"],
}  # fmt: skip


def differences(expected: Any, found: Any, path: str = "") -> list[str]:
    """Where two pieces of plain data differ; numbers may by 2e-5."""
    if isinstance(expected, dict) and isinstance(found, dict):
        out = (
            [f"{path}: only in one: {sorted(expected.keys() ^ found.keys())}"]
            if expected.keys() != found.keys()
            else []
        )
        for key in expected.keys() & found.keys():
            out += differences(expected[key], found[key], f"{path}/{key}".lstrip("/"))
        return out
    if isinstance(expected, list) and isinstance(found, list):
        out = []
        for i, (a, b) in enumerate(zip(expected, found, strict=False)):
            out += differences(a, b, f"{path}[{i}]")
            if out:
                return out
        return out if len(expected) == len(found) else [f"{path}: {len(expected)} items, found {len(found)}"]
    if isinstance(expected, float) and isinstance(found, (int, float)):
        if math.isnan(expected) and math.isnan(found) or abs(expected - found) <= 2e-5:
            return []
    return [] if expected == found else [f"{path}: expected {expected!r}, found {found!r}"]


@pytest.mark.parametrize("name", sorted(scenarios.TABLE))
def test_run_is_as_with_lightning(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, logger="tocha_lightning")
    env = SimpleNamespace(L=L, T=tocha, callbacks=callbacks, loggers=loggers, load=tocha.load)
    with warnings.catch_warnings():
        # the table is about behaviour; what is warned of is tested where it belongs
        warnings.simplefilter("ignore")
        found = json.loads(json.dumps(scenarios.run(env, name)))
    allowed = DIFFERENCES.get(name, [])
    unexpected = [d for d in differences(CASES[name], found) if not any(d.startswith(prefix) for prefix in allowed)]
    assert unexpected == []


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
