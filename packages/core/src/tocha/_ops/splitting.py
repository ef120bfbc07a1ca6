"""Parts of a tensor: split, chunk, unbind, narrow, select, and views along diagonals and windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.families import method, operator
from .._core.grad_mode import recording
from .._core.node import Node, next_sequence, pick
from .._core.record import ABSTRACT, Op
from .._core.templates import instrument
from .._core.tensor import MULTI_VIEW, Tensor
from .._core.views import edge
from .constants import zeros_as
from .dims import wrap_dim
from .indexing import slice_index
from .movement import cat_op

__all__ = ["chunk", "diagonal", "dsplit", "hsplit", "narrow", "narrow_copy", "select", "split", "split_with_sizes",
           "split_copy",
           "split_with_sizes_copy", "tensor_split", "unbind", "unbind_copy", "unsafe_chunk", "unsafe_split",
           "unsafe_split_with_sizes", "vsplit"]  # fmt: skip

# ---------------------------------------------------------------- split: one node for all the parts


def _split_rule(n: Any, g: Any) -> tuple:
    dim, sizes = n.attrs
    some = next(iter(g.values()))
    parts = []
    for i, size in enumerate(sizes):
        part = g.get(i)
        if part is None:
            shape = tuple([size if d == dim else s for d, s in enumerate(n.shape)])
            part = _zeros(some, shape)
        parts.append(part)
    return (cat_op(tuple(parts), dim, tuple(sizes)),)


def _zeros(like: Any, shape: tuple) -> Any:
    """Zeros of ``shape`` and of the kind that ``like`` is."""
    if isinstance(like, Tensor):
        return like.new_zeros(shape)
    if type(like) is np.ndarray:
        return np.zeros(shape, like.dtype)
    zero = zeros_as(like)
    from .reduction import sum_dims

    return operators["expand"](operators["view"](sum_dims(zero, None, False), (1,) * len(shape)), shape)


def _split_kernel(xp: Any, x: Any, dim: int, sizes: tuple) -> tuple:
    parts, start = [], 0
    for size in sizes:
        parts.append(x[(slice(None),) * dim + (slice(start, start + size),)])
        start += size
    return tuple(parts)


def _split_infer(x: Any, dim: int, sizes: tuple) -> list:
    return [(tuple([size if d == dim else s for d, s in enumerate(x.shape)]), x.dtype) for size in sizes]


_split = Op("split", _split_kernel, _split_rule, _split_infer, outputs=0, linear=True)
_split.backward = _split_rule


def split_at(input: Tensor, dim: int, sizes: tuple) -> tuple[Tensor, ...]:
    """Views of consecutive parts of ``sizes`` along ``dim``, with one node behind them all."""
    node = None
    if recording() and input._flags:
        e = edge(input)
        if e is not None:
            node = Node()
            node.op, node.edges, node.attrs, node.saved, node.aux, node.counters = (
                _split,
                (e,),
                (dim, sizes),
                (),
                None,
                None,
            )
            node.shape, node.seq = input._data.shape, next_sequence()
            mode = recording()
            if mode is not True:
                instrument(node, mode)
    parts, start = [], 0
    from .._core.grad_mode import reset_mode, set_mode

    token = set_mode(False)
    try:
        for size in sizes:
            parts.append(slice_index(input, (slice(None),) * dim + (slice(start, start + size),)))
            start = start + size
    finally:
        reset_mode(token)
    for i, part in enumerate(parts):
        if node is not None:
            part._node = pick(node, i)
            part._flags |= 1
        part._flags |= MULTI_VIEW
    return tuple(parts)


def split(
    tensor: Tensor, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None
) -> tuple[Tensor, ...]:
    """Views of consecutive parts along ``dim``: of one size (the last may be smaller), or of the given sizes.

    Example:
        >>> import tocha
        >>> [p.tolist() for p in tocha.arange(5).split(2)]
        [[0, 1], [2, 3], [4]]
    """
    size = split_size if split_size_or_sections is None else split_size_or_sections
    dim = _dim_of(tensor, dim, "split")
    if isinstance(size, (list, tuple)):
        return split_with_sizes(tensor, size, dim)
    total = tensor._data.shape[dim]
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0:
        if total != 0:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {total}")
        return split_at(tensor, dim, (0,))
    count = max(-(-total // size), 1) if type(total) is int else int(-(-total // size))
    sizes = [size] * count
    sizes[-1] = total - size * (count - 1)
    return split_at(tensor, dim, tuple(sizes))


def _dim_of(x: Tensor, dim: int, name: str) -> int:
    if not x._data.shape:
        raise RuntimeError(f"{name} expects at least a 1-dimensional tensor")
    return wrap_dim(dim, len(x._data.shape))


def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive parts of the given sizes along ``dim``."""
    dim = _dim_of(input, dim, "split")
    total: Any = 0
    for s in split_sizes:
        if s < 0:
            raise RuntimeError(
                "split_with_sizes expects split_sizes have only non-negative entries, but got "
                f"split_sizes={list(split_sizes)}"
            )
        total = total + s
    if not (total == input._data.shape[dim]):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {input._data.shape[dim]} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={list(split_sizes)}"
        )
    return split_at(input, dim, tuple(split_sizes))


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` views of consecutive parts of equal size along ``dim`` (the last may be smaller)."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = _dim_of(input, dim, "chunk")
    total = input._data.shape[dim]
    if type(total) is int and total == 0:
        return split_at(input, dim, (0,) * chunks)
    size = (total + chunks - 1) // chunks
    if type(total) is not int and total % chunks == 0:
        return split_at(input, dim, (total // chunks,) * chunks)
    return split(input, size, dim)


def tensor_split(
    input: Tensor, indices_or_sections: Any, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> tuple[Tensor, ...]:
    """Views along ``dim``: that many parts of nearly equal size, or the parts between the given indices."""
    where = next(v for v in (indices_or_sections, indices, sections) if v is not None)
    dim = _dim_of(input, dim, "tensor_split")
    total = input._data.shape[dim]
    if isinstance(where, Tensor):
        where = where.tolist()
    if isinstance(where, int):
        if where <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {where}")
        small, larger = divmod(total, where)
        return split_at(input, dim, tuple([small + 1] * larger + [small] * (where - larger)))
    parts, start = [], 0
    for stop in (*where, None):
        parts.append(slice_index(input, (slice(None),) * dim + (slice(start, stop),)))
        start = stop
    return tuple(parts)


def _fixed_split(input: Tensor, where: Any, dim: int, name: str, least: int) -> tuple[Tensor, ...]:
    if len(input._data.shape) < least:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension{'s' if least > 1 else ''}, but got a "
            f"tensor with {len(input._data.shape)} dimensions!"
        )
    if isinstance(where, int) and (where == 0 or input._data.shape[dim] % where):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
            f"{input._data.shape[dim]} is not divisible by the split_size {where}!"
        )
    return tensor_split(input, where, dim)


def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """``tensor_split`` along columns (dim 1, of a 1-d tensor dim 0)."""
    return _fixed_split(input, indices_or_sections, 0 if len(input._data.shape) == 1 else 1, "hsplit", 1)


def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """``tensor_split`` along rows (dim 0)."""
    return _fixed_split(input, indices_or_sections, 0, "vsplit", 2)


def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """``tensor_split`` along depth (dim 2)."""
    return _fixed_split(input, indices_or_sections, 2, "dsplit", 3)


def select(input: Tensor, dim: int, index: Any) -> Tensor:
    """The slice ``index`` of ``dim``, a view without that dimension."""
    shape = input._data.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(shape))
    if isinstance(index, Tensor):
        index = index.item()
    n = shape[dim]
    if type(n) is int and type(index) is int and not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return slice_index(input, (slice(None),) * dim + (index, Ellipsis))


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along ``dim``, views without that dimension."""
    dim = wrap_dim(dim, len(input._data.shape))
    if not input._data.shape:
        raise RuntimeError("Dimension specified as 0 but tensor has no dimensions")
    return tuple([select(input, dim, i) for i in range(input._data.shape[dim])])


def _narrow_traced(input: Tensor, dim: int, start: Tensor, length: Any) -> Tensor:
    """``narrow`` from a place that only the values give: a copy, by index."""
    from .creation import arange

    n = input._data.shape[dim]
    first = operators["where"](start < 0, start + n, start)
    index = first.reshape(1) + arange(length, dtype=start.dtype)
    return operators["index"]((input, index), (dim,))


def narrow(input: Tensor, dim: int, start: Any, length: Any) -> Tensor:
    """``length`` slices of ``dim`` from ``start``, as a view."""
    dim = _dim_of(input, dim, "narrow()")
    if isinstance(start, Tensor):
        if type(start._data) in ABSTRACT:
            return _narrow_traced(input, dim, start, length)
        start = start.item()
    n = input._data.shape[dim]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if start < 0:
        if start < -n:
            raise IndexError(f"start out of range (expected to be in range of [-{n}, {n}], but got {start})")
        start = start + n
    if start > n:
        raise IndexError(f"start out of range (expected to be in range of [-{n}, {n}], but got {start})")
    if not (start + length <= n):
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return slice_index(input, (slice(None),) * dim + (slice(start, start + length),))


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A diagonal of the matrices in ``dim1`` and ``dim2``, as the last dimension of a view."""
    ndim = len(input._data.shape)
    dim1, dim2 = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return diagonal_op(input, offset, dim1, dim2)


def _diagonal_length(rows: Any, columns: Any, offset: int) -> Any:
    from .._trace.scalars import sym_max, sym_min

    if type(rows) is int and type(columns) is int:
        return max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    return sym_max(sym_min(rows, columns - offset) if offset >= 0 else sym_min(rows + offset, columns), 0)


def _diagonal_infer(x: Any, offset: int, dim1: int, dim2: int) -> tuple:
    rest = tuple([n for d, n in enumerate(x.shape) if d not in (dim1, dim2)])
    return (*rest, _diagonal_length(x.shape[dim1], x.shape[dim2], offset)), x.dtype


def _diagonal_kernel(xp: Any, x: Any, offset: int, dim1: int, dim2: int) -> Any:
    """A view by strides: NumPy's own is read-only."""
    rest = [d for d in range(x.ndim) if d not in (dim1, dim2)]
    length = _diagonal_length(x.shape[dim1], x.shape[dim2], offset)
    start = [slice(None)] * x.ndim
    if length:
        start[dim1 if offset < 0 else dim2] = slice(abs(offset), None)
    shape = (*[x.shape[d] for d in rest], length)
    strides = (*[x.strides[d] for d in rest], x.strides[dim1] + x.strides[dim2])
    return xp.lib.stride_tricks.as_strided(x[tuple(start)], shape, strides)


def _diagonal_backward_kernel(xp: Any, g: Any, shape: tuple, offset: int, dim1: int, dim2: int) -> Any:
    out = xp.zeros(shape, g.dtype)
    r = _diagonal_kernel(xp, out, offset, dim1, dim2)
    r[...] = g
    return out


diagonal_op = operator(
    "diagonal",
    _diagonal_kernel,
    lambda n, g: (diagonal_backward(g, n.shape, *n.attrs),),
    _diagonal_infer,
    view=True,
    linear=True,
)
diagonal_backward: Callable = operator(
    "diagonal_backward",
    _diagonal_backward_kernel,
    lambda n, g: (diagonal_op(g, *n.attrs[1:]),),
    lambda g, shape, *rest: (shape, g.dtype),
    linear=True,
)

operators["diagonal"], operators["diagonal_backward"] = diagonal_op, diagonal_backward


# ---------------------------------------------------------------- windows and strides


def _windows(xp: Any, x: Any, dim: int, size: int, step: int) -> Any:
    if not x.ndim:
        return x.reshape(1)[:size]
    count = (x.shape[dim] - size) // step + 1
    shape = (*x.shape[:dim], count, *x.shape[dim + 1 :], size)
    strides = (*x.strides[:dim], x.strides[dim] * step, *x.strides[dim + 1 :], x.strides[dim])
    return xp.lib.stride_tricks.as_strided(x, shape, strides)


def _windows_backward_kernel(xp: Any, g: Any, shape: tuple, dim: int, size: int, step: int) -> Any:
    out = xp.zeros(shape, g.dtype)
    if not shape:
        return out + g.sum()
    lead = (slice(None),) * dim
    for k in range(size):
        part = out[lead + (slice(k, k + (g.shape[dim] - 1) * step + 1, step),)]
        part += g[..., k]
    return out


unfold_op = operator(
    "unfold",
    _windows,
    lambda n, g: (unfold_backward(g, n.shape, *n.attrs),),
    lambda x, dim, size, step: (
        (*x.shape[:dim], (x.shape[dim] - size) // step + 1, *x.shape[dim + 1 :], size) if x.shape else (size,),
        x.dtype,
    ),
    view=True,
    linear=True,
)
unfold_backward: Callable = operator(
    "unfold_backward",
    _windows_backward_kernel,
    lambda n, g: (unfold_op(g, *n.attrs[1:]),),
    lambda g, shape, *rest: (shape, g.dtype),
    linear=True,
)


def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of ``size`` along ``dimension`` every ``step`` elements, as a last dimension of a view."""
    dim = wrap_dim(dimension, len(self._data.shape))
    most = self._data.shape[dim] if self._data.shape else 1
    if size < 0 or step <= 0:
        raise RuntimeError(f"size is {size} but must be >= 0" if size < 0 else f"step is {step} but must be > 0")
    if size > most:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {most} but size is {size}")
    return unfold_op(self, dim, size, step)


# ---------------------------------------------------------------- copies of views


def narrow_copy(input: Tensor, dim: int, start: Any, length: Any, *, out: Any = None) -> Tensor:
    """A copy of ``narrow``."""
    from .._core.inplace import store

    result = narrow(input, dim, start, length).clone()
    return result if out is None else store(out, result)


def _copied(fn: Any, name: str) -> Any:
    def copy(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        from .._core.inplace import store

        parts = tuple([t.clone() for t in fn(input, *args, **kwargs)])
        return parts if out is None else store(out, parts)

    copy.__name__ = copy.__qualname__ = name
    copy.__doc__ = f"Copies of the parts that ``{fn.__name__}`` gives as views."
    return copy


split_copy, unbind_copy = _copied(split, "split_copy"), _copied(unbind, "unbind_copy")
split_with_sizes_copy = _copied(split_with_sizes, "split_with_sizes_copy")
unsafe_split, unsafe_chunk, unsafe_split_with_sizes = split, chunk, split_with_sizes

for _fn in (
    split,
    split_with_sizes,
    chunk,
    tensor_split,
    hsplit,
    vsplit,
    dsplit,
    select,
    unbind,
    narrow,
    narrow_copy,
    diagonal,
    unfold,
):
    method(_fn)
method(split, "unsafe_split")
method(chunk, "unsafe_chunk")
method(split_with_sizes, "unsafe_split_with_sizes")
