"""``tocha fit``, ``tocha validate``, ``tocha test`` and ``tocha predict``: `LightningCLI` without a script."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

Run = Callable[[argparse.Namespace], int | None]


def _command(name: str) -> Callable[[argparse.ArgumentParser], Run]:
    def setup(parser: argparse.ArgumentParser) -> Run:
        # everything after the command's name, options too, is for jsonargparse
        parser.prefix_chars = "\0"
        parser.add_argument("arguments", nargs=argparse.REMAINDER)

        def run(arguments: argparse.Namespace) -> None:
            from tocha_lightning.cli.cli import LightningCLI

            # modules of the project that the command is called in are found by their names
            sys.path.insert(0, os.getcwd())
            LightningCLI(args=[name, *arguments.arguments], parser_kwargs={"prog": "tocha"})

        return run

    setup.__doc__ = f"Run `Trainer.{name}` with a model, data and a Trainer from configuration files."
    return setup


fit = _command("fit")
validate = _command("validate")
test = _command("test")
predict = _command("predict")
