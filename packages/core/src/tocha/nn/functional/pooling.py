"""Pools."""

from __future__ import annotations

from typing import Any

from ..._core.tensor import Tensor
from ..._ops import pooling as _ops
from ..._ops.pooling import avg_pool1d, avg_pool2d, avg_pool3d

__all__ = [
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices",
    "max_pool3d", "max_pool3d_with_indices",
]  # fmt: skip


def max_pool1d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """``max_pool1d`` and the positions of the maxima along the input."""
    return _ops.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """``max_pool2d`` and the positions of the maxima in the flattened image."""
    return _ops.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """``max_pool3d`` and the positions of the maxima in the flattened volume."""
    return _ops.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False
) -> Any:
    """The maximum over windows of ``(N, C, L)`` or ``(C, L)``. See :func:`max_pool2d`."""
    pool = _ops.max_pool1d_with_indices if return_indices else _ops.max_pool1d
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False
) -> Any:
    """The maximum over windows of ``(N, C, H, W)`` or ``(C, H, W)``. See :func:`tocha.max_pool2d`.

    With ``return_indices`` a pair: the maxima and their positions in the flattened image, for ``max_unpool2d``.
    """
    pool = _ops.max_pool2d_with_indices if return_indices else _ops.max_pool2d
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False
) -> Any:
    """The maximum over windows of ``(N, C, D, H, W)`` or ``(C, D, H, W)``. See :func:`max_pool2d`."""
    pool = _ops.max_pool3d_with_indices if return_indices else _ops.max_pool3d
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)
