"""Views by strides, views as another dtype, resizing, and copies of views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.broadcast import operators
from .._core.families import inplace_method, method, operator
from .._core.inplace import store
from .._core.record import ABSTRACT
from .._core.storage import TypedStorage, UntypedStorage, address, root_bytes
from .._core.tensor import Tensor, wrap
from .._core.views import bump_version
from .dims import product
from .movement import expand, permute, squeeze, t, transpose, unsqueeze, view
from .splitting import diagonal, select, unfold

__all__ = ["alias_copy", "as_strided", "as_strided_", "as_strided_copy", "as_strided_scatter", "detach", "detach_copy",
           "diagonal_copy",
           "expand_copy", "fill", "fill_", "index_put", "index_put_", "index_reduce", "permute_copy", "select_copy",
           "squeeze_copy", "t_copy", "transpose_copy", "unfold_copy", "unsqueeze_copy", "view_as_complex_copy",
           "view_as_real_copy", "view_copy", "zero_"]  # fmt: skip

# ---------------------------------------------------------------- strides


def _root(x: Any) -> tuple[Any, int]:
    """The 1-d buffer that an array lives in, as elements of its dtype, and the array's offset in elements."""
    found = root_bytes(x)
    if found is None or found[1] % x.dtype.itemsize:
        return None, 0
    flat, start = found
    item = x.dtype.itemsize
    return flat[: flat.size // item * item].view(x.dtype), start // item


def _strided_kernel(xp: Any, x: Any, shape: tuple, stride: tuple, offset: int | None) -> Any:
    flat, start = _root(x)
    if flat is None:
        flat, start = x.reshape(-1), 0
    start = start if offset is None else offset
    needed = start + sum([(n - 1) * s for n, s in zip(shape, stride)]) + 1 if product(shape) else 0
    if needed > flat.size:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(stride)}, storage offset {start}, and itemsize "
            f"{x.dtype.itemsize} requiring a storage size of {needed * x.dtype.itemsize} are out of bounds for storage "
            f"of size {flat.size * x.dtype.itemsize}"
        )
    return xp.lib.stride_tricks.as_strided(flat[start:], shape, tuple([s * x.dtype.itemsize for s in stride]))


def _strided_rule(n: Any, g: Any) -> tuple:
    """The gradient goes to the elements of the input, which must be contiguous where it matters to order."""
    shape, stride, offset = n.attrs
    return (_strided_backward(g, n.shape, shape, stride, offset or 0),)


def _positions(xp: Any, shape: tuple, stride: tuple, offset: int) -> Any:
    index = xp.asarray(offset)
    for d, (n, s) in enumerate(zip(shape, stride)):
        index = index + (xp.arange(n) * s).reshape([-1 if i == d else 1 for i in range(len(shape))])
    return index


def _strided_backward_kernel(xp: Any, g: Any, target: tuple, shape: tuple, stride: tuple, offset: int) -> Any:
    out = xp.zeros(product(target), g.dtype)
    xp.add.at(out, _positions(xp, shape, stride, offset).reshape(-1), g.reshape(-1))
    return out.reshape(target)


_strided_backward = operator(
    "as_strided_backward",
    _strided_backward_kernel,
    lambda n, g: (strided_op(operators["contiguous"](g) if isinstance(g, Tensor) else g, *n.attrs[1:]),),
    lambda g, target, *rest: (target, g.dtype),
    linear=True,
)
strided_op: Callable = operator(
    "as_strided",
    _strided_kernel,
    _strided_rule,
    lambda x, shape, stride, offset: (shape, x.dtype),
    view=True,
    linear=True,
)


def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of the tensor's memory with any sizes and strides (in elements).

    Raises:
        RuntimeError: the view would leave the memory, or sizes and strides differ in number.
    """
    shape, steps = tuple(size), tuple(stride)
    if len(shape) != len(steps):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(steps)} != {len(shape)}")
    if any(s < 0 for s in steps):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(steps)}")
    return strided_op(input, shape, steps, storage_offset)


def as_strided_(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """``as_strided`` of the tensor itself, in place."""
    made = as_strided(input.detach(), size, stride, storage_offset)
    input._data = made._data
    return input


def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A copy of ``input`` with the elements of ``as_strided`` replaced by ``src``."""
    copied = operators["contiguous"](input).clone()
    as_strided(copied, size, stride, storage_offset).copy_(src)
    return copied


def storage_offset(self: Tensor) -> int:
    """How many elements lie before the first one in the tensor's memory."""
    return _root(self._data)[1] if type(self._data) is np.ndarray else 0


def data_ptr(self: Tensor) -> int:
    """The address of the first element."""
    return address(self._data) if self._data.size and type(self._data) not in ABSTRACT else 0


# ---------------------------------------------------------------- dtypes


def _reinterpret(xp: Any, x: Any, dtype: Any) -> Any:
    if not x.ndim:
        return x.reshape(1).view(dtype)[0, ...] if dtype.itemsize == x.dtype.itemsize else x.reshape(1).view(dtype)
    return x.view(dtype)


def _reinterpreted_shape(x: Any, dtype: Any) -> tuple:
    old, new = x.dtype.itemsize, dtype.itemsize
    if old == new:
        return x.shape
    return (*x.shape[:-1], x.shape[-1] * old // new)


reinterpret_op = operator(
    "view_dtype", _reinterpret, None, lambda x, dtype: (_reinterpreted_shape(x, dtype), dtype), view=True
)


def _view_dtype(x: Tensor, dtype: dtypes.dtype) -> Tensor:
    d = dtypes.as_numpy(dtype)
    old, new = x._data.dtype.itemsize, d.itemsize
    if old != new:
        if not x._data.shape:
            raise RuntimeError(
                "self.dim() cannot be 0 to view a tensor as a dtype of another size (different element sizes)"
            )
        if old < new and x._data.shape[-1] % (new // old):
            raise RuntimeError(
                f"self.size(-1) must be divisible by {new // old} to view {x.dtype} as {dtype} (different element "
                f"sizes), but got {x._data.shape[-1]}"
            )
    return reinterpret_op(x, d)


operators["view_dtype"] = _view_dtype

# ---------------------------------------------------------------- resizing


def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor other sizes, in place: its elements are kept in order, new ones are undefined."""
    from .dims import sizes_of

    shape = sizes_of(sizes, "resize_")
    if self._flags & 1:
        raise RuntimeError("cannot resize variables that require grad")
    have = self._data.reshape(-1)
    need = product(shape)
    if need <= have.size:
        self._data = have[:need].reshape(shape)
    else:
        grown = np.empty(need, have.dtype) if type(have) is np.ndarray else have.__class__((need,), have.dtype)
        grown[: have.size] = have
        self._data = grown.reshape(shape)
    bump_version(self)
    return self


def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """``resize_`` to the sizes of another tensor."""
    return resize_(self, tuple(the_template._data.shape))


def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Let the tensor use the memory of ``source``, a tensor or a storage."""
    if isinstance(source, (TypedStorage, UntypedStorage)):
        flat = source.untyped()._bytes()
        item = self._data.dtype.itemsize
        source = wrap(flat[: flat.size // item * item].view(self._data.dtype))
    if source is None:
        self._data = self._data.reshape(-1)[:0]
    elif size is None:
        self._data = source._data
    else:
        steps = stride if stride is not None else _contiguous_strides(size)
        self._data = as_strided(source.detach(), size, steps, storage_offset)._data
    bump_version(self)
    return self


def _contiguous_strides(size: Any) -> tuple:
    out, step = [], 1
    for n in reversed(tuple(size)):
        out.append(step)
        step *= n
    return tuple(out[::-1])


# ---------------------------------------------------------------- copies


def _copy_of(fn: Any, name: str) -> Any:
    def copied(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Tensor:
        result = fn(input, *args, **kwargs).clone()
        return result if out is None else store(out, result)

    copied.__name__ = copied.__qualname__ = name
    copied.__doc__ = f"``{fn.__name__}`` as a copy."
    return copied


def detach(input: Tensor) -> Tensor:
    """``input.detach()``."""
    return input.detach()


def _alias(input: Tensor) -> Tensor:
    return input


alias_copy, detach_copy = _copy_of(_alias, "alias_copy"), _copy_of(detach, "detach_copy")
as_strided_copy, diagonal_copy, expand_copy = (
    _copy_of(as_strided, "as_strided_copy"),
    _copy_of(diagonal, "diagonal_copy"),
    _copy_of(expand, "expand_copy"),
)
permute_copy, select_copy, squeeze_copy = (
    _copy_of(permute, "permute_copy"),
    _copy_of(select, "select_copy"),
    _copy_of(squeeze, "squeeze_copy"),
)
t_copy, transpose_copy, unfold_copy = (
    _copy_of(t, "t_copy"),
    _copy_of(transpose, "transpose_copy"),
    _copy_of(unfold, "unfold_copy"),
)
unsqueeze_copy, view_copy = _copy_of(unsqueeze, "unsqueeze_copy"), _copy_of(view, "view_copy")


def _real_copy(input: Tensor) -> Tensor:
    from .complex import view_as_real

    return view_as_real(input)


def _complex_copy(input: Tensor) -> Tensor:
    from .complex import view_as_complex

    return view_as_complex(input)


view_as_real_copy, view_as_complex_copy = (
    _copy_of(_real_copy, "view_as_real_copy"),
    _copy_of(_complex_copy, "view_as_complex_copy"),
)


def fill(input: Tensor, value: Any) -> Tensor:
    """``value`` in the shape and dtype of ``input``."""
    if isinstance(value, Tensor):
        if value._data.shape:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {len(value._data.shape)} dimensions."
            )
    return input.clone().fill_(value)


def fill_(input: Tensor, value: Any) -> Tensor:
    """``input.fill_(value)``."""
    return input.fill_(value)


def zero_(input: Tensor) -> Tensor:
    """``input.zero_()``."""
    return input.zero_()


# ---------------------------------------------------------------- index_put and index_reduce


def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of ``input`` with ``values`` written (or added) at ``input[indices]``."""
    from .indexing import assign, split_index

    copied = input.clone()
    full = tuple([slice(None) if i is None else i for i in indices])
    x, positions, left = split_index(copied, full)
    assign(x, positions, left, values, copied, accumulate)
    return copied


def index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """``index_put`` in place."""
    from .indexing import assign, split_index

    full = tuple([slice(None) if i is None else i for i in indices])
    x, positions, left = split_index(input, full)
    assign(x, positions, left, values, input, accumulate)
    return input


def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True, out: Any = None
) -> Tensor:
    """Combine the slices of ``source`` into those that ``index`` names along ``dim``: "prod", "mean", "amax" or
    "amin"."""
    from .scatter_reduction import scatter_reduced
    from .selection import _has_elements, _lifted, _spread, _vector_index

    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    index = _vector_index("index_reduce", index)
    from .dims import wrap_dim

    d = wrap_dim(dim, len(input._data.shape))
    x, src = _lifted(input), _lifted(source)
    result = (
        scatter_reduced(x, d, _spread(index.long(), d, src), src, reduce, include_self)
        if _has_elements(index)
        else x.clone()
    )
    result = result if input._data.shape else operators["view"](result, ())
    return result if out is None else store(out, result)


for _fn in (
    as_strided,
    as_strided_,
    as_strided_scatter,
    storage_offset,
    data_ptr,
    resize_,
    resize_as_,
    set_,
    index_put,
    index_put_,
    index_reduce,
):
    method(_fn)
inplace_method(index_reduce)
