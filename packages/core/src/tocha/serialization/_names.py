"""Names in files are PyTorch's: how tocha's objects are called there, and what a name there is here.

A class that sits where PyTorch has it (``tocha.nn.modules.linear.Linear``) differs by its first word only. What tocha
keeps in private modules goes by the public name; the functions that rebuild tensors by the names in ``REBUILD``.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from .._core import dtypes
from ._rebuild import REBUILD, get_layout, rebuild_from_type
from ._storage import StorageType, storage_type

# where a public object whose own module is private is looked for, the shortest name first
_PUBLIC = ("tocha", "tocha.nn", "tocha.nn.functional", "tocha.special", "tocha.linalg", "tocha.fft", "tocha.optim")
_FROM_FILE: dict[tuple[str, str], Any] = {
    **{("torch._utils", name): function for name, function in REBUILD.items()},
    ("torch._tensor", "_rebuild_from_type_v2"): rebuild_from_type,
    ("torch.serialization", "_get_layout"): get_layout,
}
_TO_FILE: dict[int, tuple[str, str]] = {id(function): name for name, function in _FROM_FILE.items()}
# modules that PyTorch has moved or that are compiled there
_MOVED = {"torch.tensor": "torch._tensor", "torch._C": "torch", "torch.storage": "torch", "torch._tensor": "torch"}
_ABSENT_DTYPES = ("bits", "complex32", "float4_", "float8_", "qint", "quint")


def to_file(obj: Any, module: str, name: str) -> tuple[str, str]:
    """Module and name that a file has for ``obj``, which is ``name`` in ``module`` here."""
    if isinstance(obj, StorageType):
        return obj.file_name
    if isinstance(obj, dtypes.dtype):
        return "torch", obj.name
    if id(obj) in _TO_FILE:
        return _TO_FILE[id(obj)]
    if not is_ours(module):
        return module, name
    if any([part.startswith("_") for part in module.split(".")]):
        for public in _PUBLIC:
            if getattr(sys.modules.get(public), name, None) is obj:
                module = public
                break
    return "torch" + module[len("tocha") :], name


def is_ours(module: str) -> bool:
    return module == "tocha" or module.startswith("tocha.")


def is_theirs(module: str) -> bool:
    return module == "torch" or module.startswith("torch.")


def canonical(module: str, name: str) -> str:
    """One spelling for a name of either library: tocha's."""
    module = _MOVED.get(module, module)
    return f"{'tocha' + module[len('torch') :] if is_theirs(module) else module}.{name}"


def known(module: str, name: str) -> Any:
    """The tensor function, storage type or dtype of that name, or None: what needs no import to be found."""
    found = _FROM_FILE.get((module, name))
    if found is not None or not is_theirs(module):
        return found
    if name.endswith("Storage") and module in ("torch", "torch.storage", "torch.cuda"):
        try:
            return storage_type(name)
        except KeyError:
            return None
    if module != "torch":
        return None
    if name.startswith(_ABSENT_DTYPES):
        raise RuntimeError(f"the file names dtype {name[:30]}, which tocha does not have")
    return next((dtype for dtype in dtypes.ALL if dtype.name == name), None)


def from_file(module: str, name: str) -> Any:
    """The object that a file calls ``name`` in ``module``; imports the module.

    Raises:
        AttributeError, ImportError: there is none; the message says what of PyTorch tocha lacks.
    """
    found = known(module, name)
    if found is not None:
        return found
    if not is_theirs(module):
        return _resolve(module, name)
    ours = _MOVED.get(module, module)
    try:
        return _resolve("tocha" + ours[len("torch") :], name)
    except (AttributeError, ImportError) as error:
        raise type(error)(f"the file needs {module}.{name}, which tocha does not have") from error


def finds(module: str, name: str, obj: Any) -> bool:
    """Whether ``obj`` is what a file means by that name."""
    try:
        return from_file(module, name) is obj
    except (AttributeError, ImportError):
        return False


def _resolve(module: str, name: str) -> Any:
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found
