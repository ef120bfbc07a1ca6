"""The three tables of a module: its parameters, its buffers, its submodules."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from typing import Any


class Members(dict):
    """A table of a module's members that mirrors each entry in the module's ``__dict__``.

    ``module.weight`` is then an ordinary attribute lookup. Going through ``__getattr__``, which Python calls only
    after a failed lookup, costs twenty times as much, and a forward pass does it for each layer and each weight.
    PyTorch code writes into these tables directly (``module._modules["fc"] = new``), so the mirror hangs on the
    table and not on ``Module.__setattr__``.

    The owner is held weakly: a module must not be part of a reference cycle, or its memory outlives ``del model``.
    """

    __slots__ = ("owner",)

    def __init__(self, owner: Any, items: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        super().__init__(items)
        self.owner = weakref.ref(owner)
        owner.__dict__.update(self)

    def _mirror(self) -> dict[str, Any]:
        owner = self.owner()
        return {} if owner is None else owner.__dict__

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self._mirror()[name] = value

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self._mirror().pop(name, None)

    def pop(self, name: str, *default: Any) -> Any:
        if name in self:
            self._mirror().pop(name, None)
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        name, value = super().popitem()
        self._mirror().pop(name, None)
        return name, value

    def clear(self) -> None:
        mirror = self._mirror()
        for name in self:
            mirror.pop(name, None)
        super().clear()

    def update(self, *args: Any, **kwargs: Any) -> None:
        for name, value in dict(*args, **kwargs).items():
            self[name] = value

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def __ior__(self, other: Any) -> Members:  # type: ignore[misc]
        self.update(other)
        return self

    def __reduce_ex__(self, protocol: Any) -> tuple:
        # Copies and pickles are plain: whoever restores a module (``Module.__setstate__``) gives them an owner.
        return dict, (dict(self),)
