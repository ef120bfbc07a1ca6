"""Pools whose windows follow from the size of the output: adaptive average and maximum, in 1, 2 and 3 dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.families import half_as_float, operator
from .._core.tensor import Tensor
from .layout import channels_are_dense, new_last, new_like, to_first, to_last
from .max_pooling import max_pool, max_pool_indices
from .pixels import pick_pixels
from .pooling_checks import batched, check_dtype, check_tensor, unbatched
from .tie import tied

__all__ = ["adaptive_avg_pool1d", "adaptive_max_pool1d"]


def spans(n: int, out: int) -> list[tuple[int, int]]:
    """The windows ``[start, end)`` that cut a dimension of ``n`` elements into ``out`` parts, overlapping where they
    must."""
    return [(i * n // out, -((-(i + 1) * n) // out)) for i in range(out)]


def _reduce(xp: Any, x: Any, axis: int, out: int) -> Any:
    """The means over the windows of one dimension."""
    n = x.shape[axis]
    if n % max(out, 1) == 0 and out:
        return x.reshape(*x.shape[:axis], out, n // out, *x.shape[axis + 1 :]).sum(axis + 1) / x.dtype.type(n // out)
    result = xp.empty((*x.shape[:axis], out, *x.shape[axis + 1 :]), x.dtype)
    lead = (slice(None),) * axis
    for i, (start, end) in enumerate(spans(n, out)):
        result[(*lead, i)] = x[(*lead, slice(start, end))].sum(axis) / x.dtype.type(end - start)
    return result


def _avg_kernel(xp: Any, x: Any, size: tuple) -> Any:
    last = channels_are_dense(x)
    y = to_last(x) if last else x
    for i, out in enumerate(size):
        axis = i + (1 if last else 2)
        if out != y.shape[axis]:
            y = _reduce(xp, y, axis, out)
    if y.base is x or y is x:
        y = y.copy()
    return to_first(y) if last else y


def _avg_backward_kernel(xp: Any, g: Any, size: tuple) -> Any:
    for axis, n in enumerate(size, 2):
        out = g.shape[axis]
        if out == n:
            continue
        lead = (slice(None),) * axis
        shape = (*g.shape[:axis], n, *g.shape[axis + 1 :])
        result = new_last(xp, shape, g.dtype) if out == 1 else new_like(xp, g, shape)
        if out == 1:
            result[...] = g / g.dtype.type(n)
        else:
            result[...] = 0
            for i, (start, end) in enumerate(spans(n, out)):
                result[(*lead, slice(start, end))] += g[(*lead, slice(i, i + 1))] / g.dtype.type(end - start)
        g = result
    return g.copy()


adaptive_avg_pool = operator(
    "adaptive_avg_pool",
    half_as_float(_avg_kernel),
    lambda n, g: (tied(_adaptive_avg_pool_backward(g, tuple(n.shape[2:])), n.saved[0]),),
    lambda x, size: ((*x.shape[:2], *size), x.dtype),
    save=(0,),
    linear=True,
)
_adaptive_avg_pool_backward: Callable = operator(
    "adaptive_avg_pool_backward",
    half_as_float(_avg_backward_kernel),
    lambda n, c: (adaptive_avg_pool(c, tuple(n.shape[2:])),),
    lambda g, size: ((*g.shape[:2], *size), g.dtype),
    linear=True,
)

# ---------------------------------------------------------------- public


def _output_size(name: str, input: Tensor, output_size: Any, nd: int) -> tuple:
    """``output_size`` as a tuple, with the input's size where it is None."""
    shape = input._data.shape
    if nd == 1 and output_size is None:
        raise TypeError(f"{name}(): argument 'output_size' (position 2) must be tuple of ints, not NoneType")
    if output_size is None or type(output_size) is int or hasattr(output_size, "scalar_category"):
        size: tuple = (output_size,) * nd
    elif isinstance(output_size, (tuple, list)):
        size = tuple(output_size)
    else:
        raise TypeError(
            f"{name}(): argument 'output_size' (position 2) must be tuple of ints, not {type(output_size).__name__}"
        )
    if len(size) != nd:
        if nd == 1:
            raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(size)})")
        raise RuntimeError(f"{name}: output_size must be {nd}")
    return tuple([shape[len(shape) - nd + i] if s is None else s for i, s in enumerate(size)])


def _check(name: str, input: Any, output_size: Any, nd: int) -> tuple:
    check_tensor(name, input)
    shape = input._data.shape
    if len(shape) not in (nd + 1, nd + 2):
        if nd == 1:
            raise RuntimeError(
                f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument #1 'self' (while "
                f"checking arguments for {name})"
            )
        raise RuntimeError(
            f"{name}(): Expected {nd + 1}D or {nd + 2}D tensor, but got{':' if 'max' in name else ''} {list(shape)}"
        )
    size = _output_size(name, input, output_size, nd)
    if any([type(s) is int and s < 0 for s in size]):
        values = ", ".join(map(str, size))
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {{{values}}}"
        )
    for i in range(len(shape) - nd, len(shape)):
        if type(shape[i]) is int and shape[i] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(shape)} with dimension {i} being empty"
            )
    check_dtype(name, input, "fV")
    return size


def _average(nd: int, input: Any, output_size: Any) -> Tensor:
    size = _check(f"adaptive_avg_pool{nd}d", input, output_size, nd)
    input, single = batched(input, nd)
    return unbatched(adaptive_avg_pool(input, size), single)


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The means over ``output_size`` windows of ``(N, C, L)`` or ``(C, L)``. See :func:`adaptive_avg_pool2d`."""
    return _average(1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means over windows that cut an image into ``output_size`` parts.

    Args:
        input: ``(N, C, H, W)`` or ``(C, H, W)``, floating.
        output_size: ``(H', W')``, or one number for both; None keeps the input's size.

    Raises:
        RuntimeError: the sizes do not fit.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.AdaptiveAvgPool2d.html

    Example:
        >>> import tocha
        >>> tocha.nn.functional.adaptive_avg_pool2d(tocha.arange(16.0).view(1, 4, 4), 2).tolist()
        [[[2.5, 4.5], [10.5, 12.5]]]
    """
    return _average(2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The means over windows that cut a volume into ``output_size`` parts. See :func:`adaptive_avg_pool2d`."""
    return _average(3, input, output_size)


def adaptive_max(nd: int, input: Any, output_size: Any, with_indices: bool) -> Any:
    """Adaptive max pooling in ``nd`` dimensions, with the positions of the maxima where wanted."""
    size = _check(f"adaptive_max_pool{nd}d", input, output_size, nd)
    input, single = batched(input, nd)
    sizes = input._data.shape[2:]
    windows = tuple([tuple([(start, end - start, 1) for start, end in spans(n, out)]) for n, out in zip(sizes, size)])
    regular = all([out and n % out == 0 for n, out in zip(sizes, size)])
    indices: Any = max_pool_indices(input, windows) if with_indices or not regular else None
    if regular:
        kernel = tuple([n // out for n, out in zip(sizes, size)])
        values = max_pool(input, kernel, kernel, (0,) * nd, (1,) * nd, False)
    else:
        values = pick_pixels(input, indices)
    return (unbatched(values, single), unbatched(indices, single)) if with_indices else unbatched(values, single)


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """The maxima over ``output_size`` windows of ``(N, C, L)`` or ``(C, L)``, and their positions."""
    return adaptive_max(1, input, output_size, True)
