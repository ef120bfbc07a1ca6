"""What other packages add to tocha, found by name: ``tocha.plugins.get("datasets", "Digits")``.

A plugin is a module whose functions, marked with :data:`hookimpl`, implement hooks of :mod:`tocha.hookspecs`.
Installed packages offer theirs as an entry point in the group ``tocha``. They are loaded on first need: when a name
is asked for that is not there, when names are listed, or by :func:`load`. All that a plugin registers is added, or
none of it: one that fails is named in a warning and changes nothing. The project's own packages come first, the
others in the order of their names; a name that is taken is refused.

``TOCHA_PLUGINS=vision,acme`` loads these alone, ``TOCHA_PLUGINS=-acme`` all but these, ``TOCHA_PLUGINS=none`` or the
empty string no installed plugin at all. ``TOCHA_PLUGINS_TRACE=1`` prints every hook call to the standard error.

>>> from tocha import plugins
>>> plugins.get("commands", "doctor").__name__
'doctor'
"""

from __future__ import annotations

import difflib
import functools
import importlib
import os
import pkgutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, NamedTuple

import pluggy

from tocha import hookspecs

__all__ = ["Plugin", "Plugins", "get", "hookimpl", "kinds", "load", "loaded", "names", "register"]

hookimpl = pluggy.HookimplMarker("tocha")
"""Marks a function as the implementation of the hook of the same name."""


@dataclass
class Plugin:
    """What became of one plugin: ``state`` is ``"loaded"``, ``"failed"`` or ``"excluded"``."""

    name: str
    origin: str
    state: str = "loaded"
    error: BaseException | None = None
    provides: dict[str, list[str]] = field(default_factory=dict)


class _Entry(NamedTuple):
    plugin: str
    target: Any


def kinds() -> list[str]:
    """The kinds of things that plugins register, such as ``"datasets"``: one for each hook."""
    prefix = hookspecs.PREFIX
    return [name.removeprefix(prefix) for name in vars(hookspecs) if name.startswith(prefix)]


class Plugins:
    """A set of plugins and what they registered; the functions of :mod:`tocha.plugins` work on the process's one.

    ``builtin`` are modules that no environment variable excludes; ``installed`` gives the entry points and is called
    once, on first need.
    """

    def __init__(self, builtin: Iterable[str], installed: Callable[[], Iterable[metadata.EntryPoint]]) -> None:
        self._builtin = tuple(builtin)
        self._installed = installed
        self._searched = False
        self._lock = threading.RLock()
        self._plugins: list[Plugin] = []
        self._entries: dict[str, dict[str, _Entry]] = {kind: {} for kind in kinds()}
        self._manager = pluggy.PluginManager("tocha")
        self._manager.add_hookspecs(hookspecs)
        if os.environ.get("TOCHA_PLUGINS_TRACE", "0") not in ("", "0"):
            self._manager.trace.root.setwriter(lambda text: print(text, end="", file=sys.stderr))
            self._manager.enable_tracing()

    def get(self, kind: str, name: str) -> Any:
        """The object that is registered under ``name``, imported now if it was not before.

        Raises ``LookupError`` when no plugin registers the name, ``ValueError`` when there is no such kind.
        """
        entries = self._of(kind)
        if name not in entries:
            self.load()
        if name not in entries:
            raise LookupError(self._miss(kind, name))
        plugin, target = entries[name]
        if isinstance(target, str):
            try:
                target = pkgutil.resolve_name(target)
            except Exception as error:
                error.add_note(f"while importing {target!r}: plugin {plugin!r} registered it as {name!r} of the {kind}")
                raise
            entries[name] = _Entry(plugin, target)
        return target

    def names(self, kind: str) -> list[str]:
        """The names of this kind, sorted. Imports the plugins' own modules and none of what they registered."""
        entries = self._of(kind)
        self.load()
        return sorted(entries)

    def loaded(self) -> list[Plugin]:
        """Every plugin in the order of loading, with those that failed or were excluded."""
        self.load()
        return list(self._plugins)

    def register(self, plugin: object, name: str | None = None) -> None:
        """Add a plugin by hand: a module, or an object whose methods are marked with :data:`hookimpl`.

        Raises what its hooks raise, ``ValueError`` when a name is taken; nothing of it is registered then.
        """
        self.load()
        name = name or getattr(plugin, "__name__", None) or type(plugin).__name__
        self._add(Plugin(name, "registered by hand"), lambda: plugin)

    def load(self) -> None:
        """Load the built-in and the installed plugins. Done once: later calls return at once."""
        with self._lock:
            if self._searched:
                return
            self._searched = True
            for module in self._builtin:
                plugin = Plugin(module.partition(".")[0], "built in")
                self._add(plugin, functools.partial(importlib.import_module, module))
            troubles = self._load_installed()
        for trouble in troubles:
            warnings.warn(trouble, RuntimeWarning, stacklevel=3)

    def _load_installed(self) -> list[str]:
        wanted, unwanted = _selection(os.environ.get("TOCHA_PLUGINS"))
        points = sorted(self._installed(), key=lambda point: (not _origin(point).startswith("tocha-"), point.name))
        absent = sorted((wanted or set()) - {point.name for point in points})
        troubles = [f"TOCHA_PLUGINS asks for the plugin {name!r}, which is not installed" for name in absent]
        for point in points:
            plugin = Plugin(point.name, _origin(point))
            if point.name in unwanted or (wanted is not None and point.name not in wanted):
                plugin.state = "excluded"
                self._plugins.append(plugin)
                continue
            try:
                self._add(plugin, point.load)
            except (Exception, SystemExit) as error:
                plugin.state, plugin.error = "failed", error
                self._plugins.append(plugin)
                reason = f"{type(error).__name__}: {error}"
                troubles.append(f"plugin {plugin.name!r} of {plugin.origin} was not loaded: {reason}")
        return troubles

    def _add(self, plugin: Plugin, module: Callable[[], object]) -> None:
        with self._lock:
            for other in self._plugins:
                if other.name == plugin.name and other.state == "loaded":
                    raise ValueError(f"the name {plugin.name!r} is taken by the plugin of {other.origin}")
            implementation = module()
            self._manager.register(implementation, plugin.name)
            try:
                self._manager.check_pending()  # a misspelt hook is an error of the plugin, not a hook that nobody calls
                found = self._call_hooks(plugin, implementation)
            except BaseException:
                self._manager.unregister(name=plugin.name)
                raise
            for kind, entries in found.items():
                self._entries[kind].update(entries)
                plugin.provides[kind] = sorted(entries)
            self._plugins.append(plugin)

    def _call_hooks(self, plugin: Plugin, implementation: object) -> dict[str, dict[str, _Entry]]:
        found: dict[str, dict[str, _Entry]] = {}

        def add(kind: str, name: str, target: object) -> None:
            entries = found.setdefault(kind, {})
            taken = self._entries[kind].get(name) or entries.get(name)
            if taken is not None:
                raise ValueError(
                    f"plugin {plugin.name!r} cannot register {name!r} among the {kind}: "
                    f"plugin {taken.plugin!r} has registered that name"
                )
            if isinstance(target, str) and ":" not in target:
                raise ValueError(f"expected an object or 'package.module:attribute' for {name!r}, got {target!r}")
            entries[name] = _Entry(plugin.name, target)

        others = self._manager.get_plugins() - {implementation}
        for kind in self._entries:
            hook = self._manager.subset_hook_caller(hookspecs.PREFIX + kind, others)
            hook(register=functools.partial(add, kind))
        return found

    def _of(self, kind: str) -> dict[str, _Entry]:
        if kind not in self._entries:
            raise ValueError(f"expected one of {', '.join(self._entries)}, got {kind!r}")
        return self._entries[kind]

    def _miss(self, kind: str, name: str) -> str:
        entries = self._entries[kind]
        close = difflib.get_close_matches(name, entries, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"registered: {', '.join(sorted(entries)) or 'none'}"
        if failed := [plugin.name for plugin in self._plugins if plugin.state == "failed"]:
            hint += f"; failed to load: {', '.join(failed)}"
        return f"no plugin registers {name!r} among the {kind}; {hint}"


def _origin(point: metadata.EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _selection(variable: str | None) -> tuple[set[str] | None, set[str]]:
    """The names to load (``None``: all) and the names to leave out, as TOCHA_PLUGINS says."""
    if variable is None:
        return None, set()
    words = {word.strip() for word in variable.split(",")} - {"", "none"}
    unwanted = {word[1:] for word in words if word.startswith("-")}
    wanted = {word for word in words if not word.startswith("-")}
    return (None if unwanted and not wanted else wanted), unwanted


_process = Plugins(["tocha._plugin"], lambda: metadata.entry_points(group="tocha"))
get = _process.get
names = _process.names
loaded = _process.loaded
register = _process.register
load = _process.load
