"""The ``tocha`` command. Its subcommands, the built-in ones too, are the ``commands`` that plugins register."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from importlib import metadata

from tocha import plugins

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``tocha`` with these arguments (``None``: those of the process) and return its exit status.

    Only the module of the command that is asked for is imported.
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    parser = argparse.ArgumentParser(prog="tocha", description="PyTorch's programming model on NumPy and CuPy.")
    parser.add_argument("--version", action="version", version=f"tocha {metadata.version('tocha')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    asked = next((argument for argument in argv if not argument.startswith("-")), None)
    for plugin in _load():
        for name in plugin.provides.get("commands", []):
            command = commands.add_parser(name, help=f"from {plugin.name} ({plugin.origin})")
            if name == asked:
                try:
                    setup = plugins.get("commands", name)
                    command.description = setup.__doc__
                    command.set_defaults(run=setup(command))
                except Exception as error:
                    _complain(f"the command {name!r} of plugin {plugin.name!r} failed: {type(error).__name__}: {error}")
                    return 1
    arguments = parser.parse_args(argv)
    run = arguments.run
    del arguments.run
    return run(arguments) or 0


def _load() -> list[plugins.Plugin]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = plugins.loaded()
    for warning in caught:
        _complain(str(warning.message))
    return found


def _complain(text: str) -> None:
    print(f"tocha: {text}", file=sys.stderr)
