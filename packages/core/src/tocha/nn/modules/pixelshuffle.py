"""Layers that move channels into pixels and back."""

from __future__ import annotations

from tocha._core.tensor import Tensor
from tocha.nn import functional as F

from .module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """``(*, C r**2, H, W)`` as ``(*, C, H r, W r)``. See :func:`tocha.pixel_shuffle`.

    >>> import tocha
    >>> tocha.nn.PixelShuffle(3)(tocha.zeros(1, 9, 4, 4)).shape
    tocha.Size([1, 1, 12, 12])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """``(*, C, H r, W r)`` as ``(*, C r**2, H, W)``. See :func:`tocha.pixel_unshuffle`.

    >>> import tocha
    >>> tocha.nn.PixelUnshuffle(3)(tocha.zeros(1, 1, 12, 12)).shape
    tocha.Size([1, 9, 4, 4])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
