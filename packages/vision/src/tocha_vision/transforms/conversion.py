"""Between PIL images and tensors, and between types; see the functions of the same names in ``functional``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tocha
from tocha import nn
from tocha_vision.transforms import functional as F
from tocha_vision.transforms.functional._image import Image


class ToTensor:
    """A PIL image or array (H, W, C) of bytes as a tensor (C, H, W) of values from 0 to 1; other types keep theirs."""

    def __call__(self, pic: Any) -> tocha.Tensor:
        return F.to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class PILToTensor:
    """A PIL image as a tensor (C, H, W) with the same values and type."""

    def __call__(self, pic: Any) -> tocha.Tensor:
        return F.pil_to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ToPILImage:
    """A tensor (C, H, W) or array (H, W, C) as a PIL image; ``mode`` as in :func:`functional.to_pil_image`."""

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Image:
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.mode is None else f'mode={self.mode}'})"


class ConvertImageDtype(nn.Module):
    """A tensor's values in another type, scaled so that white stays white."""

    def __init__(self, dtype: tocha.dtype) -> None:
        super().__init__()
        if not isinstance(dtype, tocha.dtype):
            raise TypeError("Argument dtype should be of type tocha.dtype")
        self.dtype = dtype

    def forward(self, image: tocha.Tensor) -> tocha.Tensor:
        return F.convert_image_dtype(image, self.dtype)


class Normalize(nn.Module):
    """``(tensor - mean) / std``, channel by channel; ``inplace`` changes the tensor itself."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def forward(self, tensor: tocha.Tensor) -> tocha.Tensor:
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mean={self.mean}, std={self.std})"
