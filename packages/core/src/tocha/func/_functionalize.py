"""``functionalize`` and ``debug_unwrap``: names of PyTorch's transforms that have little to do on NumPy arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._core.tensor import Tensor


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """A function with the results of ``func``, without writes in what a tracer sees of it.

    Writes and views are replaced whenever a function is traced, so there is nothing left to transform: called
    eagerly, the result does what ``func`` does, writes to its arguments included, as in PyTorch.

    Args:
        remove: "mutations" or "mutations_and_views".

    Raises:
        RuntimeError: ``remove`` is something else.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced "
            "with their out-of-place equivalents.\n     remove='mutations_and_views': In addition to the above, all "
            "aliasing operators {view} will be replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return wrapper


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor itself: inside a transform tensors are not wrapped here."""
    return tensor
