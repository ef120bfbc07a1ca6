"""Records how Lightning behaves in the runs of `scenarios.py`, into ``lightning.json`` beside this file.

In an environment of its own: ``pip install torch==2.13.0 lightning==2.6.6 && python make_lightning.py``.
"""

from __future__ import annotations

import json
import logging
import pathlib
import warnings
from types import SimpleNamespace

import lightning
import lightning.pytorch as L
import scenarios
import torch
from lightning.pytorch import callbacks, loggers, profilers


def members() -> dict[str, list[str]]:
    """The public names of the classes and modules that tocha_lightning mirrors."""

    def public(kind: type, base: type = object) -> list[str]:
        return sorted(name for name in set(dir(kind)) - set(dir(base)) if not name.startswith("_"))

    return {
        "Trainer": public(L.Trainer),
        "LightningModule": public(L.LightningModule, torch.nn.Module),
        "LightningDataModule": public(L.LightningDataModule),
        "Callback": public(L.Callback),
        "callbacks": sorted(callbacks.__all__),
        "loggers": sorted(loggers.__all__),
        "profilers": sorted(profilers.__all__),
    }


def main() -> None:
    """Run every case and write the file."""
    warnings.simplefilter("ignore")
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    env = SimpleNamespace(
        L=L, T=torch, callbacks=callbacks, loggers=loggers, load=lambda path: torch.load(path, weights_only=False)
    )
    cases = {name: scenarios.run(env, name) for name in scenarios.TABLE}
    made_with = {"lightning": lightning.__version__, "torch": torch.__version__.split("+")[0]}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(case, sort_keys=True)}" for name, case in cases.items())
    text = f'{{"made_with": {json.dumps(made_with)},\n"members": {json.dumps(members())},\n"cases": {{\n{lines}\n}}}}\n'
    pathlib.Path(__file__).with_name("lightning.json").write_text(text)


if __name__ == "__main__":
    main()
