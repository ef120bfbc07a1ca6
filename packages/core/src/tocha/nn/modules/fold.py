"""Layers between images and columns of their sliding blocks."""

from __future__ import annotations

from typing import Any

from tocha._core.tensor import Tensor
from tocha.nn import functional as F

from .module import Module

__all__ = ["Fold", "Unfold"]


class Fold(Module):
    """Columns of sliding blocks summed to images. See :func:`tocha.nn.functional.fold`.

    >>> import tocha
    >>> tocha.nn.Fold((4, 5), 2)(tocha.zeros(1, 12, 12)).shape
    tocha.Size([1, 3, 4, 5])
    """

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """The sliding blocks of images as columns. See :func:`tocha.nn.functional.unfold`.

    >>> import tocha
    >>> tocha.nn.Unfold(2)(tocha.zeros(1, 3, 4, 5)).shape
    tocha.Size([1, 12, 12])
    """

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
