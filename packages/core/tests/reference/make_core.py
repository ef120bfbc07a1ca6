"""Stored reference values for tests of the core: promotion, indexing, errors. Run with PyTorch installed:

    python make_core.py
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import torch

DATA = Path(__file__).parent.parent / "data"
DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
    "complex128",
]  # fmt: skip
SCALARS = {"True": True, "3": 3, "2.5": 2.5, "1j": 1j}
OPERATORS = [
    "add", "sub", "mul", "div", "floor_divide", "remainder", "pow", "eq", "lt", "maximum", "bitwise_and",
    "logical_or", "atan2",
]  # fmt: skip


def operand(dtype: str, zero: bool) -> torch.Tensor:
    return torch.ones((), dtype=getattr(torch, dtype)) if zero else torch.ones(2, dtype=getattr(torch, dtype))


def outcome(fn, *args) -> str:
    try:
        return str(fn(*args).dtype).removeprefix("torch.")
    except Exception as error:
        return type(error).__name__


def promotion() -> dict[str, str]:
    """``left kind,right kind,operator`` -> dtype of the result, or the exception."""
    table = {}
    kinds = [f"{d}{z}" for d in DTYPES for z in ("", "/0")]
    for a, b in itertools.product(kinds, kinds):
        x, y = [operand(k.removesuffix("/0"), k.endswith("/0")) for k in (a, b)]
        table[f"{a},{b},result_type"] = str(torch.result_type(x, y)).removeprefix("torch.")
        if a.endswith("/0") and b.endswith("/0"):
            continue
        for name in OPERATORS:
            table[f"{a},{b},{name}"] = outcome(getattr(torch, name), x, y)
        for name in ("add_", "mul_", "div_"):
            table[f"{a},{b},{name}"] = outcome(
                getattr(x.clone(), name), y if not a.endswith("/0") else y.sum().to(y.dtype)
            )
    for a, (text, value) in itertools.product(kinds, SCALARS.items()):
        x = operand(a.removesuffix("/0"), a.endswith("/0"))
        table[f"{a},{text},result_type"] = str(torch.result_type(x, value)).removeprefix("torch.")
        for name in OPERATORS:
            if name not in ("maximum", "logical_or", "atan2"):
                table[f"{a},{text},{name}"] = outcome(getattr(torch, name), x, value)
    return table


if __name__ == "__main__":
    torch.set_num_threads(1)
    (DATA / "promotion.json").write_text(json.dumps(promotion(), separators=(",", ":"), sort_keys=True))
