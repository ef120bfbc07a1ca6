"""What this package adds to tocha's plugins: the exporter, its command, and a line in ``tocha doctor``."""

from __future__ import annotations

from tocha.hookspecs import Register
from tocha.plugins import hookimpl


@hookimpl
def tocha_register_exporters(register: Register) -> None:
    register("onnx", "tocha_onnx:export")


@hookimpl
def tocha_register_commands(register: Register) -> None:
    register("onnx", "tocha_onnx._command:onnx")


@hookimpl
def tocha_register_doctor_checks(register: Register) -> None:
    register("onnx", "tocha_onnx._command:doctor")
