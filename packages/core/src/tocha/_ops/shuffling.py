"""Channels rearranged: into pixels, out of them, and among groups."""

from __future__ import annotations

from typing import Any

from .._core.broadcast import operators
from .._core.templates import expected_tensor
from .._core.tensor import Tensor

__all__ = ["channel_shuffle", "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]


def _check(name: str, input: Any, argument: str, factor: Any, verb: str = "expects") -> None:
    if not isinstance(input, Tensor):
        raise expected_tensor(name, 1, input)
    if isinstance(factor, (bool, float)) or not hasattr(factor, "__index__"):
        raise TypeError(f"{name}(): argument '{argument}' (position 2) must be int, not {type(factor).__name__}")
    ndim = len(input._data.shape)
    if ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {ndim} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {argument}, but got {factor}")


def _rearranged(input: Tensor, cut: tuple, order: tuple, shape: tuple) -> Tensor:
    """The last dimensions as ``cut``, permuted, as ``shape``; dimensions before them stay."""
    view, permute = operators["view"], operators["permute"]
    lead = tuple(input._data.shape[:-3])
    n = len(lead)
    moved = permute(view(input, (*lead, *cut)), (*range(n), *[n + i for i in order]))
    return view(moved, (*lead, *shape))


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """``(*, C r**2, H, W)`` as ``(*, C, H r, W r)``: each pixel's channels become a square of ``r`` by ``r`` pixels.

    Raises:
        RuntimeError: the channels are not divisible by ``upscale_factor**2``.

    Source: https://arxiv.org/abs/1609.05158 and https://docs.pytorch.org/docs/2.13/generated/torch.nn.PixelShuffle.html

    Example:
        >>> import tocha
        >>> tocha.pixel_shuffle(tocha.zeros(1, 8, 2, 3), 2).shape
        tocha.Size([1, 2, 4, 6])
    """
    r = upscale_factor
    _check("pixel_shuffle", input, "upscale_factor", r)
    c, h, w = input._data.shape[-3:]
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={c} is not divisible by {r * r}"
        )
    return _rearranged(input, (c // (r * r), r, r, h, w), (0, 3, 1, 4, 2), (c // (r * r), h * r, w * r))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """``(*, C, H r, W r)`` as ``(*, C r**2, H, W)``: the inverse of :func:`pixel_shuffle`.

    Raises:
        RuntimeError: height or width are not divisible by ``downscale_factor``.

    Example:
        >>> import tocha
        >>> tocha.pixel_unshuffle(tocha.zeros(1, 2, 4, 6), 2).shape
        tocha.Size([1, 8, 2, 3])
    """
    r = downscale_factor
    _check("pixel_unshuffle", input, "downscale_factor", r)
    c, h, w = input._data.shape[-3:]
    for what, n, dim in (("height", h, -2), ("width", w, -1)):
        if n % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {what} to be divisible by downscale_factor, but input.size({dim})={n} is not "
                f"divisible by {r}"
            )
    return _rearranged(input, (c, h // r, r, w // r, r), (0, 2, 4, 1, 3), (c * r * r, h // r, w // r))


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of ``(N, C, *)`` in another order: the first of each of ``groups`` groups, then the second of each …

    Raises:
        RuntimeError: the channels are not divisible by ``groups``.

    Source: https://arxiv.org/abs/1707.01083 and https://docs.pytorch.org/docs/2.13/generated/torch.nn.ChannelShuffle.html

    Example:
        >>> import tocha
        >>> tocha.channel_shuffle(tocha.arange(4.0).view(1, 4, 1), 2).flatten().tolist()
        [0.0, 2.0, 1.0, 3.0]
    """
    if not isinstance(input, Tensor):
        raise expected_tensor("channel_shuffle", 1, input)
    shape = tuple(input._data.shape)
    if len(shape) < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} groups."
        )
    view, permute = operators["view"], operators["permute"]
    cut = view(input, (shape[0], groups, shape[1] // groups, *shape[2:]))
    return view(permute(cut, (0, 2, 1, *range(3, len(shape) + 1))), shape)


native_channel_shuffle = channel_shuffle
