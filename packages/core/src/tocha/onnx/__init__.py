"""ONNX export. The exporter is a plugin: install ``tocha-onnx``; this module finds it and passes everything on.

>>> import tocha
>>> callable(tocha.onnx.export)
True
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["export"]

_OF_THE_EXPORTER = (
    "Dim", "ONNXProgram", "Unsupported", "UnsupportedOperatorError", "VerificationError", "export_training", "lowering",
    "quantize_dynamic", "quantize_static",
)  # fmt: skip


def _exporter() -> Any:
    from tocha import plugins

    try:
        return plugins.get("exporters", "onnx")
    except LookupError as error:
        raise ImportError(f"tocha.onnx needs the exporter: pip install tocha-onnx ({error})") from None


def export(model: Any, args: Any = (), path: Any = None, **options: Any) -> Any:
    """Write a module, or a function of tensors, as an ONNX model, and check it against onnxruntime before returning.

    Args:
        model: an ``nn.Module`` or a callable.
        args: the positional arguments of an example call, as a tuple (or a single tensor).
        path: where to write the file; None keeps the model in memory.
        options: see ``tocha_onnx.export``: ``kwargs``, ``input_names``, ``output_names``, ``dynamic_shapes`` or
            ``dynamic_axes``, ``opset_version``, ``external_data``, ``verify``, ``report``, ``do_constant_folding``,
            ``metadata``.

    Returns:
        An ``ONNXProgram``: ``.model``, ``.save(path)``, ``.verify()``, ``.report()``; call it to run it in onnxruntime.

    Raises:
        ImportError: ``tocha-onnx`` is not installed.
    """
    return _exporter()(model, args, path, **options)


def __getattr__(name: str) -> Any:
    if name in _OF_THE_EXPORTER:
        package = importlib.import_module(_exporter().__module__.partition(".")[0])
        return getattr(package, name)
    raise AttributeError(f"module 'tocha.onnx' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_OF_THE_EXPORTER])
