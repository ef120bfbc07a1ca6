"""Layers that resize signals, images and volumes."""

from __future__ import annotations

from typing import Any

from tocha._core.tensor import Tensor
from tocha.nn import functional as F

from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """``(N, C, *spatial)`` resized to ``size`` or by ``scale_factor``.

    Args:
        size: of the result, a number or one a dimension.
        scale_factor: a number or one a dimension, instead of ``size``.
        mode, align_corners, recompute_scale_factor: as in :func:`tocha.nn.functional.interpolate`.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Upsample.html

    >>> import tocha
    >>> tocha.nn.Upsample(scale_factor=2)(tocha.zeros(1, 3, 4, 5)).shape
    tocha.Size([1, 3, 8, 10])
    """

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.size, self.mode, self.align_corners, self.recompute_scale_factor = (
            size,
            mode,
            align_corners,
            recompute_scale_factor,
        )
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple([float(factor) for factor in scale_factor])
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        what = f"scale_factor={self.scale_factor!r}" if self.scale_factor is not None else f"size={self.size!r}"
        return f"{what}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """:class:`Upsample` of images with ``mode="nearest"``."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """:class:`Upsample` of images with ``mode="bilinear"`` and ``align_corners=True``."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
