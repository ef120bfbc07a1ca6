"""The cast between dtypes."""

from __future__ import annotations

from typing import Any

from .general_templates import build_single
from .node import Node
from .record import Op


def _cast_kernel(xp: Any, x: Any, dtype: Any) -> tuple:
    if x.dtype.kind == "c" and dtype.kind != "c":
        return (x != 0 if dtype.kind == "b" else x.real.astype(dtype)), x.dtype
    if dtype.kind in "iu" and x.dtype.kind == "V":  # ml_dtypes casts through float32 only
        return x.astype("float32").astype(dtype), x.dtype
    return x.astype(dtype), x.dtype


def _cast_rule(n: Node, g: Any) -> tuple:
    source = n.aux[0] if n.aux is not None else n.extra["source"]
    return (cast(g, source),)


_op = Op("cast", _cast_kernel, _cast_rule, lambda x, dtype: [(x.shape, dtype), x.dtype], aux=1, linear=True)
_op.backward = _cast_rule
cast = _op.call = build_single(_op)
