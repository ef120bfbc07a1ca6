"""ONNX export for tocha: by tracing, with dynamic axes, and checked against onnxruntime before it is believed.

``onnx`` and ``onnxruntime`` are imported with the first name that needs them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dimensions import Dim
    from .errors import UnsupportedOperatorError, VerificationError
    from .exporting import export
    from .program import ONNXProgram
    from .registry import Unsupported, lowering, unsupported

__all__ = [
    "Dim",
    "ONNXProgram",
    "Unsupported",
    "UnsupportedOperatorError",
    "VerificationError",
    "export",
    "lowering",
    "unsupported",
]
__version__ = "0.1.0"

_PLACES = {
    "Dim": "dimensions",
    "ONNXProgram": "program",
    "Unsupported": "registry",
    "UnsupportedOperatorError": "errors",
    "VerificationError": "errors",
    "export": "exporting",
    "lowering": "registry",
    "unsupported": "registry",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'tocha_onnx' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"tocha_onnx.{_PLACES[name]}"), name)
    globals()[name] = found
    return found
