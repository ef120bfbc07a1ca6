"""Pools with regular windows: maximum, average and power average, in 1, 2 and 3 dimensions."""

from __future__ import annotations

from typing import Any

from .._core.tensor import Tensor
from .average_pooling import avg_pool
from .max_pooling import max_pool, max_pool_indices, pooled_size, regular_windows
from .pooling_checks import batched, check_dtype, check_tensor, unbatched, window_arguments

__all__ = ["avg_pool1d", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool3d"]


def _max(
    nd: int, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, with_indices: bool
) -> Any:
    name = f"max_pool{nd}d"
    check_tensor(name, input)
    check_dtype(name, input, "fV" if nd == 1 and not with_indices else "fVui")
    ceil_mode = bool(ceil_mode)
    attrs = window_arguments(name, input, nd, kernel_size, stride, padding, dilation, ceil_mode)
    input, single = batched(input, nd)
    values = max_pool(input, *attrs, ceil_mode)
    if not with_indices:
        return unbatched(values, single)
    sizes = [pooled_size(n, k, s, p, d, ceil_mode) for n, k, s, p, d in zip(input._data.shape[2:], *attrs)]
    windows = tuple([regular_windows(n, o, *numbers) for n, o, *numbers in zip(input._data.shape[2:], sizes, *attrs)])
    return unbatched(values, single), unbatched(max_pool_indices(input, windows), single)


def max_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Tensor:
    """The maximum over windows of ``(N, C, L)`` or ``(C, L)``. See :func:`max_pool2d`."""
    return _max(1, input, kernel_size, stride, padding, dilation, ceil_mode, False)


def max_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Tensor:
    """The maximum over windows of images.

    Args:
        input: ``(N, C, H, W)`` or ``(C, H, W)``, floating or integer.
        kernel_size: the windows' size, a number or one a dimension.
        stride: from one window to the next (default: ``kernel_size``).
        padding: implicit negative infinity on both sides, at most half of the window.
        dilation: from one element of a window to the next.
        ceil_mode: keep a last window that begins inside of the input and ends outside.

    Returns:
        ``(N, C, H', W')`` with ``H' = (H + 2 padding - dilation (kH - 1) - 1) // stride + 1``.

    Raises:
        RuntimeError: the arguments do not fit the input. NotImplementedError: boolean or complex input.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.MaxPool2d.html

    Example:
        >>> import tocha
        >>> tocha.max_pool2d(tocha.arange(16.0).view(1, 4, 4), 2).tolist()
        [[[5.0, 7.0], [13.0, 15.0]]]
    """
    return _max(2, input, kernel_size, stride, padding, dilation, ceil_mode, False)


def max_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Tensor:
    """The maximum over windows of ``(N, C, D, H, W)`` or ``(C, D, H, W)``. See :func:`max_pool2d`."""
    return _max(3, input, kernel_size, stride, padding, dilation, ceil_mode, False)


def max_pool1d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """``max_pool1d`` and the int64 positions of the maxima along the input."""
    return _max(1, input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool2d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """``max_pool2d`` and the int64 positions of the maxima in the flattened image, as ``max_unpool2d`` takes them."""
    return _max(2, input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool3d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """``max_pool3d`` and the int64 positions of the maxima in the flattened volume, as ``max_unpool3d`` takes them."""
    return _max(3, input, kernel_size, stride, padding, dilation, ceil_mode, True)


def _average(
    nd: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Any,
) -> Tensor:
    name = f"avg_pool{nd}d"
    check_tensor(name, input)
    check_dtype(name, input, "fVi")
    if divisor_override is not None and divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    ceil_mode = bool(ceil_mode)
    kernel, stride, padding, _ = window_arguments(name, input, nd, kernel_size, stride, padding, 1, ceil_mode)
    input, single = batched(input, nd)
    override = None if divisor_override is None else divisor_override.__index__()
    return unbatched(avg_pool(input, kernel, stride, padding, ceil_mode, bool(count_include_pad), override), single)


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean over windows of ``(N, C, L)`` or ``(C, L)``. See :func:`avg_pool2d`."""
    return _average(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean over windows of images.

    Args:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        kernel_size: the windows' size, a number or one a dimension.
        stride: from one window to the next (default: ``kernel_size``).
        padding: implicit zeros on both sides, at most half of the window.
        ceil_mode: keep a last window that begins inside of the input and ends outside.
        count_include_pad: whether the zeros count in the mean.
        divisor_override: divide the sums by this number instead.

    Raises:
        RuntimeError: the arguments do not fit the input.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.AvgPool2d.html

    Example:
        >>> import tocha
        >>> tocha.nn.functional.avg_pool2d(tocha.arange(16.0).view(1, 4, 4), 2).tolist()
        [[[2.5, 4.5], [10.5, 12.5]]]
    """
    return _average(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean over windows of ``(N, C, D, H, W)`` or ``(C, D, H, W)``. See :func:`avg_pool2d`."""
    return _average(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
