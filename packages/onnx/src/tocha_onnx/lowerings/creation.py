"""New arrays, and copies of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import Array, Builder
from ..registry import lowering, unsupported

unsupported(
    "it draws random numbers, and no other runtime draws PyTorch's: pass them as an input, or call .eval() first",
    "random",
    "sample_dirichlet",
    "standard_gamma",
)
unsupported("gradients of random draws go with the draws, which ONNX has not", "dirichlet_grad", "standard_gamma_grad")
unsupported("an ONNX graph runs on one device: move the model and its inputs there before the export", "transfer")


@lowering("full")
def full(b: Builder, shape: tuple, value: Any, dtype: np.dtype) -> Array:
    return b.full(shape, value, dtype)


@lowering("empty")
def empty(b: Builder, shape: tuple, dtype: np.dtype) -> Array:
    return b.zeros(shape, dtype)


@lowering("arange")
def arange(b: Builder, start: Any, step: Any, length: Any, dtype: np.dtype) -> Array:
    if dtype.kind in "biu":
        steps = b.range(length)
        if not (isinstance(step, int) and step == 1):
            steps = b.Mul(steps, b.scalar(step))
        if not (isinstance(start, int) and start == 0):
            steps = b.Add(steps, b.scalar(start))
        return b.cast(steps, dtype)
    wide = np.dtype(np.float64)
    steps = b.Mul(b.range(length, wide), b.scalar(step, wide))
    return b.cast(b.Add(steps, b.scalar(start, wide)), dtype)


@lowering("eye")
def eye(b: Builder, n: Any, m: Any, dtype: np.dtype) -> Array:
    rows = b.unsqueeze(b.range(n), (1,))
    columns = b.unsqueeze(b.range(m), (0,))
    return b.cast(b.Equal(rows, columns), dtype)


@lowering("alias", "clone", "overwrite")
def clone(b: Builder, x: Array, *_: Any) -> Array:
    return x


@lowering("contiguous")
def contiguous(b: Builder, x: Array, *_: Any) -> Array:
    return x


@lowering("cast")
def cast(b: Builder, x: Array, dtype: np.dtype) -> Array:
    if dtype.kind == "u" and x.is_float:  # a negative number wraps around, as a C++ cast on the way through int64 does
        return b.cast(b.cast(x, np.int64), dtype)
    return b.cast(x, dtype)


@lowering("real", "conj_physical")
def real(b: Builder, x: Array) -> Array:
    return x
