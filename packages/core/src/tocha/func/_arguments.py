"""Which arguments a transform differentiates, and the checks of what functions take and return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.tensor import Tensor
from ._tree import flatten


def _wrapped(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def positions(argnums: Any, count: int) -> tuple[int, ...]:
    """``argnums`` (an int or a tuple of them) as non-negative positions among ``count`` arguments."""
    if isinstance(argnums, int):
        return (_wrapped(argnums, count),)
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    found = tuple([_wrapped(a, count) for a in argnums])
    if not found:
        raise RuntimeError("argnums must be non-empty")
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {found}")
    return found


def replaced(args: Sequence, places: tuple[int, ...], values: Sequence) -> tuple:
    """``args`` with ``values`` at ``places``."""
    out = list(args)
    for place, value in zip(places, values):
        out[place] = value
    return tuple(out)


def split_aux(result: Any, has_aux: bool, api: str) -> tuple[Any, Any]:
    """``(output, aux)`` of what a function returned."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def check_tensors(leaves: Sequence, api: str) -> None:
    """Refuse an empty output, and leaves that are no tensors."""
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise RuntimeError(
            f"{api}: Expected f to be a function that has non-empty output (got output = {list(leaves)})"
        )
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{api}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}")


def check_real(api: str, values: Any, what: str) -> None:
    """Refuse complex tensors among ``values``, which are the ``what`` ("inputs" or "outputs") of ``api``."""
    for i, leaf in enumerate(flatten(values)[0]):
        if isinstance(leaf, Tensor) and leaf._data.dtype.kind == "c":
            raise RuntimeError(
                f"{api}: Expected all {what} to be real but received complex tensor at flattened input idx: {i}"
            )
