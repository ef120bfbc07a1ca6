"""The partial inverse of max pooling: maxima put back to where they were found, zeros elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.dtypes import NP_INT64
from .._core.templates import expected_tensor, scalar_type_name
from .._core.tensor import Tensor
from .dims import product
from .pixels import unpool
from .pooling_checks import batched, integers, unbatched


def max_unpool(
    nd: int, input: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Tensor:
    """``input`` ``(N, C, *in)`` scattered to flat positions ``indices`` of a ``(N, C, *out)`` tensor of zeros.

    Raises:
        RuntimeError: shapes, dtypes or positions do not fit. ValueError: nor does ``output_size``.
    """
    name = f"max_unpool{nd}d"
    for position, (what, t) in enumerate((("input", input), ("indices", indices)), 1):
        if not isinstance(t, Tensor):
            raise expected_tensor(name, position, t, what)
    kernel = integers(name, "kernel_size", kernel_size, nd, 3)
    step = kernel if stride is None or stride == [] else integers(name, "stride", stride, nd, 4)
    pads = integers(name, "padding", padding, nd, 5)
    shape = input._data.shape
    if len(shape) not in (nd + 1, nd + 2):
        raise RuntimeError(
            f"Input to max_unpooling{nd}d should be a {nd + 1}d or {nd + 2}d Tensor, but got a tensor with "
            f"{len(shape)} dimensions."
        )
    size = _unpooled_size(shape[len(shape) - nd :], kernel, step, pads, output_size)
    if indices._data.dtype != NP_INT64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {scalar_type_name(indices._data.dtype)}")
    if tuple(indices._data.shape) != tuple(shape):
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(shape)}) but got indices tensor "
            f"with shape: {list(indices._data.shape)}"
        )
    _check_positions(indices, size)
    input, single = batched(input, nd)
    indices, _ = batched(indices, nd)
    return unbatched(unpool(input, indices, size), single)


def _unpooled_size(sizes: Any, kernel: tuple, stride: tuple, padding: tuple, output_size: Any) -> tuple:
    natural = [(n - 1) * s + k - 2 * p for n, k, s, p in zip(sizes, kernel, stride, padding)]
    if output_size is None:
        return tuple(natural)
    nd = len(kernel)
    wanted = tuple(output_size)
    if len(wanted) == nd + 2:
        wanted = wanted[2:]
    if len(wanted) != nd:
        raise ValueError(
            f"output_size should be a sequence containing {nd} or {nd + 2} elements, but it has a length of "
            f"'{len(wanted)}'"
        )
    for d in range(nd):
        low, high = natural[d] - stride[d], natural[d] + stride[d]
        if not low < wanted[d] < high:
            raise ValueError(f'invalid output_size "{wanted}" (dim {d} must be between {low} and {high})')
    return wanted


def _check_positions(indices: Tensor, size: tuple) -> None:
    raw = indices._data
    if type(raw) is not np.ndarray or not raw.size:  # a GPU is not waited for
        return
    limit = product(size)
    bad = raw[(raw < 0) | (raw >= limit)]
    if bad.size:
        sizes = "x".join(map(str, (1, *size) if len(size) == 1 else size))
        raise RuntimeError(
            f"Found an invalid max index: {int(bad.reshape(-1)[0])} (output volumes are of size {sizes})"
        )
