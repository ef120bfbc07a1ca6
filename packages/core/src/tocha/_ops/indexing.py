"""``x[...]`` and ``x[...] = v``: slices, integers, None, ellipsis, integer and boolean tensors.

As in PyTorch the basic parts (integers, slices, None, ellipsis) are applied first, as a view; the tensors that
remain index the dimensions of that view.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.broadcast import broadcast_shapes, operators
from .._core.families import method, operator
from .._core.grad_mode import recording
from .._core.inplace import check_writable, write_back
from .._core.record import ABSTRACT
from .._core.tensor import Tensor, wrap
from .._core.views import bump_version
from .constants import zeros_as

__all__: list[str] = []

ndarray = np.ndarray
BASIC = (int, slice, type(None), type(Ellipsis))

# ---------------------------------------------------------------- primitives


def _sliced_length(n: Any, s: slice) -> Any:
    start, stop, step = s.start, s.stop, s.step or 1
    if start is None and stop is None and step == 1:
        return n
    if not hasattr(n, "scalar_category"):
        return len(range(*s.indices(n)))
    start = 0 if start is None else start + n if start < 0 else start
    stop = n if stop is None else stop + n if stop < 0 else stop
    if type(stop) is int and not (stop <= n):
        stop = n
    length = stop - start
    return length if step == 1 else (length + step - 1) // step


def _slice_infer(x: Any, index: tuple) -> tuple:
    out: list = []
    d = 0
    consumed = sum([1 for i in index if i is not None and i is not Ellipsis])
    for i in index:
        if i is None:
            out.append(1)
        elif i is Ellipsis:
            rest = len(x.shape) - consumed
            out += x.shape[d : d + rest]
            d += rest
        elif isinstance(i, slice):
            out.append(_sliced_length(x.shape[d], i))
            d += 1
        else:
            d += 1
    return tuple(out) + tuple(x.shape[d:]), x.dtype


slice_index = operator(
    "slice",
    lambda xp, x, index: x[index],
    lambda n, g: (slice_pad(g, n.shape, n.attrs[0]),),
    _slice_infer,
    view=True,
    linear=True,
)
operators["slice"] = slice_index


def slice_pad_kernel(xp: Any, g: Any, shape: tuple, index: tuple) -> Any:
    out = xp.zeros(shape, g.dtype)
    out[index] = g
    return out


slice_pad: Callable = operator(
    "slice_pad",
    slice_pad_kernel,
    lambda n, g: (slice_index(g, n.attrs[1]),),
    lambda g, shape, index: (shape, g.dtype),
    linear=True,
)


def _full_index(ndim: int, positions: tuple, indices: Any) -> tuple:
    full: list = [slice(None)] * ndim
    for p, i in zip(positions, indices):
        full[p] = i
    return tuple(full)


operators["slice_pad"] = slice_pad


def _gather_infer(xs: tuple, positions: tuple) -> tuple:
    x, indices = xs[0], xs[1:]
    shape = broadcast_shapes(*[i.shape for i in indices])
    adjacent = positions == tuple(range(positions[0], positions[0] + len(positions)))
    rest = [n for d, n in enumerate(x.shape) if d not in positions]
    at = positions[0] if adjacent else 0
    return tuple(rest[:at]) + shape + tuple(rest[at:]), x.dtype


def _gather_kernel(xp: Any, xs: tuple, positions: tuple) -> Any:
    if len(positions) == 1:
        return (
            xp.take(xs[0], xs[1], positions[0])
            if positions[0] == 0
            else xs[0][_full_index(xs[0].ndim, positions, xs[1:])]
        )
    return xs[0][_full_index(xs[0].ndim, positions, xs[1:])]


def _gather_rule(n: Any, g: Any) -> tuple:
    (positions,) = n.attrs
    indices = n.saved
    return (_scatter_sum((g, *indices), n.shape, positions),) + (None,) * len(indices)


gather_index = operator("index", _gather_kernel, _gather_rule, _gather_infer, arity=None, save=("from1",), linear=True)
operators["index"] = gather_index


def _scatter_sum_kernel(xp: Any, xs: tuple, shape: tuple, positions: tuple) -> Any:
    g, indices = xs[0], xs[1:]
    out = xp.zeros(shape, g.dtype)
    if len(positions) == 1 and positions[0] == 0 and xp is np:
        return sum_rows(out, indices[0], g)
    xp.add.at(out, _full_index(len(shape), positions, indices), g)
    return out


def sum_rows(out: ndarray, index: ndarray, g: ndarray) -> ndarray:
    """``out[index] += g`` with repeated rows: sorted, then summed run by run."""
    flat = index.reshape(-1)
    if flat.size and flat.min() < 0:
        flat = np.where(flat < 0, flat + out.shape[0], flat)
    if g.size == flat.size and g.dtype.kind == "f":  # NumPy adds single numbers fast
        np.add.at(out.reshape(-1), flat, g.reshape(-1))
        return out
    if not g.size:
        return out
    rows = g.reshape(flat.size, -1)
    target = out.reshape(out.shape[0], -1)
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if starts.size * 4 > flat.size:  # hardly any row repeats: first all first occurrences, then the second ones, …
        counts = np.diff(starts, append=flat.size)
        most = int(counts.max()) if counts.size else 0
        if most <= 32:
            for k in range(most):
                chosen = starts[counts > k] + k
                target[ordered[chosen]] += rows[order[chosen]]
            return out
    sums = np.add.reduceat(rows[order], starts, axis=0)
    target[ordered[starts]] = sums
    return out


def _scatter_sum_rule(n: Any, g: Any) -> tuple:
    positions = n.attrs[1]
    return (gather_index((g, *n.saved), positions),) + (None,) * len(n.saved)


_scatter_sum = operator(
    "index_backward",
    _scatter_sum_kernel,
    _scatter_sum_rule,
    lambda xs, shape, positions: (shape, xs[0].dtype),
    arity=None,
    save=("from1",),
    linear=True,
)


def _put_kernel(xp: Any, xs: tuple, positions: tuple, accumulate: bool) -> Any:
    x, value, indices = xs[0], xs[1], xs[2:]
    out = x.copy()
    full = _full_index(x.ndim, positions, indices)
    if (
        accumulate
        and xp is np
        and positions == (0,)
        and value.shape == (*indices[0].shape, *x.shape[1:])
        and x.ndim > 1
    ):
        out += sum_rows(np.zeros_like(out), indices[0], value)
    elif accumulate:
        xp.add.at(out, full, value)
    else:
        out[full] = value
    return out


def _put_rule(n: Any, g: Any) -> tuple:
    positions, accumulate = n.attrs
    indices = n.saved
    gv = None if n.edges[1] is None else gather_index((g, *indices), positions)
    gx = g
    if n.edges[0] is None:
        gx = None
    elif not accumulate:
        gx = index_put_op((g, zeros_as(gather_index((g, *indices), positions)), *indices), positions, False)
    return (gx, gv) + (None,) * len(indices)


index_put_op = operator(
    "index_put",
    _put_kernel,
    _put_rule,
    lambda xs, *a: (xs[0].shape, xs[0].dtype),
    arity=None,
    save=("from2",),
    linear=True,
)

# ---------------------------------------------------------------- reading an index


def split_index(x: Tensor, index: Any) -> tuple[Tensor, tuple[int, ...], list[Tensor]]:
    """Apply the basic parts of ``index`` to ``x``; returns the view, and the positions and tensors left to apply."""
    if type(index) is not tuple:
        index = tuple(index) if isinstance(index, (list,)) and _is_tuple_like(index) else (index,)
    items: list = []
    for i in index:
        if isinstance(i, BASIC) and not isinstance(i, bool):
            items.append(i)
        elif isinstance(i, Tensor):
            items.append(i)
        else:
            items.append(_as_index(i, x))
    consumed = 0
    for i in items:
        if isinstance(i, Tensor) and i._data.dtype.kind == "b":
            consumed += len(i._data.shape)
        elif i is not None and i is not Ellipsis:
            consumed += 1
    ndim = len(x._data.shape)
    if consumed > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    if (
        items.count(Ellipsis) > 1
        if not any(isinstance(i, Tensor) for i in items)
        else sum(1 for i in items if i is Ellipsis) > 1
    ):
        raise IndexError("an index can only have a single ellipsis ('...')")
    basic: list = []
    left: list[tuple[int, Tensor]] = []
    out_dim = dim = 0
    for i in items:
        if i is Ellipsis:
            rest = ndim - consumed
            basic += [slice(None)] * rest
            out_dim, dim = out_dim + rest, dim + rest
        elif i is None:
            basic.append(None)
            out_dim += 1
        elif isinstance(i, slice):
            basic.append(_checked_slice(i))
            out_dim, dim = out_dim + 1, dim + 1
        elif isinstance(i, Tensor):
            if i._data.dtype.kind == "b":
                left_masks = _mask_positions(i, x, dim)
                if not i._data.shape:  # a 0-d mask adds a dimension
                    basic.append(None)
                    left.append((out_dim, left_masks[0]))
                    out_dim += 1
                else:
                    for k, part in enumerate(left_masks):
                        basic.append(slice(None))
                        left.append((out_dim + k, part))
                    out_dim, dim = out_dim + len(left_masks), dim + len(left_masks)
            else:
                if i._data.dtype.kind not in "iu":
                    raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
                if not i._data.shape and type(i._data) is ndarray:
                    basic.append(_checked_int(int(i._data), x._data.shape[dim], dim))
                    dim += 1
                else:
                    basic.append(slice(None))
                    left.append((out_dim, i))
                    out_dim, dim = out_dim + 1, dim + 1
        else:
            basic.append(_checked_int(i, x._data.shape[dim], dim))
            dim += 1
    trivial = all([type(b) is slice and b == slice(None) for b in basic])
    if not trivial or not left:
        basic.append(Ellipsis)  # keeps a 0-d result an array that aliases
        x = slice_index(x, tuple(basic))
    return x, tuple([p for p, _ in left]), [t for _, t in left]


def _is_tuple_like(index: list) -> bool:
    return (
        len(index) < 32
        and any(isinstance(i, (Tensor, slice, type(None), type(Ellipsis))) and not isinstance(i, (int,)) for i in index)
        and not all(isinstance(i, Tensor) and not i._data.shape for i in index)
    )


def _as_index(i: Any, x: Tensor) -> Any:
    """A tensor, an int, or an error, for anything else used as an index."""
    if isinstance(i, (list, tuple, bool, np.bool_, range)):
        raw = np.asarray(
            [t.item() if isinstance(t, Tensor) else t for t in i]
            if isinstance(i, (list, tuple)) and any(isinstance(t, Tensor) for t in i)
            else i
        )
        if raw.size == 0 and raw.dtype.kind == "f":
            raw = raw.astype(np.int64)
        return _index_tensor(raw, x)
    if isinstance(i, ndarray):
        return _index_tensor(i, x)
    if hasattr(i, "scalar_category"):
        return i
    if hasattr(i, "__index__"):
        return i.__index__()
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
        f"{type(i).__name__})"
    )


def _index_tensor(raw: ndarray, x: Tensor) -> Tensor:
    if raw.dtype.kind not in "biu":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    t = wrap(raw)
    return t if type(x._data) is ndarray or type(x._data) in ABSTRACT else t.to(x.device)


def _checked_int(i: Any, size: Any, dim: int) -> Any:
    if type(i) is int and type(size) is int and not -size <= i < size:
        raise IndexError(f"index {i} is out of bounds for dimension {dim} with size {size}")
    return i


def _checked_slice(s: slice) -> slice:
    start, stop, step = [int(v.item()) if isinstance(v, Tensor) else v for v in (s.start, s.stop, s.step)]
    if step is not None and step <= 0:
        raise ValueError("step must be greater than zero")
    return slice(start, stop, step)


def _mask_positions(mask: Tensor, x: Tensor, dim: int) -> tuple[Tensor, ...]:
    shape = mask._data.shape
    for k, n in enumerate(shape):
        if n != x._data.shape[dim + k]:
            raise IndexError(
                f"The shape of the mask {list(shape)} at index {k} does not match the shape of the indexed tensor "
                f"{list(x._data.shape)} at index {dim + k}"
            )
    if not shape:
        raw = np.zeros(1 if bool(mask) else 0, np.int64)
        return (wrap(raw),)
    return tuple(operators["nonzero"](mask))


def getitem(self: Tensor, index: Any) -> Tensor:
    """``self[index]``, a view where the index is basic."""
    kind = type(index)
    if kind is int:
        shape = self._data.shape
        if not shape:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                "convert a 0-dim tensor to a number"
            )
        n = shape[0]
        if type(n) is int and not -n <= index < n:
            raise IndexError(f"index {index} is out of bounds for dimension 0 with size {n}")
        return slice_index(self, (index, Ellipsis))
    x, positions, indices = split_index(self, index)
    if not indices:
        return x
    _check_broadcast(indices)
    return gather_index((x, *indices), positions)


def _check_broadcast(indices: list[Tensor]) -> None:
    if len(indices) > 1:
        try:
            broadcast_shapes(*[i._data.shape for i in indices])
        except RuntimeError:
            shapes = ", ".join([str(list(i._data.shape)) for i in indices])
            raise IndexError(
                f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
            ) from None


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """``self[index] = value``."""
    if not isinstance(value, Tensor):
        value = operators["tensor_like"](value, self)
    x, positions, indices = split_index(self, index)
    assign(x, positions, indices, value, self)


def assign(
    x: Tensor, positions: tuple, indices: list[Tensor], value: Tensor, whole: Tensor, accumulate: bool = False
) -> None:
    if not indices:
        view_assign(x, value)
        return
    check_writable(x)
    _check_broadcast(indices)
    raw, v = x._data, value._data
    if v.dtype != raw.dtype:
        value = operators["cast"](value, raw.dtype)
        v = value._data
    history = recording() and (x.requires_grad or value.requires_grad)
    concrete = type(raw) is ndarray and type(v) is ndarray and all([type(i._data) is ndarray for i in indices])
    if not history and concrete:
        full = _full_index(raw.ndim, positions, [i._data for i in indices])
        try:
            if accumulate:
                np.add.at(raw, full, v)
            else:
                raw[full] = v
        except ValueError as error:
            raise RuntimeError(
                f"shape mismatch: value tensor of shape {list(v.shape)} cannot be broadcast to indexing result"
            ) from error
        bump_version(x)
        return
    result = _gather_infer((x._data, *[i._data for i in indices]), positions)[0]
    if tuple(v.shape) != tuple(result):
        value = operators["expand"](drop_leading_ones(value, len(result)), tuple(result))
    write_back(x, index_put_op((x, value, *indices), positions, accumulate))


def drop_leading_ones(value: Tensor, ndim: int) -> Tensor:
    shape = value._data.shape
    extra = len(shape) - ndim
    if extra > 0 and all([s == 1 for s in shape[:extra]]):
        return operators["view"](value, tuple(shape[extra:]))
    return value


def view_assign(view: Tensor, value: Tensor) -> None:
    """Write ``value`` into a view of a tensor."""
    check_writable(view)
    if len(value._data.shape) > len(view._data.shape):
        value = drop_leading_ones(value, len(view._data.shape))
    try:
        write_back(view, value, broadcast=True)
    except ValueError as error:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value._data.shape)} cannot be broadcast to indexing result "
            f"of shape {list(view._data.shape)}"
        ) from error


method(getitem, "__getitem__")
method(setitem, "__setitem__")
