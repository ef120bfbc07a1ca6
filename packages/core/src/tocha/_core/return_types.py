"""Named tuples that print as PyTorch's ``torch.return_types``."""

from __future__ import annotations

from collections import namedtuple
from typing import Any


def named(name: str, *fields: str) -> Any:
    """A named tuple type for the results of the function ``name``."""
    base = namedtuple(name, fields)  # type: ignore[misc]

    def __repr__(self: Any) -> str:
        parts = ",\n".join(f"{f}={v!r}" for f, v in zip(fields, self))
        return f"tocha.return_types.{name}(\n{parts})"

    made = type(name, (base,), {"__slots__": (), "__repr__": __repr__, "__module__": __name__})
    globals()[name] = made  # pickle finds it by name
    return made
