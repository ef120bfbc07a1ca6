"""Writes the table of what CuPy offers, by introspection of an installed CuPy (no GPU is needed).

    pip install "cupy-cuda12x[ctk]==14.2.*" scipy ml_dtypes
    python packages/core/tests/reference/make_cupy_table.py

Without the CUDA libraries that `[ctk]` brings, cupyx.scipy.linalg does not import and the script stops.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[2] / "src/tocha/testing/strict_device/cupy_table.json"
MODULES = (
    "cupy",
    "cupy.linalg",
    "cupy.fft",
    "cupy.random",
    "cupy.lib.stride_tricks",
    "cupyx",
    "cupyx.scipy.special",
    "cupyx.scipy.linalg",
    "cupyx.scipy.ndimage",
)
CLASSES = {"ndarray": ("cupy", "ndarray"), "RandomState": ("cupy.random", "RandomState")}
CLASSES["Generator"] = ("cupy.random", "Generator")
# What CuPy takes through *args and **kwargs, from its documentation.
SIGNATURES = {
    "cupy.einsum": "*operands, dtype=, optimize=",
    "cupy.meshgrid": "*xi, copy=, sparse=, indexing=",
    "cupy.matmul": "x1, x2, /, out=, *, casting=, order=, dtype=, axes=, axis=, keepdims=",
    "cupy.linalg.matmul": "x1, x2, /, out=, *, casting=, order=, dtype=, axes=, axis=, keepdims=",
    "cupy.promote_types": "type1, type2",
}
_MARKS = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def parameters(signature: inspect.Signature) -> str:
    """`a, /, axis=, *, dtype=`: the names, "=" after those with a default."""
    parts: list[str] = []
    previous = None
    for parameter in signature.parameters.values():
        kind = parameter.kind
        if previous is parameter.POSITIONAL_ONLY and kind is not previous:
            parts.append("/")
        if kind is parameter.KEYWORD_ONLY and previous not in (kind, parameter.VAR_POSITIONAL):
            parts.append("*")
        default = "" if parameter.default is parameter.empty else "="
        parts.append(_MARKS.get(kind, "") + parameter.name + default)
        previous = kind
    if previous is inspect.Parameter.POSITIONAL_ONLY:
        parts.append("/")
    return ", ".join(parts)


def signature_of(path: str, function: Any) -> str | None:
    """The parameters of a function, from its signature or from the first line of its docstring."""
    if path in SIGNATURES:
        return SIGNATURES[path]
    try:
        return parameters(inspect.signature(function))
    except (TypeError, ValueError):
        name = path.rpartition(".")[2]
        line = re.match(rf"(?:\w+\.)?{name}\((.*?)\)(?: ->.*)?$", (function.__doc__ or "").partition("\n")[0])
        if line is None:
            return None
        # Compiled functions print C types before some names: "int axis=-1".
        bare = [part if part in "*/" else part.split("=")[0].split()[-1] + "=" * ("=" in part)
                for part in line[1].split(", ") if part]  # fmt: skip
        return ", ".join(bare)


def describe_module(name: str) -> dict[str, Any]:
    import cupy

    module = importlib.import_module(name)
    functions: dict[str, str] = {}
    ufuncs: dict[str, dict[str, str]] = {}
    others: list[str] = []
    for attribute in sorted(vars(module) if name == "cupy" else dir(module)):
        value = getattr(module, attribute)
        if attribute.startswith("_") or attribute == "annotations" or inspect.ismodule(value) and name != "cupy":
            continue
        if isinstance(value, cupy.ufunc):
            ufuncs[attribute] = {"types": " ".join(value.types)}
            if value._scatter_op is not None:
                ufuncs[attribute]["at"] = value._scatter_op
            continue
        plain = isinstance(value, type) or not callable(value)
        signature = None if plain else signature_of(f"{name}.{attribute}", value)
        if signature is None:
            others.append(attribute)
        else:
            functions[attribute] = signature
    return {"functions": functions, "ufuncs": ufuncs, "others": " ".join(others)}


def describe_class(module: str, name: str) -> dict[str, Any]:
    cls = getattr(importlib.import_module(module), name)
    methods: dict[str, str] = {}
    attributes: list[str] = []
    for attribute in sorted(dir(cls)):
        value = getattr(cls, attribute)
        if attribute.startswith("_") and not (attribute.startswith("__") and name == "ndarray"):
            continue
        if attribute.startswith("__") or not callable(value):
            attributes.append(attribute)
            continue
        signature = signature_of(f"{name}.{attribute}", value) or "*args, **kwargs"
        methods[attribute] = signature.removeprefix("self").removeprefix(", ")
    return {"methods": methods, "attributes": " ".join(attributes)}


def make_table() -> dict[str, Any]:
    import cupy

    return {
        "version": cupy.__version__,
        "modules": {name: describe_module(name) for name in MODULES},
        "classes": {name: describe_class(*place) for name, place in CLASSES.items()},
    }


def main() -> None:
    table = make_table()
    TABLE.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n")
    print(f"{TABLE}: CuPy {table['version']}, {TABLE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
