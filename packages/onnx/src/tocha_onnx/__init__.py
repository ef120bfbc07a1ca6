"""ONNX export for tocha: by tracing, with dynamic axes, and checked against onnxruntime before it is believed."""

from __future__ import annotations

from .dimensions import Dim
from .errors import UnsupportedOperatorError, VerificationError
from .export import export
from .program import ONNXProgram
from .registry import Unsupported, lowering, unsupported

__all__ = [
    "Dim", "ONNXProgram", "Unsupported", "UnsupportedOperatorError", "VerificationError", "export", "lowering",
    "unsupported",
]  # fmt: skip
__version__ = "0.1.0"
