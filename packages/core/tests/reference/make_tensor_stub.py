"""Writes ``tocha/_core/attached.pyi``: what the operators attach to Tensor at import, for type checkers and editors.

Run it after a method was added or its signature changed: ``python packages/core/tests/reference/make_tensor_stub.py``.
"""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import tocha
from tocha._core import tensor as tensor_module

PLACE = Path(tensor_module.__file__).with_name("attached.pyi")
HEAD = '''"""What the operators attach to Tensor. Written by tests/reference/make_tensor_stub.py."""

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from .tensor import Tensor

class Attached:
'''
# Tensor has methods of these names, which hide the types inside of the class
HIDDEN = re.compile(r"\b(bool|complex|float|int)\b")
KNOWN = {"Any", "Callable", "None", "Tensor", "builtins", "dict", "list", "np", "object", "str",
         "tuple"}  # fmt: skip


def annotation(given: Any) -> str:
    """An annotation in the stub's own names; Any where it needs others."""
    if given is inspect.Parameter.empty:
        return "Any"
    text = HIDDEN.sub(r"builtins.\1", given if isinstance(given, str) else inspect.formatannotation(given))
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    return text if names <= KNOWN else "Any"


def default(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, bool | int | float | str) else "..."


def parameters(signature: inspect.Signature, in_place: bool) -> list[str]:
    """As written in the stub, with the first one as ``self``; a method in place takes no ``out``."""
    written, star, positional_only = ["self"], False, False
    for p in list(signature.parameters.values())[1:]:
        if p.name == "out" and in_place:
            continue
        if positional_only and p.kind is not p.POSITIONAL_ONLY:
            written.append("/")
        positional_only = p.kind is p.POSITIONAL_ONLY
        if p.kind is p.KEYWORD_ONLY and not star:
            written.append("*")
        star |= p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)
        text = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + f"{p.name}: {annotation(p.annotation)}"
        written.append(text if p.default is p.empty else f"{text} = {default(p.default)}")
    return [*written, "/"] if positional_only else written


def is_in_place(name: str) -> bool:
    if name.startswith("__"):
        return name.startswith("__i") and name not in ("__int__", "__iter__", "__index__", "__invert__")
    return name.endswith("_")


def result(name: str, fn: Any, signature: inspect.Signature) -> str:
    family = getattr(getattr(fn, "op", None), "family", None)
    if is_in_place(name) or family in ("unary", "binary"):
        return "Tensor"
    written = annotation(signature.return_annotation)
    arithmetic = name.startswith("__") and list(signature.parameters) == ["a", "b"]
    return "Tensor" if written == "Any" and arithmetic else written


def wrapped(name: str, arguments: list[str], returns: str) -> str:
    ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
    line = f"    def {name}({', '.join(arguments)}) -> {returns}: ...{ignore}"
    if len(line) <= 120:
        return line
    middle, current = [], "       "
    for argument in arguments:
        if len(current) + len(argument) + 2 > 120:
            middle.append(current)
            current = "       "
        current += f" {argument},"
    return "\n".join([f"    def {name}(", *middle, current, f"    ) -> {returns}: ..."])


def stub() -> str:
    tree = ast.parse(Path(tensor_module.__file__).read_text(encoding="utf-8"))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    by_hand = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    lines = []
    for name, value in sorted(vars(tocha.Tensor).items()):
        if name in by_hand:
            continue
        if isinstance(value, property):
            returns = annotation(inspect.signature(value.fget).return_annotation)
            lines.append(f"    @property\n    def {name}(self) -> {returns}: ...")
            if value.fset:
                lines.append(f"    @{name}.setter\n    def {name}(self, value: Any) -> None: ...")
        elif inspect.isfunction(value):
            signature = inspect.signature(value)
            lines.append(wrapped(name, parameters(signature, is_in_place(name)), result(name, value, signature)))
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PLACE.write_text(stub(), encoding="utf-8")
