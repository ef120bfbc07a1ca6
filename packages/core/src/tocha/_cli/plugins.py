"""``tocha plugins``: what is loaded, what each plugin registers, what failed and why."""

from __future__ import annotations

import argparse
import traceback
from collections.abc import Callable

from tocha import plugins as registry


def plugins(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], int]:
    """List the plugins and what they register. The exit status is 1 when one of them failed to load."""
    parser.add_argument("--kind", choices=registry.kinds(), help="list the names of this kind alone, one a line")
    parser.add_argument("--traceback", action="store_true", help="print the whole traceback of those that failed")
    return run


def run(arguments: argparse.Namespace) -> int:
    if arguments.kind:
        print(*registry.names(arguments.kind), sep="\n")
        return 0
    found = registry.loaded()
    for plugin in found:
        print(f"{plugin.name} ({plugin.origin}): {plugin.state}")
        for kind, names in plugin.provides.items():
            print(f"  {kind.replace('_', ' ')}: {', '.join(names)}")
        if plugin.error is not None:
            lines = traceback.format_exception(plugin.error) if arguments.traceback else [repr(plugin.error)]
            print("  " + "".join(lines).rstrip().replace("\n", "\n  "))
    return int(any(plugin.state == "failed" for plugin in found))
