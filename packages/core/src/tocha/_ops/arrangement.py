"""Rearranging: rolls, rotations, repeats, stacks along fixed dimensions, triangles and diagonals."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.broadcast import broadcast_shapes as _shapes
from .._core.broadcast import operators
from .._core.families import inplace_method, method, operator
from .._core.inplace import store
from .._core.tensor import Tensor
from .dims import sizes_of, wrap_dim
from .movement import cat, expand, flip_op, permute, reshape, unsqueeze

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors", "column_stack", "diag", "diag_embed",
           "diagflat", "dstack", "flip",
           "fliplr", "flipud", "hstack", "meshgrid", "moveaxis", "movedim", "ravel", "repeat_interleave", "roll",
           "rot90", "row_stack", "tile", "tril", "tril_indices", "triu", "triu_indices", "unflatten", "unravel_index",
           "vstack"]  # fmt: skip

# ---------------------------------------------------------------- order along a dimension


def flip(input: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """The order reversed along ``dims`` (several, or one tuple), as a copy."""
    given = args if dims is None else (dims,) if isinstance(dims, int) else tuple(dims)
    wanted = tuple([wrap_dim(d, len(input._data.shape)) for d in sizes_of(given, "flip")])
    if len(set(wanted)) != len(wanted):
        raise RuntimeError(f"dim {wanted[0]} appears multiple times in the list of dims")
    return flip_op(input, wanted) if input._data.shape else input.clone()


def fliplr(input: Tensor) -> Tensor:
    """The order of columns reversed."""
    if len(input._data.shape) < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


def flipud(input: Tensor) -> Tensor:
    """The order of rows reversed."""
    if len(input._data.shape) < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


roll_op: Callable = operator(
    "roll",
    lambda xp, x, shifts, dims: xp.roll(x, shifts, dims),
    lambda n, g: (roll_op(g, tuple([-s for s in n.attrs[0]]), n.attrs[1]),),
    lambda x, shifts, dims: (x.shape, x.dtype),
    linear=True,
)


def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """The elements moved by ``shifts`` along ``dims``, around the end (no dims: in the flattened tensor)."""
    shift = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    if dims is None or dims == ():
        if len(shift) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shift)}, dims:0")
        return (
            reshape(roll_op(reshape(input, -1), shift, (0,)), *input._data.shape)
            if input._data.shape
            else input.clone()
        )
    dim = (dims,) if isinstance(dims, int) else tuple(dims)
    if len(shift) != len(dim):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shift)}, dims:{len(dim)}")
    if not input._data.shape:
        return input.clone()
    return roll_op(input, shift, tuple([wrap_dim(d, len(input._data.shape)) for d in dim]))


def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """The plane of two dimensions turned ``k`` times by 90 degrees, from the first towards the second."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    ndim = len(input._data.shape)
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    a, b = [wrap_dim(d, ndim) for d in dims]
    if a == b:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    k %= 4
    if k == 0:
        return input.clone()
    if k == 2:
        return flip(input, a, b)
    return flip(input, b).transpose(a, b) if k == 1 else flip(input, a).transpose(a, b)


def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions ``source`` moved to ``destination``; the others keep their order."""
    ndim = len(input._data.shape)
    src = [wrap_dim(d, ndim) for d in ((source,) if isinstance(source, int) else source)]
    dst = [wrap_dim(d, ndim) for d in ((destination,) if isinstance(destination, int) else destination)]
    if len(src) != len(dst):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({src} dims) should contain the same number of dims "
            f"as destination ({dst} dims)"
        )
    if len(set(src)) != len(src) or len(set(dst)) != len(dst):
        raise RuntimeError(
            f"movedim: repeated dim in `{'source' if len(set(src)) != len(src) else 'destination'}` ({list(source)})"
        )
    order = [-1] * ndim
    for s, d in zip(src, dst):
        order[d] = s
    rest = iter([d for d in range(ndim) if d not in src])
    return permute(input, *[next(rest) if o < 0 else o for o in order])


moveaxis = movedim

# ---------------------------------------------------------------- shapes


def ravel(input: Tensor) -> Tensor:
    """The elements in one dimension, a view where strides allow."""
    return reshape(input, -1)


def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """Dimension ``dim`` as several of the given ``sizes`` (one -1 is inferred)."""
    from .movement import infer_size

    shape = input._data.shape
    dim = wrap_dim(dim, len(shape))
    sizes = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        part = infer_size(sizes, shape[dim])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[dim]}) in the "
            "input tensor"
        ) from None
    return operators["view"](input, (*shape[:dim], *part, *shape[dim + 1 :]))


def _each(fn: Any) -> Any:
    def over(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
            tensors = tuple(tensors[0])
            return tuple([fn(t) for t in tensors])
        out = tuple([fn(t) for t in tensors])
        return out[0] if len(out) == 1 else out

    over.__name__ = over.__qualname__ = fn.__name__.strip("_")
    over.__doc__ = fn.__doc__
    return over


@_each
def atleast_1d(t: Tensor) -> Tensor:
    """0-d tensors as 1-d ones, others as they are."""
    return t if t._data.shape else reshape(t, 1)


@_each
def atleast_2d(t: Tensor) -> Tensor:
    """Tensors with at least 2 dimensions: rows are put around 1-d ones."""
    n = len(t._data.shape)
    return t if n >= 2 else reshape(t, 1, 1) if n == 0 else unsqueeze(t, 0)


@_each
def atleast_3d(t: Tensor) -> Tensor:
    """Tensors with at least 3 dimensions."""
    n = len(t._data.shape)
    if n >= 3:
        return t
    return reshape(t, 1, 1, 1) if n == 0 else unsqueeze(unsqueeze(t, 0), -1) if n == 1 else unsqueeze(t, -1)


def hstack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join along columns (1-d tensors end to end)."""
    parts = atleast_1d(list(tensors))
    return cat(parts, 0 if len(parts[0]._data.shape) == 1 else 1, out=out)


def vstack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join along rows."""
    return cat(atleast_2d(list(tensors)), 0, out=out)


row_stack = vstack


def dstack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join along depth."""
    return cat(atleast_3d(list(tensors)), 2, out=out)


def column_stack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join 1-d tensors as columns, others along columns."""
    parts = [reshape(t, -1, 1) if len(t._data.shape) <= 1 else t for t in tensors]
    return cat(parts, 1, out=out)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    shape = _shapes(*[t._data.shape for t in tensors])
    return tuple([expand(t, *shape) if shape else t for t in tensors])


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Grids of coordinates from 1-d tensors; ``indexing`` "ij" (default) or "xy" (first two swapped)."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if indexing is None:
        import warnings

        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2
        )
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    parts = [reshape(t, 1) if not t._data.shape else t for t in tensors]
    if builtins.any(len(t._data.shape) > 1 for t in parts):
        raise RuntimeError("torch.meshgrid: Expected 0D or 1D tensor in the tensor list")
    swap = indexing == "xy" and len(parts) >= 2
    if swap:
        parts[0], parts[1] = parts[1], parts[0]
    shape = tuple([t._data.shape[0] for t in parts])
    grids = [expand(t.view(*[-1 if i == j else 1 for j in range(len(parts))]), *shape) for i, t in enumerate(parts)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


# ---------------------------------------------------------------- repeats


def repeat(self: Tensor, *repeats: Any) -> Tensor:
    """The tensor copied that many times along each dimension (leading ones are added)."""
    times = sizes_of(repeats, "repeat")
    shape = self._data.shape
    if len(times) < len(shape):
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * (len(times) - len(shape)) + tuple(shape)
    interleaved: list = []
    for t, s in zip(times, shape):
        interleaved += [t, s]
    spaced = operators["view"](self, tuple([v for s in shape for v in (1, s)]))
    return (
        reshape(operators["expand"](spaced, tuple(interleaved)).clone(), *[t * s for t, s in zip(times, shape)])
        if times
        else self.clone()
    )


def tile(input: Tensor, *dims: Any) -> Tensor:
    """As ``repeat``, with ones added in front of ``dims`` where they are too few."""
    times = sizes_of(dims, "tile")
    return repeat(input, *((1,) * (len(input._data.shape) - len(times)) + tuple(times)))


def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element (slice of ``dim``) repeated ``repeats`` times, a number or one for each."""
    if repeats is None:
        return _indices_repeated(input)
    if dim is None:
        input, dim = reshape(input, -1), 0
    dim = wrap_dim(dim, len(input._data.shape))
    if not input._data.shape:
        input = reshape(input, 1)
    size = input._data.shape[dim]
    if isinstance(repeats, Tensor) and (len(repeats._data.shape) == 0 or repeats._data.size == 1 and size != 1):
        repeats = int(repeats.item())
    if isinstance(repeats, int):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        spread = operators["expand"](
            unsqueeze(input, dim + 1), (*input._data.shape[: dim + 1], repeats, *input._data.shape[dim + 1 :])
        )
        return reshape(spread.clone(), *input._data.shape[:dim], size * repeats, *input._data.shape[dim + 1 :])
    if len(repeats._data.shape) != 1 or repeats._data.shape[0] != size:
        raise RuntimeError(
            "repeats must have the same size as input along dim"
            if len(repeats._data.shape) == 1
            else "repeats must be 0-dim or 1-dim tensor"
        )
    return input.index_select(dim, _indices_repeated(repeats))


def _indices_repeated(repeats: Tensor) -> Tensor:
    from .._core import arrays
    from .._core.tensor import wrap

    if repeats._data.dtype.kind not in "iu":
        raise RuntimeError("repeats has to be Long or Int tensor")
    host = arrays.to_host(repeats._data)
    if host.size and host.min() < 0:
        raise RuntimeError("repeats can not be negative")
    raw = np.repeat(np.arange(host.size), host).astype(np.int64)
    return wrap(raw if type(repeats._data) is np.ndarray else arrays.to_device(raw, repeats.device))


# ---------------------------------------------------------------- triangles and diagonals


def _triangle(name: str) -> Any:
    def kernel(xp: Any, x: Any, diagonal: int) -> Any:
        return getattr(xp, name)(x, diagonal)

    op = operator(name, kernel, lambda n, g: (op(g, n.attrs[0]),), lambda x, diagonal: (x.shape, x.dtype), linear=True)
    return op


_tril, _triu = _triangle("tril"), _triangle("triu")
operators["tril"], operators["triu"] = _tril, _triu


def _check_matrix(name: str, x: Tensor) -> None:
    if len(x._data.shape) < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")


def tril(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:
    """The lower triangles of matrices: zeros above ``diagonal``."""
    _check_matrix("tril", input)
    result = _tril(input, diagonal)
    return result if out is None else store(out, result)


def triu(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:
    """The upper triangles of matrices: zeros below ``diagonal``."""
    _check_matrix("triu", input)
    result = _triu(input, diagonal)
    return result if out is None else store(out, result)


def _triangle_indices(fn: Any, row: int, col: int, offset: int, dtype: Any, device: Any) -> Tensor:
    from .creation import resolve_dtype
    from .from_data import placed

    raw = np.stack(np.nonzero(fn(np.ones((row, col), bool), offset))).astype(resolve_dtype(dtype, np.dtype(np.int64)))
    return placed(raw, device, False)


def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None
) -> Tensor:
    """Row and column indices (2, n) of the lower triangle of a ``row`` × ``col`` matrix."""
    return _triangle_indices(np.tril, row, col, offset, dtype, device)


def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None
) -> Tensor:
    """Row and column indices (2, n) of the upper triangle of a ``row`` × ``col`` matrix."""
    return _triangle_indices(np.triu, row, col, offset, dtype, device)


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices whose diagonals are the last dimension of ``input``, zeros elsewhere."""
    from .splitting import diagonal_backward

    ndim = len(input._data.shape) + 1
    dim1, dim2 = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n = input._data.shape[-1] + builtins.abs(offset)
    rest = list(input._data.shape[:-1])
    for d in sorted((dim1, dim2)):
        rest.insert(d, n)
    return diagonal_backward(input, tuple(rest), offset, dim1, dim2)


def diag(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:
    """The diagonal of a matrix, or the matrix with a vector as its diagonal."""
    ndim = len(input._data.shape)
    if ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    result = diag_embed(input, diagonal) if ndim == 1 else input.diagonal(diagonal).clone()
    return result if out is None else store(out, result)


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with the flattened ``input`` as its diagonal."""
    return diag_embed(reshape(input, -1), offset)


def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """``self.expand(other.size())``."""
    return expand(self, *other._data.shape) if other._data.shape else self


def view_as(self: Tensor, other: Tensor) -> Tensor:
    """``self.view(other.size())``."""
    return self.view(tuple(other._data.shape))


def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """``self.reshape(other.size())``."""
    return reshape(self, tuple(other._data.shape))


def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The sum over the dimensions that broadcasting would add to ``size``.

    Raises:
        RuntimeError: ``size`` does not broadcast to the tensor's.
    """
    from .._core.broadcast import reduce_to

    wanted = sizes_of(size, "sum_to_size")
    shape = self._data.shape
    extra = len(shape) - len(wanted)
    if extra < 0 or builtins.any(w != 1 and w != s for w, s in zip(wanted, shape[extra:])):
        raise RuntimeError(f"size {{{list(wanted)}}} is not expandable to size {{{list(shape)}}}.")
    result = reduce_to(self, wanted)
    return result.long() if result._data.dtype.kind in "biu" else result


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates in ``shape`` that flat ``indices`` stand for, one tensor a dimension."""
    if indices._data.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = tuple(shape.tolist()) if isinstance(shape, Tensor) else (shape,) if isinstance(shape, int) else tuple(shape)
    out, rest = [], indices
    for n in reversed(sizes):
        out.append(rest % n)
        rest = rest // n
    return tuple(out[::-1])


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write ``fill_value`` on the main diagonal; returns the tensor."""
    shape = self._data.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2:
        if len(set(shape)) != 1:
            raise RuntimeError("all dimensions of input must be of equal length")
        index = tuple([operators["arange"](shape[0])] * len(shape))
        self[index] = fill_value
        return self
    self.diagonal().fill_(fill_value)
    if wrap and shape[0] > shape[1] + 1:
        self[shape[1] + 1 :].fill_diagonal_(fill_value, True)
    return self


for _fn in (flip, fliplr, flipud, roll, rot90, movedim, moveaxis, ravel, unflatten, repeat, tile, repeat_interleave,
            tril, triu, diag, diag_embed,
            diagflat, expand_as, view_as, reshape_as, sum_to_size, fill_diagonal_):  # fmt: skip
    method(_fn)
method(movedim, "moveaxis")
for _fn in (tril, triu):
    inplace_method(_fn)
