"""Containers of parameters: ``ParameterList`` and ``ParameterDict``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView, Mapping
from operator import index
from typing import Any, TypeVar, overload

from tocha._core.tensor import Tensor
from tocha.nn.parameter import Parameter

from .module import Module, typename

__all__ = ["ParameterDict", "ParameterList"]

PL = TypeVar("PL", bound="ParameterList")
PD = TypeVar("PD", bound="ParameterDict")


def as_parameter(value: Any) -> Any:
    """Tensors become parameters; other values are kept as they are."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def describe(key: Any, value: Any, kind: str) -> str:
    """One line of the container's repr."""
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    size = "x".join(str(n) for n in value.shape)
    where = f" ({value.device})" if value.device.type == "cuda" else ""
    name = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({key}): {name} containing: [{kind} of size {size}{where}]"


class ParameterList(Module):
    """A list whose tensors are registered as parameters; other values may be in it too.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ParameterList.html

    >>> import tocha
    >>> weights = tocha.nn.ParameterList([tocha.zeros(2, 3), tocha.zeros(3)])
    >>> [name for name, _ in weights.named_parameters()]
    ['0', '1']
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _key(self, idx: Any) -> str:
        number = index(idx)
        if not -len(self) <= number < len(self):
            raise IndexError(f"index {number} is out of range")
        return str(number % len(self))

    @overload
    def __getitem__(self, idx: int) -> Any: ...

    @overload
    def __getitem__(self: PL, idx: slice) -> PL: ...

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(self[i] for i in range(len(self))[idx])
        return getattr(self, self._key(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, self._key(idx), as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self: PL, parameters: Iterable[Any]) -> PL:
        return self.extend(parameters)

    def append(self: PL, value: Any) -> PL:
        """Add a value at the end; returns the list."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self: PL, values: Iterable[Any]) -> PL:
        """Add values at the end; returns the list.

        Raises:
            TypeError: ``values`` is not an iterable, or is a tensor.
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in tuple(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(describe(i, v, str(v.dtype) if isinstance(v, Tensor) else "") for i, v in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary whose tensors are registered as parameters; it keeps the order of insertion.

    Args:
        parameters: a mapping (a plain ``dict`` is taken in the order of its sorted keys, as PyTorch does), or pairs.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ParameterDict.html

    >>> import tocha
    >>> weights = tocha.nn.ParameterDict({"w": tocha.zeros(2, 3), "b": tocha.zeros(3)})
    >>> list(weights)
    ['b', 'w']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _name(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}'). Use str(key)."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._name(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._name(key), as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Another dictionary with the same values (not copies of them)."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of ``key``, which is set to ``default`` first where it is absent."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take out everything."""
        for key in tuple(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take out and return the value of ``key``.

        Raises:
            KeyError, AttributeError: it is not there.
        """
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take out and return the pair that was put in last.

        Raises:
            KeyError: the dictionary is empty.
        """
        if not self._keys:
            raise KeyError("popitem(): dictionary is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of ``key``, or ``default`` where it is absent."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dictionary with these keys, each with the value ``default``."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Pairs of name and value."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add or replace values.

        Raises:
            TypeError: neither a mapping nor an iterable of pairs. ValueError: an element is no pair.
        """
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParametersDict.update should be called with an iterable of key/value pairs, but got "
                + type(parameters).__name__
            )
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs: Any = parameters.items()
        elif isinstance(parameters, Mapping):
            pairs = sorted(parameters.items())
        else:
            pairs = parameters
        for j, pair in enumerate(tuple(pairs)):
            if not isinstance(pair, Iterable):
                raise TypeError(
                    f"ParameterDict update sequence element #{j} should be Iterable; is{type(pair).__name__}"
                )
            if len(pair) != 2:  # type: ignore[arg-type]
                raise ValueError(f"ParameterDict update sequence element #{j} has length {len(pair)}; 2 is required")  # type: ignore[arg-type]
            key, value = pair
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(describe(k, v, typename(v)) for k, v in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: Any) -> ParameterDict:
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: Any) -> ParameterDict:
        joined = ParameterDict(OrderedDict(other.items()))
        joined.update(self)
        return joined

    def __ior__(self: PD, other: Any) -> PD:
        self.update(other)
        return self
