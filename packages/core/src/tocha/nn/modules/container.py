"""Containers of modules: ``Sequential``, ``ModuleList``, ``ModuleDict``."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain
from typing import Any, TypeVar, overload

from .module import Module, indent
from .parameter_container import ParameterDict, ParameterList

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]

S = TypeVar("S", bound="Sequential")
L = TypeVar("L", bound="ModuleList")


def position(index: Any, size: int) -> int:
    """``index`` counted from the front.

    Raises:
        IndexError: it is out of range.
    """
    number = operator.index(index)
    if not -size <= number < size:
        raise IndexError(f"index {number} is out of range")
    return number % size


class _Ordered(Module):
    """Children under the names ``"0"``, ``"1"``, …: what ``Sequential`` and ``ModuleList`` share."""

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def _key(self, index: Any) -> str:
        return list(self._modules)[position(index, len(self))]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        for name in list(self._modules)[idx] if isinstance(idx, slice) else [self._key(idx)]:
            delattr(self, name)
        self._modules = {str(i): module for i, module in enumerate(self._modules.values())}

    def append(self, module: Module) -> Any:
        """Add a module at the end; returns the container."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Module:
        """Take out and return the module (or the modules of a slice, as a container)."""
        module = self[key]  # type: ignore[index]
        del self[key]
        return module

    def _insert(self, index: int, module: Module) -> None:
        for i in range(len(self), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module


class Sequential(_Ordered):
    """Modules applied one after the other, each to the output of the one before.

    Args:
        args: modules, named ``"0"``, ``"1"``, … in ``state_dict``; or one ``OrderedDict`` of named modules.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Sequential.html

    >>> import tocha
    >>> net = tocha.nn.Sequential(tocha.nn.Linear(2, 3), tocha.nn.ReLU())
    >>> net(tocha.zeros(5, 2)).shape
    tocha.Size([5, 3])
    """

    @overload
    def __init__(self, *args: Module) -> None: ...

    @overload
    def __init__(self, arg: OrderedDict[str, Module], /) -> None: ...

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name) if isinstance(name, int) else name, module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._key(idx)]

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential(*self, *_sequential(other))

    def __iadd__(self: S, other: Sequential) -> S:
        return self.extend(tuple(_sequential(other)))

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*(tuple(self) * self._factor(other)))

    __rmul__ = __mul__

    def __imul__(self: S, other: int) -> S:
        return self.extend(tuple(self) * (self._factor(other) - 1))

    def _factor(self, other: Any) -> int:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return other

    def insert(self: S, index: int, module: Module) -> S:
        """Put a module before position ``index``; returns the container.

        Raises:
            AssertionError: not a Module. IndexError: ``index`` is out of range.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        self._insert(index + size if index < 0 else index, module)
        return self

    def extend(self: S, sequential: Iterable[Module]) -> S:
        """Add modules at the end; returns the container."""
        for module in sequential:
            self.append(module)
        return self


def _sequential(other: Any) -> Sequential:
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
    return other


class ModuleList(_Ordered):
    """A list of modules whose parameters are registered; it has no ``forward``.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ModuleList.html

    >>> import tocha
    >>> tocha.nn.ModuleList(tocha.nn.Linear(2, 2) for _ in range(3))
    ModuleList(
      (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    @overload
    def __getitem__(self: L, idx: slice) -> L: ...

    @overload
    def __getitem__(self, idx: int) -> Module: ...

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[str(position(idx, len(self)))]

    def _key(self, index: Any) -> str:
        return str(position(index, len(self)))

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __iadd__(self: L, modules: Iterable[Module]) -> L:
        return self.extend(modules)

    def insert(self, index: int, module: Module) -> None:
        """Put a module before position ``index`` (counted from the front)."""
        self._insert(index, module)

    def extend(self: L, modules: Iterable[Module]) -> L:
        """Add modules at the end; returns the container.

        Raises:
            TypeError: ``modules`` is not iterable.
        """
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in tuple(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        if not len(self):
            return f"{self._get_name()}()"
        runs: list[list[Any]] = []  # [first index, last index, repr]
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        lines = [indent(f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}") for a, b, text in runs]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules whose parameters are registered; it keeps the order of insertion and has no ``forward``.

    Args:
        modules: a mapping, or pairs of name and module.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ModuleDict.html

    >>> import tocha
    >>> heads = tocha.nn.ModuleDict({"mean": tocha.nn.Linear(4, 1), "scale": tocha.nn.Linear(4, 1)})
    >>> list(heads)
    ['mean', 'scale']
    """

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take out all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take out and return a module.

        Raises:
            KeyError: it is not there.
        """
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        """Pairs of name and module."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add or replace modules, in the order given.

        Raises:
            TypeError: ``modules`` is neither a mapping nor an iterable of pairs. ValueError: an element is no pair.
        """
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an iterable of key/value pairs, but got "
                f"{type(modules).__name__}"
            )
        if isinstance(modules, (Mapping, ModuleDict)):
            for key, module in modules.items():
                self[key] = module
            return
        for j, pair in enumerate(modules):
            if not isinstance(pair, Iterable):
                raise TypeError(f"ModuleDict update sequence element #{j} should be Iterable; is{type(pair).__name__}")
            if len(pair) != 2:
                raise ValueError(f"ModuleDict update sequence element #{j} has length {len(pair)}; 2 is required")
            self[pair[0]] = pair[1]
