"""Arrays without memory: a shape and a dtype. The ``meta`` device is made of them, and the tracer's values extend
them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .devices import META, device
from .record import ABSTRACT, Op


class Abstract:
    """A shape (with symbolic sizes, perhaps) and a NumPy dtype. Operators are attached beside the tensor's."""

    __slots__ = ("shape", "dtype", "__weakref__")
    records = False
    base = None
    __array_ufunc__ = None

    def __init__(self, shape: tuple, dtype: np.dtype) -> None:
        self.shape, self.dtype = tuple(shape), dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> Any:
        """The number of elements, as of an array; symbolic where a size is."""
        n: Any = 1
        for d in self.shape:
            n = n * d
        return n

    @property
    def device(self) -> device:
        """``meta``, unless a subclass stands for values elsewhere."""
        return META

    @property
    def strides(self) -> tuple:
        """Bytes from one element to the next in each dimension, of a contiguous array."""
        out, step = [], self.dtype.itemsize
        for d in reversed(self.shape):
            out.append(step)
            step = step * d
        return tuple(out[::-1])

    def __len__(self) -> int:
        return self.shape[0]

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape}, {self.dtype})"


class Meta(Abstract):
    """A raw array of the ``meta`` device."""

    __slots__ = ()

    def copy(self) -> Meta:
        """Another array without memory."""
        return Meta(self.shape, self.dtype)

    def astype(self, dtype: Any) -> Meta:
        """The same shape in another dtype."""
        return Meta(self.shape, np.dtype(dtype))

    def __setitem__(self, index: Any, value: Any) -> None:
        pass  # there is no memory to write to


def no_rule(op: Op) -> NotImplementedError:
    return NotImplementedError(
        f"operator {op.name!r} has no shape rule: it runs on real arrays only, not on meta or traced values"
    )


def specs(op: Op, args: tuple) -> tuple[list, list]:
    """Shapes and dtypes of an operator's outputs, and its aux values (specs or constants)."""
    if op.infer is None:
        raise no_rule(op)
    result = op.infer(*args)
    if isinstance(result, tuple):
        result = [result]
    if not op.aux:
        return list(result), []
    if len(result) == (op.outputs or len(result)):  # a rule without aux specs: the gradient recomputes
        return list(result), [None] * op.aux
    return list(result[: -op.aux]), list(result[-op.aux :])


def _meta_kernel(op: Op) -> Callable:
    def run(*args: Any) -> Any:
        outs, aux = specs(op, args)
        made = [Meta(s, d) for s, d in outs]
        kept = [Meta(*a) if isinstance(a, tuple) else a for a in aux]
        if op.outputs == 1 and not op.aux:
            return made[0]
        return (*made, *kept)

    return run


ABSTRACT[Meta] = _meta_kernel
