"""Pools."""

from __future__ import annotations

from typing import Any

from ..._core.tensor import Tensor
from ..._ops import pooling as _ops
from ..._ops.adaptive_pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max
from ..._ops.fractional_pooling import fractional_max_pool
from ..._ops.pooling import avg_pool1d, avg_pool2d, avg_pool3d
from ..._ops.unpooling import max_unpool

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices",
    "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """``max_pool1d`` and the positions of the maxima along the input."""
    return _ops.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """``max_pool2d`` and the positions of the maxima in the flattened image."""
    return _ops.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """``max_pool3d`` and the positions of the maxima in the flattened volume."""
    return _ops.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum over windows of ``(N, C, L)`` or ``(C, L)``. See :func:`max_pool2d`."""
    pool = _ops.max_pool1d_with_indices if return_indices else _ops.max_pool1d
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum over windows of ``(N, C, H, W)`` or ``(C, H, W)``. See :func:`tocha.max_pool2d`.

    With ``return_indices`` a pair: the maxima and their positions in the flattened image, for ``max_unpool2d``.
    """
    pool = _ops.max_pool2d_with_indices if return_indices else _ops.max_pool2d
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum over windows of ``(N, C, D, H, W)`` or ``(C, D, H, W)``. See :func:`max_pool2d`."""
    pool = _ops.max_pool3d_with_indices if return_indices else _ops.max_pool3d
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


# ---------------------------------------------------------------- adaptive


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """``adaptive_max_pool1d`` and the positions of the maxima along the input."""
    return adaptive_max(1, input, output_size, True)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """``adaptive_max_pool2d`` and the positions of the maxima in the flattened image."""
    return adaptive_max(2, input, output_size, True)


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """``adaptive_max_pool3d`` and the positions of the maxima in the flattened volume."""
    return adaptive_max(3, input, output_size, True)


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima over ``output_size`` windows of ``(N, C, L)`` or ``(C, L)``. See :func:`adaptive_max_pool2d`."""
    return adaptive_max(1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima over windows that cut ``(N, C, H, W)`` or ``(C, H, W)`` into ``output_size`` parts.

    ``output_size`` is ``(H', W')`` or one number; None keeps the input's size. With ``return_indices`` a pair: the
    maxima and their positions in the flattened image.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.AdaptiveMaxPool2d.html
    """
    return adaptive_max(2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima over windows that cut a volume into ``output_size`` parts. See :func:`adaptive_max_pool2d`."""
    return adaptive_max(3, input, output_size, return_indices)


# ---------------------------------------------------------------- power average


def _lp_pool(nd: int, input: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Tensor:
    average = (avg_pool1d, avg_pool2d, avg_pool3d)[nd - 1]
    kernel = (kernel_size,) * nd if isinstance(kernel_size, int) else tuple(kernel_size)
    count = 1
    for k in kernel:
        count *= k
    out = average(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (out.sign() * out.abs().relu()).mul(count).pow(1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The power average over windows of ``(N, C, L)`` or ``(C, L)``. See :func:`lp_pool2d`."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """``sum(x**p)**(1 / p)`` over windows of ``(N, C, H, W)`` or ``(C, H, W)``, with ``p = norm_type``.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LPPool2d.html
    """
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The power average over windows of ``(N, C, D, H, W)`` or ``(C, D, H, W)``. See :func:`lp_pool2d`."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


# ---------------------------------------------------------------- fractional


def fractional_max_pool2d_with_indices(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """``fractional_max_pool2d`` and the positions of the maxima in the flattened image."""
    return fractional_max_pool(2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d_with_indices(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """``fractional_max_pool3d`` and the positions of the maxima in the flattened volume."""
    return fractional_max_pool(3, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool2d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """The maxima over windows of ``(N, C, H, W)`` or ``(C, H, W)`` at random positions.

    Args:
        kernel_size: the windows' size.
        output_size, output_ratio: one of them: the size of the output, or its share of the input's.
        return_indices: return a pair with the positions of the maxima.
        _random_samples: ``(N, C, 2)`` from [0, 1), which decide the positions (default: drawn).

    Raises:
        ValueError: neither ``output_size`` nor ``output_ratio``. RuntimeError: sizes do not fit.

    Source: https://arxiv.org/abs/1412.6071
    """
    result = fractional_max_pool(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return result if return_indices else result[0]


def fractional_max_pool3d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """The maxima over windows of ``(N, C, D, H, W)`` at random positions. See :func:`fractional_max_pool2d`."""
    result = fractional_max_pool(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return result if return_indices else result[0]


# ---------------------------------------------------------------- unpooling


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """The maxima of ``max_pool1d`` put back to where they were. See :func:`max_unpool2d`."""
    return max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """The maxima of ``max_pool2d`` put back to where they were, zeros elsewhere.

    Args:
        input, indices: what ``max_pool2d`` returned with ``return_indices``.
        kernel_size, stride, padding: those of the pool.
        output_size: the size before the pool, where several sizes pool to the same.

    Raises:
        RuntimeError: shapes, dtypes or positions do not fit. ValueError: nor does ``output_size``.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.MaxUnpool2d.html
    """
    return max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """The maxima of ``max_pool3d`` put back to where they were. See :func:`max_unpool2d`."""
    return max_unpool(3, input, indices, kernel_size, stride, padding, output_size)
