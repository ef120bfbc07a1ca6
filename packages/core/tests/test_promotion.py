"""Every pair of dtypes, as tensors, 0-d tensors and Python numbers: the dtype that PyTorch gives
(``reference/make_core.py``)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tocha

TABLE = json.loads((Path(__file__).parent / "data" / "promotion.json").read_text())
SCALARS = {"True": True, "3": 3, "2.5": 2.5, "1j": 1j}
NAMES = sorted({key.split(",")[2] for key in TABLE})


def operand(kind: str):
    if kind in SCALARS:
        return SCALARS[kind]
    dtype = getattr(tocha, kind.removesuffix("/0"))
    return tocha.ones((), dtype=dtype) if kind.endswith("/0") else tocha.ones(2, dtype=dtype)


def outcome(a: str, b: str, name: str) -> str:
    x, y = operand(a), operand(b)
    try:
        if name == "result_type":
            return str(tocha.result_type(x, y)).removeprefix("tocha.")
        if name.endswith("_"):
            result = getattr(x, name)(y if not a.endswith("/0") else y.sum().to(y.dtype))
        else:
            result = getattr(tocha, name)(x, y)
        return str(result.dtype).removeprefix("tocha.")
    except Exception as error:
        return type(error).__name__


def _half_complex(a: str, b: str) -> bool:
    """NumPy has no complex numbers of half precision: complex64 stands for them, listed in docs/compatibility.md."""
    return "float16" in (a.removesuffix("/0"), b.removesuffix("/0")) and any(
        "complex" in k or k == "1j" for k in (a, b)
    )


@pytest.mark.parametrize("name", NAMES)
def test_promotion(name: str) -> None:
    rows = [key.split(",")[:2] for key in TABLE if key.endswith(f",{name}")]
    rows = [(a, b) for a, b in rows if not _half_complex(a, b)]
    wrong = []
    for a, b in rows:
        got, expected = outcome(a, b, name), TABLE[f"{a},{b},{name}"]
        if got != expected:
            wrong.append(f"{a} {name} {b}: {got}, expected {expected}")
    assert not wrong, f"{len(wrong)} of {len(rows)}: " + "; ".join(wrong[:12])
