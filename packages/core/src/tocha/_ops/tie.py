"""A value that counts as depending on another one.

PyTorch computes some gradients from the operator's input although they do not depend on it (a convolution's bias
gradient, an average pool's gradient). In a graph of gradients they then require grad. ``tied`` gives ours the same
standing: with ``create_graph=True`` such a gradient can be differentiated once more, and the result is zero.
"""

from __future__ import annotations

from typing import Any

from .._core.families import operator
from .._core.tensor import Tensor

_tie = operator(
    "tie", lambda xp, y, x: y, lambda n, g: (g, None), lambda y, x: (y.shape, y.dtype), arity=2, linear=True
)


def tied(y: Any, x: Any) -> Any:
    """``y``, recorded as a function of ``x`` (whose gradient is nothing) where a graph of gradients is built."""
    return _tie(y, x) if isinstance(y, Tensor) and isinstance(x, Tensor) else y
