"""The Trainer beside Lightning's on PyTorch: the runs of packages/lightning/tests/reference/scenarios.py on both."""

from __future__ import annotations

import importlib.util
import json
import logging
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tocha
import tocha_lightning

REFERENCE = Path(__file__).parents[2] / "packages" / "lightning" / "tests" / "reference"
_spec = importlib.util.spec_from_file_location("lightning_scenarios", REFERENCE / "scenarios.py")
assert _spec is not None and _spec.loader is not None
scenarios = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(scenarios)


def environments() -> tuple[Any, Any]:
    from tocha_lightning import callbacks, loggers

    lightning = pytest.importorskip("lightning.pytorch", reason="Lightning is not installed")
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    theirs = SimpleNamespace(
        L=lightning,
        T=torch,
        callbacks=lightning.callbacks,
        loggers=lightning.loggers,
        load=lambda path: torch.load(path, weights_only=False),
    )
    ours = SimpleNamespace(L=tocha_lightning, T=tocha, callbacks=callbacks, loggers=loggers, load=tocha.load)
    return theirs, ours


@pytest.mark.parametrize("name", sorted(scenarios.TABLE))
def test_run_beside_lightning(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = environments()
        for logger in ("lightning.pytorch", "lightning.fabric", "tocha_lightning"):
            logging.getLogger(logger).setLevel(logging.ERROR)
        expected, found = (json.loads(json.dumps(scenarios.run(env, name))) for env in (theirs, ours))
    assert scenarios.unexpected(name, expected, found) == []
