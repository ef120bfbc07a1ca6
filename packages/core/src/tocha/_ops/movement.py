"""Operators that move or repeat elements without computing on them: views, permutations, joining and splitting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.broadcast import operators, reduce_to, same_shape
from .._core.families import attribute, method, operator
from .._core.tensor import Tensor
from .._core.views import lay_out
from .dims import product, sizes_of, wrap_dim

__all__ = ["broadcast_to", "cat", "concat", "concatenate", "flatten", "permute", "reshape", "squeeze", "stack",
           "swapaxes", "swapdims", "t", "transpose", "unsqueeze"]  # fmt: skip

ndarray = np.ndarray

# ---------------------------------------------------------------- primitives

_view: Callable = operator(
    "view",
    lambda xp, x, shape: x.reshape(shape),
    lambda n, g: (_view(g, n.shape),),
    lambda x, shape: (shape, x.dtype),
    view="maybe",
    linear=True,
)
operators["view"] = _view


def _expand_kernel(xp: Any, x: Any, shape: tuple) -> Any:
    return xp.broadcast_to(x, shape)


_expand = operator(
    "expand",
    _expand_kernel,
    lambda n, g: (reduce_to(g, n.shape),),
    lambda x, shape: (shape, x.dtype),
    view=True,
    linear=True,
)
operators["expand"] = _expand


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    out = [0] * len(order)
    for i, d in enumerate(order):
        out[d] = i
    return tuple(out)


permute_dims: Callable = operator(
    "permute",
    lambda xp, x, order: x.transpose(order),
    lambda n, g: (permute_dims(g, _inverse(n.attrs[0])),),
    lambda x, order: (tuple([x.shape[i] for i in order]), x.dtype),
    view=True,
    linear=True,
)
operators["permute"] = permute_dims


def _cat_infer(xs: tuple, dim: int) -> tuple:
    shape = list(xs[0].shape)
    for x in xs[1:]:
        shape[dim] = shape[dim] + x.shape[dim]
    return tuple(shape), xs[0].dtype


def _cat_rule(n: Any, g: Any) -> tuple:
    dim = n.attrs[0]
    start, out = 0, []
    for size, e in zip(n.attrs[1], n.edges):
        out.append(None if e is None else operators["slice"](g, (slice(None),) * dim + (slice(start, start + size),)))
        start = start + size
    return tuple(out)


cat_op = operator(
    "cat",
    lambda xp, xs, dim, sizes: xp.concatenate(xs, dim),
    _cat_rule,
    lambda xs, dim, sizes: _cat_infer(xs, dim),
    arity=None,
    linear=True,
)

flip_op: Callable = operator(
    "flip",
    lambda xp, x, dims: xp.flip(x, dims).copy(),
    lambda n, g: (flip_op(g, *n.attrs),),
    lambda x, dims: (x.shape, x.dtype),
    linear=True,
)
operators["flip"], operators["cat"] = flip_op, cat_op

# ---------------------------------------------------------------- public


def infer_size(shape: tuple, numel: Any) -> tuple:
    """``shape`` with its -1 resolved for ``numel`` elements.

    Raises:
        RuntimeError: the shape does not fit, or has two -1.
    """
    unknown = (
        [i for i, s in enumerate(shape) if type(s) is int and s == -1] if type(numel) is not int or -1 in shape else ()
    )
    if not unknown:
        if not (product(shape) == numel):
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        return shape
    if len(unknown) > 1:
        raise RuntimeError("only one dimension can be inferred")
    i = unknown[0]
    known = product([s for j, s in enumerate(shape) if j != i])
    if type(known) is int and known == 0:
        if numel == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size "
                "-1 can be any value and is ambiguous"
            )
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    if numel % known != 0:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return (*shape[:i], numel // known, *shape[i + 1 :])


def view(input: Tensor, *size: Any) -> Tensor:
    """The same memory in another shape (one -1 is inferred), or as another dtype.

    Raises:
        RuntimeError: the shape does not fit, or needs a copy (use ``reshape``).
    """
    x = input._data
    if len(size) == 1 and type(size[0]) is not int:
        if hasattr(size[0], "itemsize"):
            return operators["view_dtype"](input, size[0])
    elif type(x) is ndarray:
        try:
            result = _view(input, size)
            if result._base is not None:
                return result
        except (ValueError, TypeError):
            pass  # the general path says what is wrong
    shape = infer_size(sizes_of(size, "view"), x.size)
    result = _view(input, shape)
    if result._base is None and x.size and lay_out(input):
        result = _view(input, shape)
    if result._base is None and x.size:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return result


def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The elements in another shape (one -1 is inferred): a view where strides allow, else a copy.

    Example:
        >>> import tocha
        >>> tocha.arange(6).reshape(2, -1).shape
        tocha.Size([2, 3])
    """
    return _view(input, infer_size(sizes_of(shape, "reshape"), input._data.size))


def expand(input: Tensor, *size: Any) -> Tensor:
    """``input`` broadcast to ``size`` without a copy; -1 keeps a dimension."""
    return _expand(input, expanded_size(input._data.shape, sizes_of(size, "expand")))


def expanded_size(shape: tuple, size: tuple) -> tuple:
    extra = len(size) - len(shape)
    if extra < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({len(shape)})"
        )
    out = []
    for i, s in enumerate(size):
        if type(s) is int and s == -1:
            if i < extra:
                raise RuntimeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}"
                )
            s = shape[i - extra]
        elif i >= extra:
            have = shape[i - extra]
            if not (type(have) is int and have == 1) and have is not s and have != s:
                raise RuntimeError(
                    f"The expanded size of the tensor ({s}) must match the existing size ({have}) at non-singleton "
                    f"dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
                )
        out.append(s)
    return tuple(out)


def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """``input.expand(size)``."""
    return expand(input, size)


def permute(input: Tensor, *dims: Any) -> Tensor:
    """The dimensions in another order, as a view."""
    order = sizes_of(dims, "permute")
    ndim = len(input._data.shape)
    if len(order) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = "
            f"{len(order)}".replace("(sparse_coo)", "")
        )
    order = tuple([wrap_dim(d, ndim) for d in order])
    if len(set(order)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return permute_dims(input, order)


def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions swapped, as a view."""
    ndim = len(input.shape)
    dim0, dim1 = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    order = list(range(ndim))
    if order:
        order[dim0], order[dim1] = dim1, dim0
    return permute_dims(input, tuple(order))


swapaxes = swapdims = transpose


def t(input: Tensor) -> Tensor:
    """The transpose of a matrix (0-d and 1-d tensors as they are)."""
    ndim = len(input._data.shape)
    if ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    return transpose(input, 0, 1) if ndim == 2 else permute_dims(input, tuple(range(ndim)))


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from ``start_dim`` to ``end_dim`` as one."""
    shape = input._data.shape
    if not shape:
        return _view(input, (1,))
    start_dim, end_dim = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start_dim > end_dim:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if start_dim == end_dim:
        return input
    return _view(input, (*shape[:start_dim], product(shape[start_dim : end_dim + 1]), *shape[end_dim + 1 :]))


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without dimensions of size 1: all of them, or those of ``dim`` that are."""
    shape = input._data.shape
    if dim is None:
        kept = tuple([s for s in shape if not (s == 1)])
    else:
        dims = (dim,) if isinstance(dim, int) else tuple(dim)
        wrapped = {wrap_dim(d, len(shape)) for d in dims}
        kept = tuple([s for i, s in enumerate(shape) if i not in wrapped or not (s == 1)])
    return _view(input, kept)


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a dimension of size 1 at ``dim``."""
    shape = input._data.shape
    dim = wrap_dim(dim, len(shape) + 1)
    return _view(input, (*shape[:dim], 1, *shape[dim:]))


def cat(tensors: Any, dim: Any = 0, *, out: Any = None, axis: Any = None) -> Tensor:
    """Join tensors along an existing dimension; dtypes are promoted, empty 1-d tensors are skipped.

    Raises:
        RuntimeError: nothing to join, or sizes that differ elsewhere than in ``dim``.
    """
    from .._core.inplace import store
    from .._core.templates import common_dtype

    if isinstance(tensors, Tensor):
        raise TypeError("cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
    tensors = tuple(tensors)
    if axis is not None:
        dim = axis
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}")
    dtype = tensors[0]._data.dtype
    if any([x._data.dtype is not dtype for x in tensors]):
        dtype = common_dtype(tensors)
        tensors = tuple([x if x._data.dtype == dtype else operators["cast"](x, dtype) for x in tensors])
    real = tuple(
        [x for x in tensors if len(x._data.shape) != 1 or not (type(x._data.shape[0]) is int and x._data.shape[0] == 0)]
    )
    if not real:
        real = tensors[:1]
    first = real[0]._data.shape
    if not first:
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    dim = wrap_dim(dim, len(first))
    for i, x in enumerate(real[1:], 1):
        shape = x._data.shape
        if len(shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        for d, (p, q) in enumerate(zip(first, shape)):
            if d != dim and p is not q and p != q:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {p} but got size {q} for "
                    f"tensor number {i} in the list."
                )
    result = cat_op(real, dim, tuple([x._data.shape[dim] for x in real]))
    return result if out is None else store(out, result)


concat = concatenate = cat


def stack(tensors: Any, dim: int = 0, *, out: Any = None) -> Tensor:
    """Join tensors of one shape along a new dimension."""
    tensors = tuple(tensors)
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape = tensors[0]._data.shape
    for i, x in enumerate(tensors):
        if not same_shape(x._data.shape, shape):
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(x._data.shape)} at entry {i}"
            )
    return cat([unsqueeze(x, dim) for x in tensors], wrap_dim(dim, len(shape) + 1), out=out)


for _fn in (view, reshape, expand, permute, transpose, t, flatten, squeeze, unsqueeze, swapaxes, broadcast_to):
    method(_fn)
method(transpose, "swapaxes", "swapdims")


def _transposed(self: Tensor) -> Tensor:
    """The view with all dimensions in the reverse order."""
    return permute_dims(self, tuple(range(len(self._data.shape)))[::-1])


def _matrix_transposed(self: Tensor) -> Tensor:
    """The view with the last two dimensions exchanged.

    Raises:
        RuntimeError: the tensor has fewer than two dimensions.
    """
    if len(self._data.shape) < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {len(self._data.shape)}-D tensor."
        )
    return transpose(self, -2, -1)


attribute("T", _transposed)
attribute("mT", _matrix_transposed)
