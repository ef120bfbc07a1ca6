"""Resizing, sampling and rearranging of images."""

from __future__ import annotations

import warnings
from typing import Any

from ..._core.tensor import Tensor
from ..._ops.folding import fold, unfold
from ..._ops.grid_sampling import affine_grid, grid_sample
from ..._ops.interpolation import interpolate
from ..._ops.shuffling import channel_shuffle, native_channel_shuffle, pixel_shuffle, pixel_unshuffle

__all__ = [
    "affine_grid", "channel_shuffle", "fold", "grid_sample", "interpolate", "native_channel_shuffle", "pixel_shuffle",
    "pixel_unshuffle", "unfold", "upsample", "upsample_bilinear", "upsample_nearest",
]  # fmt: skip


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """The old name of :func:`interpolate`; warns."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The old name of :func:`interpolate` with ``mode="nearest"``; warns."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The old name of :func:`interpolate` with ``mode="bilinear"`` and ``align_corners=True``; warns."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
