"""What a file may name when only weights are loaded, and what those names are allowed to do.

By default these are tensors and plain containers. Each comes with its own strict constructor, because the real one
often does more than a file needs: ``bytearray(10**12)`` takes a terabyte.
"""

from __future__ import annotations

import _codecs
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

from .._core.devices import device
from . import _bridge, _names
from ._rebuild import REBUILD, get_layout, rebuild_from_type

BLOCKED = frozenset({"nt", "os", "posix", "subprocess", "sys"})
SafeGlobal = Callable | tuple[Callable, str]
_added: list[SafeGlobal] = []


def add_safe_globals(safe_globals: list[SafeGlobal]) -> None:
    """Let files loaded with ``weights_only=True`` name these functions and classes, call them and set their state.

    Args:
        safe_globals: functions or classes; or pairs of one and the full name that the file has for it.

    Example:
        >>> import fractions, io, tocha
        >>> buffer = io.BytesIO()
        >>> tocha.save(fractions.Fraction(1, 3), buffer)
        >>> with tocha.serialization.safe_globals([fractions.Fraction]):
        ...     _ = buffer.seek(0)
        ...     tocha.load(buffer)
        Fraction(1, 3)
    """
    for item in safe_globals:
        if item not in _added:
            _added.append(item)


def get_safe_globals() -> list[SafeGlobal]:
    """What ``add_safe_globals`` has added."""
    return list(_added)


def clear_safe_globals() -> None:
    """Forget what ``add_safe_globals`` has added."""
    _added.clear()


class safe_globals:
    """Context manager: ``add_safe_globals`` inside the block only.

    Args:
        safe_globals: as for ``add_safe_globals``.
    """

    def __init__(self, safe_globals: list[SafeGlobal]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, *error: object) -> None:
        for item in self.safe_globals:
            if item in _added:
                _added.remove(item)


def added() -> dict[str, Any]:
    """The user's additions by the full name that a file has for them."""
    found = {}
    for item in _added:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise ValueError(f"expected a pair of a function or class and its name, got a tuple of {len(item)}")
            item, path = item
            if type(path) is not str:
                raise TypeError(f"expected the full name of a function or class as a str, got {type(path)}")
            found[_names.canonical(*path.rpartition(".")[::2])] = item
        else:
            name = _names.to_file(item, item.__module__, item.__qualname__)
            found[_names.canonical(*name)] = item
    return found


# ---- what is allowed without being asked


def _ordered_dict(charge: Callable[[int], None], *args: Any) -> OrderedDict:
    return OrderedDict(_pairs(charge, *args))


def _pairs(charge: Callable[[int], None], items: Any = ()) -> Any:
    if not isinstance(items, (list, tuple)):
        raise UnpicklingError(f"expected a list of pairs, got {type(items).__name__}")
    charge(len(items))
    for pair in items:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise UnpicklingError("expected a list of pairs")
        check_key(pair[0])
    return items


def _counter(charge: Callable[[int], None], counts: Any = None) -> Counter:
    if counts is not None and type(counts) is not dict:
        raise UnpicklingError(f"Counter needs a dict, got {type(counts).__name__}")
    charge(len(counts or ()))
    counter: Counter = Counter()
    dict.update(counter, counts or {})
    return counter


def _set_of(kind: type) -> Callable:
    def build(charge: Callable[[int], None], items: Any = ()) -> Any:
        if not isinstance(items, (list, tuple)):
            raise UnpicklingError(f"{kind.__name__} needs a list, got {type(items).__name__}")
        charge(len(items))
        for item in items:
            check_key(item)
        return kind(items)

    return build


def _bytes_of(kind: type) -> Callable:
    def build(charge: Callable[[int], None], data: Any = b"", encoding: Any = None) -> Any:
        if encoding is not None:
            data = _encode(charge, data, encoding)
        if not isinstance(data, (bytes, bytearray)):
            raise UnpicklingError(f"{kind.__name__} needs bytes, got {type(data).__name__}")
        charge(len(data))
        return kind(data)

    return build


def _encode(charge: Callable[[int], None], text: Any, encoding: Any = "latin1") -> bytes:
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise UnpicklingError("bytes may be written as latin-1 text only")
    charge(len(text))
    return text.encode("latin-1")


def _complex(charge: Callable[[int], None], real: Any = 0.0, imag: Any = 0.0) -> complex:
    if not isinstance(real, (int, float)) or not isinstance(imag, (int, float)):
        raise UnpicklingError("complex needs two numbers")
    return complex(real, imag)


def _size(charge: Callable[[int], None], sizes: Any = ()) -> Any:
    from .._core.tensor import Size

    if not isinstance(sizes, (tuple, list)):
        raise UnpicklingError("Size needs a tuple of ints")
    charge(len(sizes))
    if not all([type(n) is int for n in sizes]):
        raise UnpicklingError("Size needs a tuple of ints")
    return Size(sizes)


def _device(charge: Callable[[int], None], kind: Any, index: Any = None) -> device:
    if type(kind) is not str or not (index is None or type(index) is int):
        raise UnpicklingError("device needs a type and an index")
    return device(kind, index)


def _parameter(charge: Callable[[int], None], data: Any, requires_grad: Any = True) -> Any:
    _bridge.require_tensor(data)
    return _bridge.parameter_of(data, bool(requires_grad))


def _tensor_function(function: Any) -> Callable:
    def build(charge: Callable[[int], None], *args: Any) -> Any:
        charge(sum(map(attributes, args)))
        return function(*args)

    return build


def attributes(state: Any) -> int:
    """How many attributes a state sets, which is a dict or a pair of dicts."""
    parts = state if type(state) is tuple and len(state) == 2 else (state,)
    return sum([len(part) for part in parts if isinstance(part, dict)])


def defaults() -> dict[str, tuple[Any, Callable | None]]:
    """Canonical name → (the object, its strict constructor or None where it may only be named)."""
    from .._core.tensor import Size, Tensor
    from ..nn.parameter import Parameter

    table: dict[str, tuple[Any, Callable | None]] = {
        "collections.OrderedDict": (OrderedDict, _ordered_dict),
        "collections.Counter": (Counter, _counter),
        "builtins.set": (set, _set_of(set)),
        "builtins.frozenset": (frozenset, _set_of(frozenset)),
        "builtins.bytearray": (bytearray, _bytes_of(bytearray)),
        "builtins.bytes": (bytes, _bytes_of(bytes)),
        "builtins.complex": (complex, _complex),
        "_codecs.encode": (_codecs.encode, _encode),
        "tocha.Size": (Size, _size),
        "tocha.Tensor": (Tensor, None),
        "tocha.device": (device, _device),
        "tocha.nn.parameter.Parameter": (Parameter, _parameter),
    }
    for function in (*REBUILD.values(), rebuild_from_type, get_layout):
        table[_names.canonical(*_names.to_file(function, "", ""))] = (function, _tensor_function(function))
    return table


def check_key(key: Any) -> None:
    """Refuse a key whose hash would take for ever or overflow the interpreter's stack.

    Python hashes nested tuples recursively, without a limit and without remembering: 300,000 levels crash it, and
    40 levels of pairs that are the same object take a day.
    """
    if type(key) is str or type(key) is int and -(2**64) < key < 2**64:
        return
    todo, left = [key], 64
    while todo:
        value = todo.pop()
        left -= 1
        if isinstance(value, (tuple, frozenset)):
            left -= len(value)
            todo.extend(value if left >= 0 else ())
        elif isinstance(value, complex) or type(value) is int and not -(2**64) < value < 2**64:
            # a million different complex numbers of one hash are easily made; a long integer takes long to hash
            raise UnpicklingError("a key in the file is a complex number or an integer of more than 64 bits")
        if left < 0:
            raise UnpicklingError("a key in the file is nested too deeply or too large to be hashed")
