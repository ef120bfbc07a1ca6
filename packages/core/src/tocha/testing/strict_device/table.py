"""What CuPy offers, by module, name and parameter: the table that tests/reference/make_cupy_table.py writes."""

from __future__ import annotations

import functools
import inspect
import json
from importlib import resources
from typing import Any

__all__ = ["VERSION", "class_table", "module_table", "signature"]


@functools.cache
def _table() -> dict[str, Any]:
    return json.loads(resources.files(__package__).joinpath("cupy_table.json").read_text())


VERSION: str = _table()["version"]


def module_table(name: str) -> dict[str, Any]:
    """`functions` (name to parameters), `ufuncs` (name to types) and `others` (names) of one of CuPy's modules."""
    return _table()["modules"][name]


def class_table(name: str) -> dict[str, Any]:
    """`methods` (name to parameters) and `attributes` (names) of one of CuPy's classes."""
    return _table()["classes"][name]


@functools.cache
def signature(text: str) -> inspect.Signature:
    """The signature written as `a, /, axis=, *, dtype=` in the table."""
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters: list[inspect.Parameter] = []
    for part in filter(None, text.split(", ")):
        if part == "/":
            parameters = [parameter.replace(kind=inspect.Parameter.POSITIONAL_ONLY) for parameter in parameters]
        elif part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
        elif part.startswith("**"):
            parameters.append(inspect.Parameter(part[2:], inspect.Parameter.VAR_KEYWORD))
        elif part.startswith("*"):
            parameters.append(inspect.Parameter(part[1:], inspect.Parameter.VAR_POSITIONAL))
            kind = inspect.Parameter.KEYWORD_ONLY
        else:
            default = None if part.endswith("=") else inspect.Parameter.empty
            parameters.append(inspect.Parameter(part.rstrip("="), kind, default=default))
    return inspect.Signature(parameters)
