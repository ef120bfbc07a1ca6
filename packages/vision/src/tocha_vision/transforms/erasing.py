"""Random erasing: Zhong et al. (2017), https://arxiv.org/abs/1708.04896."""

from __future__ import annotations

import math
from collections.abc import Sequence

import tocha
from tocha import nn
from tocha_vision.transforms import functional as F
from tocha_vision.transforms._draws import coin, draw_ratio, integer, uniform
from tocha_vision.transforms.cropping import ATTEMPTS, check_ranges


class RandomErasing(nn.Module):
    """A random rectangle of a tensor (..., C, H, W) filled with something else, with probability ``p``.

    Args:
        p: from 0 to 1.
        scale: least and largest area, as a part of the image's.
        ratio: least and largest height / width.
        value: a number, one a channel, or ``"random"`` for normally distributed noise.
        inplace: change the tensor itself.

    Raises:
        TypeError: an argument of the wrong type.
        ValueError: out of range, an unknown string, or, when called, another number of values than channels.
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: float | str | Sequence[float] = 0,
        inplace: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(value, (int, float, str, tuple, list)):
            raise TypeError("Argument value should be either a number or str or a sequence")
        if isinstance(value, str) and value != "random":
            raise ValueError("If value is str, it should be 'random'")
        check_ranges(scale, ratio)
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError("Scale should be between 0 and 1")
        if not 0 <= p <= 1:
            raise ValueError("Random erasing probability should be between 0 and 1")
        self.p = p
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    @staticmethod
    def get_params(
        img: tocha.Tensor, scale: Sequence[float], ratio: Sequence[float], value: Sequence[float] | None = None
    ) -> tuple[int, int, int, int, tocha.Tensor]:
        """Draws (top, left, height, width, values), ``value=None`` for noise; the whole image where ten draws do not
        fit, with its own values."""
        channels, height, width = img.shape[-3:]
        for _ in range(ATTEMPTS):
            area, proportion = height * width * uniform(*scale), draw_ratio(*ratio)
            h, w = round(math.sqrt(area * proportion)), round(math.sqrt(area / proportion))
            if h >= height or w >= width:
                continue
            if value is None:
                values = tocha.empty([channels, h, w], dtype=tocha.float32).normal_()
            else:
                values = tocha.tensor(value)[:, None, None]
            return integer(height - h + 1), integer(width - w + 1), h, w, values
        return 0, 0, height, width, img

    def forward(self, img: tocha.Tensor) -> tocha.Tensor:
        if not coin(self.p):
            return img
        if isinstance(self.value, str):
            value = None
        else:
            value = [float(v) for v in (self.value if isinstance(self.value, (tuple, list)) else [self.value])]
            if len(value) not in (1, img.shape[-3]):
                raise ValueError(
                    f"If value is a sequence, it should have either a single value or {img.shape[-3]} "
                    f"(number of input channels), got {len(value)}"
                )
        return F.erase(img, *self.get_params(img, self.scale, self.ratio, value), self.inplace)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(p={self.p}, scale={self.scale}, ratio={self.ratio}, "
            f"value={self.value}, inplace={self.inplace})"
        )
