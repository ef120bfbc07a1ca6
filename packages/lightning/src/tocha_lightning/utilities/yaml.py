"""Reading and writing ``hparams.yaml``."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping
from enum import Enum
from typing import Any

from tocha import Tensor
from tocha_lightning.utilities.files import write_atomically


def plain(value: Any) -> Any:
    """`value` with everything that YAML has no notation for written as text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Namespace):
        return plain(vars(value))
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, Tensor) and value.numel() == 1:
        return value.item()
    if isinstance(value, type) or callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return str(value)


def save_yaml(path: str | os.PathLike[str], data: Mapping[str, Any]) -> None:
    """Write `data` as YAML, atomically."""
    import yaml

    write_atomically(path, lambda file: file.write(yaml.safe_dump(plain(data), sort_keys=False).encode()))


def load_yaml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a YAML file of plain values. Code in it is refused."""
    import yaml

    with open(path, encoding="utf-8") as file:
        loaded = yaml.safe_load(file) or {}
    if not isinstance(loaded, dict):
        raise ValueError(f"Expected a mapping in {os.fspath(path)!r}, found {type(loaded).__name__}.")
    return loaded
