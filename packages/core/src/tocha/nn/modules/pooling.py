"""Pooling layers."""

from __future__ import annotations

from typing import Any

from tocha._core.tensor import Tensor
from tocha.nn import functional as F

from ._sizes import ntuple
from .module import Module

__all__ = ["AvgPool1d", "AvgPool2d", "AvgPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d"]


class _MaxPool(Module):
    nd: int

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        pool = getattr(F, f"max_pool{self.nd}d")
        return pool(
            input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode, return_indices=self.return_indices
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The maximum over windows of ``(N, C, L)`` or ``(C, L)``. See :class:`MaxPool2d`."""

    nd = 1


class MaxPool2d(_MaxPool):
    """The maximum over windows of ``(N, C, H, W)`` or ``(C, H, W)``.

    Args:
        kernel_size: the windows' size, a number or one a dimension.
        stride: from one window to the next (default: ``kernel_size``).
        padding: implicit negative infinity on both sides, at most half of the window.
        dilation: from one element of a window to the next.
        return_indices: return a pair with the positions of the maxima, for ``MaxUnpool2d``.
        ceil_mode: keep a last window that begins inside of the input and ends outside.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.MaxPool2d.html

    >>> import tocha
    >>> tocha.nn.MaxPool2d(2)(tocha.zeros(1, 3, 8, 6)).shape
    tocha.Size([1, 3, 4, 3])
    """

    nd = 2


class MaxPool3d(_MaxPool):
    """The maximum over windows of ``(N, C, D, H, W)`` or ``(C, D, H, W)``. See :class:`MaxPool2d`."""

    nd = 3


class AvgPool1d(Module):
    """The mean over windows of ``(N, C, L)`` or ``(C, L)``. See :class:`AvgPool2d`."""

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True
    ) -> None:
        super().__init__()
        self.kernel_size = ntuple(kernel_size, 1)
        self.stride = self.kernel_size if stride is None else ntuple(stride, 1)
        self.padding, self.ceil_mode, self.count_include_pad = ntuple(padding, 1), ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPool(Module):
    nd: int

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode, self.count_include_pad = padding, ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        pool = getattr(F, f"avg_pool{self.nd}d")
        return pool(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool):
    """The mean over windows of ``(N, C, H, W)`` or ``(C, H, W)``.

    Args:
        kernel_size: the windows' size, a number or one a dimension.
        stride: from one window to the next (default: ``kernel_size``).
        padding: implicit zeros on both sides, at most half of the window.
        ceil_mode: keep a last window that begins inside of the input and ends outside.
        count_include_pad: whether the zeros count in the mean.
        divisor_override: divide the sums by this number instead.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.AvgPool2d.html

    >>> import tocha
    >>> tocha.nn.AvgPool2d(2)(tocha.zeros(1, 3, 8, 6)).shape
    tocha.Size([1, 3, 4, 3])
    """

    nd = 2


class AvgPool3d(_AvgPool):
    """The mean over windows of ``(N, C, D, H, W)`` or ``(C, D, H, W)``. See :class:`AvgPool2d`."""

    nd = 3
