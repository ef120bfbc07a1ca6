"""Fractional max pooling: windows of a fixed size at positions drawn for each channel.

Source: Ben Graham, Fractional Max-Pooling, https://arxiv.org/abs/1412.6071
"""

from __future__ import annotations

import math
from typing import Any

from .._core.dtypes import NP_INT64
from .._core.families import operator
from .._core.tensor import Tensor
from .pixels import pick_pixels
from .pooling_checks import batched, check_dtype, check_tensor, integers, unbatched


def _starts(xp: Any, samples: Any, n: int, out: int, kernel: int) -> Any:
    """Where the windows of a dimension of ``n`` elements begin: ``(N, C, out)`` for samples ``(N, C)`` from [0, 1)."""
    last = n - kernel
    starts = xp.full((*samples.shape, out), last, NP_INT64)
    if out > 1:
        step = samples.dtype.type(last) / samples.dtype.type(out - 1)
        first = (samples * step).astype(NP_INT64)
        counts = xp.arange(out - 1, dtype=samples.dtype)
        starts[..., :-1] = ((samples[..., None] + counts) * step).astype(NP_INT64) - first[..., None]
    return starts


def _indices_kernel(xp: Any, x: Any, samples: Any, kernel: tuple, size: tuple) -> Any:
    nd = len(kernel)
    # The samples of a channel belong to (width, height) in two dimensions and to (depth, height, width) in three.
    order = (1, 0) if nd == 2 else (0, 1, 2)
    flat: Any = xp.zeros((1,) * (2 + 2 * nd), NP_INT64)
    index: list = [xp.arange(n).reshape(-1, *(1,) * (1 + 2 * nd - i)) for i, n in enumerate(x.shape[:2])]
    for d in range(nd):
        n = x.shape[2 + d]
        starts = _starts(xp, samples[:, :, order[d]], n, size[d], kernel[d])
        shape = [1] * (2 * nd)
        shape[d], offsets = size[d], [1] * (2 * nd)
        offsets[nd + d] = kernel[d]
        place = starts.reshape(*starts.shape[:2], *shape) + xp.arange(kernel[d]).reshape(offsets)
        index.append(place)
        flat = flat * n + place
    seen = x[tuple(index)]
    lead = seen.shape[: 2 + nd]
    best = xp.argmax(seen.reshape(*lead, math.prod(kernel)), -1)
    flat = xp.broadcast_to(flat, seen.shape).reshape(*lead, math.prod(kernel))
    return xp.take_along_axis(flat, best[..., None], -1)[..., 0]


_fractional_indices = operator(
    "fractional_max_pool_indices",
    _indices_kernel,
    None,
    lambda x, samples, kernel, size: ((*x.shape[:2], *size), NP_INT64),
    arity=2,
)


def fractional_max_pool(
    nd: int, input: Any, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The maxima and their positions; ``samples`` is ``(N, C, nd)`` from [0, 1), drawn where None."""
    name = f"fractional_max_pool{nd}d"
    check_tensor(name, input)
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    shape = input._data.shape
    if len(shape) not in (nd + 1, nd + 2):
        raise RuntimeError(f"{name}(): Expected {nd + 1}D or {nd + 2}D tensor, but got: {list(shape)}")
    check_dtype(name, input, "fV")
    kernel = integers(name, "kernel_size", kernel_size, nd)
    if output_size is None:
        ratios = (output_ratio,) * nd if isinstance(output_ratio, (int, float)) else tuple(output_ratio)
        if len(ratios) != nd:
            raise ValueError(f"{name} requires output_ratio to either be a single float or tuple of {nd} floats.")
        output_size = [int(n * r) for n, r in zip(shape[-nd:], ratios)]
    size = integers(name, "output_size", output_size, nd)
    axes = ("depth", "height", "width")[-nd:]
    for axis, n, k, out in zip(axes, shape[-nd:], kernel, size):
        if out + k - 1 > n:
            raise RuntimeError(f"{name}(): pool {axis} {k} too large relative to input {axis} {n}")
    input, single = batched(input, nd)
    if samples is None:
        import tocha

        samples = tocha.rand(*input._data.shape[:2], nd, dtype=input.dtype, device=input.device)
    else:
        samples = _checked_samples(input, samples, nd)
    indices = _fractional_indices(input, samples, kernel, size)
    return unbatched(pick_pixels(input, indices), single), unbatched(indices, single)


def _checked_samples(input: Tensor, samples: Tensor, nd: int) -> Tensor:
    given, (batch, channels) = samples._data.shape, input._data.shape[:2]
    if len(given) != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {len(given)}")
    if samples._data.dtype != input._data.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if given[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if given[1] != channels:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if given[2] != nd:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {nd}; got {given[2]}.")
    return samples if given[0] == batch else samples[:batch]
