"""Pooling layers."""

from __future__ import annotations

from typing import Any

from tocha._core.tensor import Tensor
from tocha.nn import functional as F

from ._sizes import ntuple
from .module import Module

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
    "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
    "MaxUnpool3d",
]  # fmt: skip


class _MaxPool(Module):
    nd: int

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        pool = getattr(F, f"max_pool{self.nd}d")
        return pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
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
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
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
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode, self.count_include_pad = padding, ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        pool = getattr(F, f"avg_pool{self.nd}d")
        return pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

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


class _MaxUnpool(Module):
    nd: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = ntuple(kernel_size, self.nd)
        self.stride = self.kernel_size if stride is None else ntuple(stride, self.nd)
        self.padding = ntuple(padding, self.nd)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return getattr(F, f"max_unpool{self.nd}d")(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """The maxima of :class:`MaxPool1d` put back to where they were. See :class:`MaxUnpool2d`."""

    nd = 1


class MaxUnpool2d(_MaxUnpool):
    """The maxima of :class:`MaxPool2d` put back to where they were, zeros elsewhere.

    ``forward`` takes the maxima, their positions, and the size before the pool where several sizes pool to the same.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.MaxUnpool2d.html

    >>> import tocha
    >>> values, indices = tocha.nn.MaxPool2d(2, return_indices=True)(tocha.arange(16.0).view(1, 4, 4))
    >>> tocha.nn.MaxUnpool2d(2)(values, indices).sum().item()
    40.0
    """

    nd = 2


class MaxUnpool3d(_MaxUnpool):
    """The maxima of :class:`MaxPool3d` put back to where they were. See :class:`MaxUnpool2d`."""

    nd = 3


# ---------------------------------------------------------------- adaptive


class _AdaptiveAvgPool(Module):
    nd: int

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, f"adaptive_avg_pool{self.nd}d")(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """The means over ``output_size`` windows of ``(N, C, L)`` or ``(C, L)``. See :class:`AdaptiveAvgPool2d`."""

    nd = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """The means over windows that cut ``(N, C, H, W)`` or ``(C, H, W)`` into ``output_size`` parts.

    ``output_size`` is ``(H', W')`` or one number for both; None keeps the input's size.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.AdaptiveAvgPool2d.html

    >>> import tocha
    >>> tocha.nn.AdaptiveAvgPool2d((1, None))(tocha.zeros(2, 3, 8, 6)).shape
    tocha.Size([2, 3, 1, 6])
    """

    nd = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """The means over windows that cut a volume into ``output_size`` parts. See :class:`AdaptiveAvgPool2d`."""

    nd = 3


class _AdaptiveMaxPool(Module):
    nd: int

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Any:
        return getattr(F, f"adaptive_max_pool{self.nd}d")(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The maxima over ``output_size`` windows of ``(N, C, L)`` or ``(C, L)``. See :class:`AdaptiveMaxPool2d`."""

    nd = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The maxima over windows that cut ``(N, C, H, W)`` or ``(C, H, W)`` into ``output_size`` parts.

    ``output_size`` is ``(H', W')`` or one number for both; None keeps the input's size. With ``return_indices`` a pair
    with the positions of the maxima.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.AdaptiveMaxPool2d.html

    >>> import tocha
    >>> tocha.nn.AdaptiveMaxPool2d(2)(tocha.zeros(2, 3, 8, 6)).shape
    tocha.Size([2, 3, 2, 2])
    """

    nd = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The maxima over windows that cut a volume into ``output_size`` parts. See :class:`AdaptiveMaxPool2d`."""

    nd = 3


# ---------------------------------------------------------------- power average and fractional


class _LPPool(Module):
    nd: int

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, f"lp_pool{self.nd}d")(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """The power average over windows of ``(N, C, L)`` or ``(C, L)``. See :class:`LPPool2d`."""

    nd = 1


class LPPool2d(_LPPool):
    """``sum(x**p)**(1 / p)`` over windows of ``(N, C, H, W)`` or ``(C, H, W)``, with ``p = norm_type``.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LPPool2d.html

    >>> import tocha
    >>> tocha.nn.LPPool2d(2, 2)(tocha.ones(1, 1, 2, 2)).item()
    2.0
    """

    nd = 2


class LPPool3d(_LPPool):
    """The power average over windows of ``(N, C, D, H, W)`` or ``(C, D, H, W)``. See :class:`LPPool2d`."""

    nd = 3


class _FractionalMaxPool(Module):
    nd: int

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.return_indices = ntuple(kernel_size, self.nd), return_indices
        if _random_samples is not None:
            self.register_buffer("_random_samples", _random_samples)
        else:
            self._random_samples = None
        self.output_size = None if output_size is None else ntuple(output_size, self.nd)
        self.output_ratio = None if output_ratio is None else ntuple(output_ratio, self.nd)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all([0 < ratio < 1 for ratio in self.output_ratio]):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        pool = getattr(F, f"fractional_max_pool{self.nd}d")
        return pool(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """The maxima over windows of ``(N, C, H, W)`` or ``(C, H, W)`` at random positions.

    Args:
        kernel_size: the windows' size.
        output_size, output_ratio: one of them: the size of the result, or its share of the input's.
        return_indices: return a pair with the positions of the maxima.

    Raises:
        ValueError: the arguments do not fit together.

    Source: https://arxiv.org/abs/1412.6071

    >>> import tocha
    >>> tocha.nn.FractionalMaxPool2d(2, output_ratio=0.5)(tocha.zeros(1, 3, 8, 6)).shape
    tocha.Size([1, 3, 4, 3])
    """

    nd = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """The maxima over windows of ``(N, C, D, H, W)`` at random positions. See :class:`FractionalMaxPool2d`."""

    nd = 3
