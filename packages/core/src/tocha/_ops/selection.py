"""Elements taken or put along one dimension: gather and scatter, index_select and its kin."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.families import inplace_method, method, operator
from .._core.inplace import store
from .._core.record import ABSTRACT
from .._core.tensor import Tensor
from .constants import ones_as, zeros_as
from .dims import wrap_dim

__all__ = ["gather", "index_add", "index_copy", "index_fill", "index_select", "masked_fill", "masked_scatter",
           "masked_select", "put",
           "scatter", "scatter_add", "scatter_reduce", "select_scatter", "slice_scatter", "diagonal_scatter", "take",
           "take_along_dim"]  # fmt: skip


def along(xp: Any, index: Any, dim: int) -> tuple:
    """The full index that puts ``index`` at ``dim`` and counts along every other dimension."""
    full = []
    for d, n in enumerate(index.shape):
        if d == dim:
            full.append(index)
        else:
            shape = [1] * index.ndim
            shape[d] = n
            full.append(xp.arange(n).reshape(shape))
    return tuple(full)


def _gather_kernel(xp: Any, x: Any, index: Any, dim: int) -> Any:
    if not index.size:
        return xp.empty(index.shape, x.dtype)
    return x[along(xp, index, dim)] if x.ndim else x.reshape(1)[index.reshape(-1)].reshape(index.shape)


def _gather_rule(n: Any, g: Any) -> tuple:
    return scatter_zeros(g, n.saved[0], n.attrs[0], n.shape), None


gather_dim = operator(
    "gather",
    _gather_kernel,
    _gather_rule,
    lambda x, index, dim: (index.shape, x.dtype),
    arity=2,
    save=(1,),
    linear=True,
)


def _scatter_zeros_kernel(xp: Any, g: Any, index: Any, dim: int, shape: tuple) -> Any:
    out = xp.zeros(shape, g.dtype)
    if not shape or not index.size:
        return out + g.sum()
    full = along(xp, index, dim)
    if tuple(g.shape) != tuple(index.shape):
        g = g[tuple([slice(0, n) for n in index.shape])]
    if index.shape[dim] == 1:
        out[full] = g
    elif g.dtype.itemsize == 2 and g.dtype.kind == "V":
        wide = out.astype(np.float32)
        xp.add.at(wide, full, g.astype(np.float32))
        out = wide.astype(g.dtype)
    else:
        xp.add.at(out, full, g)
    return out


scatter_zeros = operator(
    "gather_backward",
    _scatter_zeros_kernel,
    lambda n, g: (gather_dim(g, n.saved[0], n.attrs[0]), None),
    lambda g, index, dim, shape: (shape, g.dtype),
    arity=2,
    save=(1,),
    linear=True,
)


# ---------------------------------------------------------------- gather and scatter


def _check_index(name: str, x: Tensor, dim: int, index: Tensor, src: Any = None) -> None:
    if index._data.dtype != np.int64 and index._data.dtype != np.int32 and index._data.size:
        raise RuntimeError(f"{name}(): Expected dtype int64 for index")
    shape, wanted = x._data.shape or (1,), index._data.shape or (1,)
    if type(index._data.size) is int and not index._data.size:
        return
    if len(shape) != len(wanted):
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as input tensor"
            if src is None or isinstance(src, (int, float))
            else "Index tensor must have the same number of dimensions as self tensor"
        )
    for d, (n, m) in enumerate(zip(shape, wanted)):
        if d != dim and type(n) is int and type(m) is int and m > n:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(wanted)} to be no larger than self "
                f"{list(shape)} apart from dimension {dim}"
            )
    raw = index._data
    if (
        type(raw) is np.ndarray
        and raw.size
        and type(shape[dim]) is int
        and (int(raw.min()) < 0 or int(raw.max()) >= shape[dim])
    ):
        bad = raw.flat[int(np.flatnonzero((raw < 0) | (raw >= shape[dim]))[0])]
        raise RuntimeError(f"index {int(bad)} is out of bounds for dimension {dim} with size {shape[dim]}")


def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Any = None) -> Tensor:
    """``out[i][j] = input[index[i][j]][j]`` (for dim 0): elements along ``dim`` by index; the shape is ``index``'s."""
    dim = wrap_dim(dim, len(input._data.shape))
    _check_index("gather", input, dim, index)
    if index._data.dtype.kind not in "iu":  # an empty index may be of any dtype
        index = index.long()
    result = gather_dim(input, index, dim)
    return result if out is None else store(out, result)


def take_along_dim(input: Tensor, indices: Tensor, dim: Any = None, *, out: Any = None) -> Tensor:
    """Elements of ``input`` at ``indices`` along ``dim``, where the other dimensions broadcast (None: flattened)."""
    if indices._data.dtype.kind not in "iu":
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype}")
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1), out=out)
    if len(input._data.shape) != len(indices._data.shape):
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{len(input._data.shape)} dimensions for input, and {len(indices._data.shape)} dimensions for indices"
        )
    from .._core.broadcast import broadcast_shapes

    dim = wrap_dim(dim, len(input._data.shape))
    ones = lambda t: tuple([1 if d == dim else n for d, n in enumerate(t._data.shape)])  # noqa: E731
    common = broadcast_shapes(ones(input), ones(indices))
    wide = lambda t: tuple([t._data.shape[d] if d == dim else n for d, n in enumerate(common)])  # noqa: E731
    size = input._data.shape[dim]
    indices = operators["where"](indices < 0, indices + size, indices)
    return gather(operators["expand"](input, wide(input)), dim, operators["expand"](indices, wide(indices)), out=out)


def _window(xp: Any, src: Any, index: Any) -> Any:
    return src if tuple(src.shape) == tuple(index.shape) else src[tuple([slice(0, n) for n in index.shape])]


def _scatter_kernel(xp: Any, x: Any, index: Any, src: Any, dim: int) -> Any:
    out = x.copy()
    if not x.ndim:
        out = out.reshape(1)
        out[index.reshape(-1)] = src.reshape(-1)[: index.size]
        return out.reshape(())
    out[along(xp, index, dim)] = _window(xp, src, index)
    return out


def _scatter_rule(n: Any, g: Any) -> tuple:
    (index,) = n.saved
    dim = n.attrs[0]
    gx = gsrc = None
    if n.edges[0] is not None:
        gx = scatter_op(g, index, zeros_as(gather_dim(g, index, dim)), dim)
    if n.edges[2] is not None:
        gsrc = pad_to(gather_dim(g, index, dim), n.attrs[1])
    return gx, None, gsrc


def pad_to(x: Any, shape: tuple) -> Any:
    """``x`` in the corner of zeros of ``shape``."""
    if tuple(x.shape) == tuple(shape):
        return x
    from .indexing import slice_pad

    return slice_pad(x, tuple(shape), tuple([slice(0, n) for n in x.shape]))


scatter_op = operator(
    "scatter", lambda xp, x, index, src, dim, *_: _scatter_kernel(xp, x, index, src, dim), _scatter_rule,
    lambda x, *_: (x.shape, x.dtype), arity=3, save=(1,), linear=True,
)  # fmt: skip


def _add_at(xp: Any, out: Any, full: Any, values: Any) -> Any:
    if out.dtype.kind == "V":
        wide = out.astype(np.float32)
        xp.add.at(wide, full, values.astype(np.float32))
        return wide.astype(out.dtype)
    if out.dtype.kind == "b":
        xp.logical_or.at(out, full, values)
        return out
    xp.add.at(out, full, values)
    return out


def _scatter_add_kernel(xp: Any, x: Any, index: Any, src: Any, dim: int, *_: Any) -> Any:
    out = x.copy()
    if not x.ndim:
        return (out.reshape(1) + src.reshape(-1)[: index.size].sum()).astype(x.dtype).reshape(())
    return _add_at(xp, out, along(xp, index, dim), _window(xp, src, index))


scatter_add_op = operator(
    "scatter_add", _scatter_add_kernel,
    lambda n, g: (g, None, None if n.edges[2] is None else pad_to(gather_dim(g, n.saved[0], n.attrs[0]), n.attrs[1])),
    lambda x, *_: (x.shape, x.dtype), arity=3, save=(1,), linear=True,
)  # fmt: skip


def _as_source(input: Tensor, src: Any, index: Tensor) -> Tensor:
    if isinstance(src, Tensor):
        if src._data.dtype != input._data.dtype:
            raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
        return src
    from .ternary import number_like

    value = number_like(src, input, input._data.dtype)
    return operators["expand"](value, tuple(index._data.shape))


def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
    out: Any = None,
) -> Tensor:
    """``out[index[i][j]][j] = src[i][j]`` (for dim 0), elsewhere ``input``; ``reduce`` "add" or "multiply" combines."""
    src = value if src is None else src
    dim = wrap_dim(dim, len(input._data.shape))
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError("reduce argument must be either add or multiply.")
        source = _as_source(input, src, index)
        return scatter_reduce(input, dim, index, source, "sum" if reduce == "add" else "prod", out=out)
    _check_index("scatter", input, dim, index, src)
    source = _as_source(input, src, index)
    result = scatter_op(input, index, source, dim, tuple(source._data.shape)) if _has_elements(index) else input.clone()
    return result if out is None else store(out, result)


def _has_elements(index: Tensor) -> bool:
    return not (type(index._data.size) is int and index._data.size == 0)


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Any = None) -> Tensor:
    """``input`` with ``src`` added at ``index`` along ``dim``."""
    dim = wrap_dim(dim, len(input._data.shape))
    _check_index("scatter_add", input, dim, index, src)
    source = _as_source(input, src, index)
    result = (
        scatter_add_op(input, index, source, dim, tuple(source._data.shape)) if _has_elements(index) else input.clone()
    )
    return result if out is None else store(out, result)


def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True, out: Any = None
) -> Tensor:
    """Combine ``src`` into ``input`` at ``index`` along ``dim``: "sum", "prod", "mean", "amax" or "amin"."""
    from .scatter_reduction import scatter_reduced

    dim = wrap_dim(dim, len(input._data.shape))
    _check_index("scatter_reduce", input, dim, index, src)
    result = (
        scatter_reduced(input, dim, index, _as_source(input, src, index), reduce, include_self)
        if _has_elements(index)
        else input.clone()
    )
    return result if out is None else store(out, result)


# ---------------------------------------------------------------- whole slices by index


def _vector_index(name: str, index: Tensor) -> Tensor:
    if len(index._data.shape) > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {len(index._data.shape)}")
    if index._data.dtype.kind not in "iu":
        raise RuntimeError(f"{name}(): Expected dtype int32 or int64 for index")
    return index if index._data.shape else operators["view"](index, (1,))


def _check_range(index: Tensor, size: Any) -> None:
    raw = index._data
    if type(raw) is np.ndarray and raw.size and type(size) is int and (int(raw.min()) < 0 or int(raw.max()) >= size):
        raise IndexError("index out of range in self")


def index_select(input: Tensor, dim: int, index: Tensor, *, out: Any = None) -> Tensor:
    """The slices of ``input`` along ``dim`` that the vector ``index`` names."""
    index = _vector_index("index_select", index)
    dim = wrap_dim(dim, len(input._data.shape))
    _check_range(index, input._data.shape[dim] if input._data.shape else 1)
    if not input._data.shape:
        result = operators["view"](operators["index"]((operators["view"](input, (1,)), index), (0,)), ())
    else:
        result = operators["index"]((input, index), (dim,))
    return result if out is None else store(out, result)


def _spread(index: Tensor, dim: int, like: Tensor) -> Tensor:
    """A vector of indices as an index for ``gather`` with the shape of ``like``."""
    shape = tuple([-1 if d == dim else 1 for d in range(len(like._data.shape))])
    return operators["expand"](index.view(*shape), tuple(like._data.shape))


def _lifted(x: Tensor) -> Tensor:
    return x if x._data.shape else operators["view"](x, (1,))


def _with_slices(name: str, op: Any, input: Tensor, dim: int, index: Tensor, source: Tensor, out: Any) -> Tensor:
    index = _vector_index(name, index)
    dim = wrap_dim(dim, len(input._data.shape))
    if source._data.dtype != input._data.dtype:
        raise RuntimeError(
            f"{name}(): self and source expected to have the same dtype, but got (self) {input.dtype} and (source) "
            f"{source.dtype}"
        )
    x, src = _lifted(input), _lifted(source)
    if len(src._data.shape) != len(x._data.shape) and input._data.shape and source._data.shape:
        raise RuntimeError(f"{name}(): Source/destination tensor must have same slice shapes.")
    _check_range(index, x._data.shape[dim])
    if len(src._data.shape) != len(x._data.shape):
        src = src.view(*[-1 if d == dim else 1 for d in range(len(x._data.shape))])
    if not _has_elements(index):
        result = x.clone()
    else:
        result = op(x, index, src, dim)
    result = result if input._data.shape else operators["view"](result, ())
    return result if out is None else store(out, result)


def _add_slices(x: Tensor, index: Tensor, src: Tensor, dim: int) -> Tensor:
    from .indexing import index_put_op

    if dim == 0:
        return index_put_op((x, src, index), (0,), True)
    return _add_slices(x.movedim(dim, 0), index, src.movedim(dim, 0), 0).movedim(0, dim)


def _copy_slices(x: Tensor, index: Tensor, src: Tensor, dim: int) -> Tensor:
    return scatter_op(x, _spread(index, dim, src), src, dim, tuple(src._data.shape))


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1, out: Any = None) -> Tensor:
    """``input`` with ``alpha * source`` added to the slices that ``index`` names along ``dim``."""
    return _with_slices(
        "index_add", _add_slices, input, dim, index, source if alpha == 1 else (source * alpha).to(source.dtype), out
    )


def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor, *, out: Any = None) -> Tensor:
    """``input`` with the slices that ``index`` names along ``dim`` replaced by those of ``source``."""
    return _with_slices("index_copy", _copy_slices, input, dim, index, source, out)


def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """``input`` with the slices that ``index`` names along ``dim`` filled with ``value`` (a number or 0-d tensor)."""
    from .ternary import number_like

    if isinstance(value, Tensor):
        if value._data.shape:
            raise RuntimeError(
                f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {len(value._data.shape)} "
                "dimension(s)."
            )
        filler = value.to(input.dtype)
    else:
        if isinstance(value, complex) and input._data.dtype.kind != "c":
            raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
        filler = number_like(value, input, input._data.dtype)
    index = _vector_index("index_fill", index)
    dim = wrap_dim(dim, len(input._data.shape))
    x = _lifted(input)
    _check_range(index, x._data.shape[dim])
    named = zeros_as(x).bool()
    view = named.index_copy(dim, index, ones_as(named.index_select(dim, index))) if _has_elements(index) else named
    result = operators["where"](view, filler, x)
    return result if input._data.shape else operators["view"](result, ())


def take(input: Tensor, index: Tensor, *, out: Any = None) -> Tensor:
    """Elements of the flattened ``input``; the shape is ``index``'s."""
    if index._data.dtype != np.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype}")
    flat = input.reshape(-1)
    raw = index._data
    if (
        type(raw) is np.ndarray
        and raw.size
        and (int(raw.min()) < -flat._data.size or int(raw.max()) >= flat._data.size)
    ):
        raise IndexError("out of range: tried to access index outside of the flattened tensor")
    result = operators["index"]((flat, index), (0,))
    return result if out is None else store(out, result)


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """``input`` with the elements at flat ``index`` replaced by (or with ``accumulate`` increased by) ``source``'s."""
    if index._data.dtype != np.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {index.dtype}")
    if source._data.dtype != input._data.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {input.dtype} and "
            f"source.dtype = {source.dtype}"
        )
    if index._data.size != source._data.size:
        raise IndexError("put_(): Expected source and index to have the same number of elements")
    from .indexing import index_put_op

    flat = input.reshape(-1)
    return index_put_op((flat, source.reshape(-1), index.reshape(-1)), (0,), accumulate).reshape(input._data.shape)


# ---------------------------------------------------------------- by mask


def _mask_of(name: str, mask: Tensor) -> Tensor:
    if mask._data.dtype.kind != "b":
        if mask._data.dtype == np.uint8 and name != "masked_fill":
            return mask.bool()
        raise RuntimeError(
            f"{name} expected mask to be a boolean tensor, but got {mask.dtype}"
            if name != "masked_fill"
            else f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}"
        )
    return mask


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """``input`` with ``value`` (a number or 0-d tensor) where ``mask`` is true."""
    from .ternary import number_like, where

    mask = _mask_of("masked_fill", mask)
    if isinstance(value, Tensor):
        if value._data.shape:
            raise RuntimeError(
                f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {len(value._data.shape)} "
                "dimension(s)."
            )
        filler = value.to(input.dtype)
    else:
        if isinstance(value, complex) and input._data.dtype.kind != "c":
            raise RuntimeError("value cannot be converted to type without overflow")
        filler = number_like(value, input, input._data.dtype)
    return where(mask, filler, input)


def masked_select(input: Tensor, mask: Tensor, *, out: Any = None) -> Tensor:
    """The elements of ``input`` where ``mask`` (broadcast) is true, 1-d."""
    from .._core.broadcast import broadcast_shapes

    mask = _mask_of("masked_select", mask)
    shape = broadcast_shapes(input._data.shape, mask._data.shape)
    x, m = operators["expand"](input, shape), operators["expand"](mask, shape)
    result = operators["view"](x, (1,))[m.view(1)] if not shape else x[m]
    return result if out is None else store(out, result)


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """``input`` with the elements where ``mask`` is true replaced, in order, by those of ``source``."""
    from .._core.broadcast import broadcast_shapes
    from .ternary import where

    mask = _mask_of("masked_scatter", mask)
    if source._data.dtype != input._data.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {input.dtype} and {source.dtype}"
        )
    shape = broadcast_shapes(input._data.shape, mask._data.shape)
    m = operators["expand"](mask, shape)
    flat = m.reshape(-1)
    position = operators["cumsum"](flat.long(), 0) - 1
    if type(flat._data) not in ABSTRACT and int(flat.sum()) > source._data.size:
        raise RuntimeError("masked_scatter: expected number of elements in source >= number of ones in mask")
    if not source._data.size:
        return operators["expand"](input, shape).clone()
    picked = source.reshape(-1)[position.clamp(0)].reshape(shape)
    return where(m, picked, input)


# ---------------------------------------------------------------- written views, out of place


def _view_written(input: Tensor, src: Tensor, view: Any) -> Tensor:
    copied = input.clone()
    target = view(copied)
    if tuple(target._data.shape) != tuple(src._data.shape):
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src._data.shape)}, slice size = "
            f"{list(target._data.shape)}"
        )
    target.copy_(src)
    return copied


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """``input`` with the slice ``index`` of ``dim`` replaced by ``src``."""
    return _view_written(input, src, lambda t: t.select(dim, index))


def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Tensor:
    """``input`` with ``start:end:step`` of ``dim`` replaced by ``src``."""
    d = wrap_dim(dim, len(input._data.shape))
    return _view_written(input, src, lambda t: t[(slice(None),) * d + (slice(start, end, step),)])


def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """``input`` with a diagonal replaced by ``src``."""
    return _view_written(input, src, lambda t: t.diagonal(offset, dim1, dim2))


for _fn in (gather, take_along_dim, index_select, take, masked_select, select_scatter, slice_scatter, diagonal_scatter):
    method(_fn)
for _writer in (
    scatter,
    scatter_add,
    scatter_reduce,
    index_add,
    index_copy,
    index_fill,
    masked_fill,
    masked_scatter,
    put,
):
    method(_writer)
    inplace_method(_writer)
