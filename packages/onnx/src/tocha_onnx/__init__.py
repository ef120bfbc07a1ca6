"""ONNX export for tocha: by tracing, with dynamic axes, and checked against onnxruntime before it is believed.

``onnx`` and ``onnxruntime`` are imported with the first name that needs them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dimensions import Dim
    from .errors import UnsupportedOperatorError, VerificationError
    from .exporting import export, export_training
    from .program import ONNXProgram
    from .quantization import Quantized, quantize_dynamic, quantize_static
    from .registry import Unsupported, lowering, unsupported

__all__ = [
    "Dim",
    "ONNXProgram",
    "Quantized",
    "Unsupported",
    "UnsupportedOperatorError",
    "VerificationError",
    "export",
    "export_training",
    "lowering",
    "quantize_dynamic",
    "quantize_static",
    "unsupported",
]
__version__ = "0.1.0"

_PLACES = {
    "Dim": "dimensions",
    "ONNXProgram": "program",
    "Quantized": "quantization",
    "Unsupported": "registry",
    "UnsupportedOperatorError": "errors",
    "VerificationError": "errors",
    "export": "exporting",
    "export_training": "exporting",
    "lowering": "registry",
    "quantize_dynamic": "quantization",
    "quantize_static": "quantization",
    "unsupported": "registry",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'tocha_onnx' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"tocha_onnx.{_PLACES[name]}"), name)
    globals()[name] = found
    return found
