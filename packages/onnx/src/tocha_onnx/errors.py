"""What an export may raise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["UnsupportedOperatorError", "VerificationError"]


class UnsupportedOperatorError(RuntimeError):
    """The program uses an operator that has no ONNX form; the message names the reason, the module and the line."""


class VerificationError(AssertionError):
    """The exported model does not compute what the program computes.

    Attributes:
        difference: the first operator that differs, as text; None where it could not be narrowed down.
        reproducer: the folder with the model, the inputs and the expected outputs, or None.
    """

    def __init__(self, message: str, difference: Any = None, reproducer: Path | None = None) -> None:
        super().__init__(message)
        self.difference = difference
        self.reproducer = reproducer
