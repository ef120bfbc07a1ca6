"""Broadcasting: result shapes (symbolic sizes included) and the sum that undoes it in a gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# set by the operators' files, which import this one
operators: dict[str, Any] = {}


def same_shape(a: Sequence, b: Sequence) -> bool:
    """Equality that compares lengths first, so that a symbolic size is not asked needlessly."""
    return len(a) == len(b) and all([p is q or p == q for p, q in zip(a, b)])


def _is_one(n: Any) -> bool:
    return type(n) is int and n == 1


def broadcast_two(a: Sequence, b: Sequence) -> tuple:
    n = max(len(a), len(b))
    a, b = (1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b)
    out = []
    for i, (p, q) in enumerate(zip(a, b)):
        if p is q or _is_one(q):
            out.append(p)
        elif _is_one(p):
            out.append(q)
        elif p == q or q == 1:
            out.append(p)
        elif p == 1:
            out.append(q)
        else:
            raise RuntimeError(
                f"The size of tensor a ({p}) must match the size of tensor b ({q}) at non-singleton dimension {i}"
            )
    return tuple(out)


def broadcast_shapes(*shapes: Any) -> tuple:
    """The shape that all ``shapes`` broadcast to."""
    result: tuple = ()
    for shape in shapes:
        result = broadcast_two(result, (shape,) if isinstance(shape, int) else shape)
    return result


def reduce_to(g: Any, shape: Sequence) -> Any:
    """Sum ``g`` over the dimensions that broadcasting added to ``shape``."""
    have = g.shape
    if len(have) == len(shape) and (have == shape or same_shape(have, shape)):
        return g
    extra = len(have) - len(shape)
    dims = tuple(range(extra)) + tuple(
        [i + extra for i, n in enumerate(shape) if _is_one(n) and not _is_one(have[i + extra])]
    )
    if dims:
        g = operators["sum"](g, dims, True)
    return operators["view"](g, tuple(shape)) if extra else g
