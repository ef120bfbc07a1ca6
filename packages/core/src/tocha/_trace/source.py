"""The line of the user's program that is being executed."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import NamedTuple

import numpy as np

__all__ = ["SourceLine", "source_line"]

_TOCHA = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# np.full(size, 0) reaches a symbolic size from a Python frame of NumPy's own: the line that matters is its caller's.
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep


class SourceLine(NamedTuple):
    """Where in the user's program something happened."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


def source_line() -> SourceLine:
    """The innermost frame that belongs neither to tocha nor to NumPy."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_TOCHA, _NUMPY)):
            return SourceLine(file, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back
    return SourceLine("<unknown>", 0, "<unknown>")
