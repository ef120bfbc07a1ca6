"""``tocha doctor``: the checks that core and the plugins register, one after the other."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from tocha import plugins


def doctor(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], int]:
    """Report versions, devices, kernels and plugins, and check that core computes what it should. The exit status is
    0 when core is healthy, 1 when one of its checks failed; what plugins find is reported only."""
    return run


def run(arguments: argparse.Namespace) -> int:
    found = plugins.loaded()
    broken = []
    for plugin in found:
        for name in plugin.provides.get("doctor_checks", []):
            print(name if plugin.origin == "built in" else f"{name} (from {plugin.name})")
            try:
                for label, value in plugins.get("doctor_checks", name)():
                    print(f"  {label:<14} {value}")
            except Exception as error:
                print(f"  FAILED: {type(error).__name__}: {error}")
                if plugin.origin == "built in":
                    broken.append(name)
    print("plugins")
    for plugin in found:
        reason = "" if plugin.error is None else f": {plugin.error!r}"
        print(f"  {plugin.name:<14} {plugin.state}, {plugin.origin}{reason}")
    if broken:
        print(f"core is not healthy: the checks of {', '.join(broken)} failed")
        return 1
    print("core is healthy")
    return 0
