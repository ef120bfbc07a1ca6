"""Random changes of colour, and grey."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import tocha
from tocha import nn
from tocha_vision.transforms import functional as F
from tocha_vision.transforms._draws import coin, uniform
from tocha_vision.transforms.functional._image import Image

Range: TypeAlias = "tuple[float, float] | None"


class ColorJitter(nn.Module):
    """Brightness, contrast, saturation and hue changed at random, in random order; PIL images and tensors.

    Args:
        brightness, contrast, saturation: (least, largest) factor, or one number for (1 - number, 1 + number), at
            least 0.
        hue: (least, largest) shift in turns of the colour circle, from -0.5 to 0.5, or one number for
            (-number, number).

    Raises:
        TypeError: neither a number nor a pair.
        ValueError: out of range.
    """

    def __init__(
        self,
        brightness: float | tuple[float, float] = 0,
        contrast: float | tuple[float, float] = 0,
        saturation: float | tuple[float, float] = 0,
        hue: float | tuple[float, float] = 0,
    ) -> None:
        super().__init__()
        self.brightness = _factors(brightness, "brightness")
        self.contrast = _factors(contrast, "contrast")
        self.saturation = _factors(saturation, "saturation")
        self.hue = _factors(hue, "hue", center=0, bound=(-0.5, 0.5))

    @staticmethod
    def get_params(
        brightness: Range, contrast: Range, saturation: Range, hue: Range
    ) -> tuple[tocha.Tensor, float | None, float | None, float | None, float | None]:
        """Draws the order of the four changes (0 is brightness) and their factors, ``None`` for a range of ``None``."""
        order = tocha.randperm(4)
        b, c, s, h = (None if pair is None else uniform(*pair) for pair in (brightness, contrast, saturation, hue))
        return order, b, c, s, h

    def forward(self, img: Image) -> Image:
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        changes = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        for index in order.tolist():
            if factors[index] is not None:
                img = changes[index](img, factors[index])
        return img

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(brightness={self.brightness}, contrast={self.contrast}, "
            f"saturation={self.saturation}, hue={self.hue})"
        )


def _factors(
    value: float | Sequence[float], name: str, center: float = 1, bound: tuple[float, float] = (0, math.inf)
) -> Range:
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative.")
        low, high = float(center - value), float(center + value)
        if center == 1:
            low = max(low, 0.0)
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        low, high = float(value[0]), float(value[1])
    else:
        raise TypeError(f"{name} should be a single number or a list/tuple with length 2.")
    if not bound[0] <= low <= high <= bound[1]:
        raise ValueError(f"{name} values should be between {bound}, but got {[low, high]}.")
    return None if low == high == center else (low, high)


class Grayscale(nn.Module):
    """The luminance, in one channel or three equal ones; PIL images and tensors."""

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Image) -> Image:
        return F.rgb_to_grayscale(img, self.num_output_channels)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_output_channels={self.num_output_channels})"


class RandomGrayscale(nn.Module):
    """The luminance, in as many channels as before, with probability ``p``; PIL images and tensors."""

    def __init__(self, p: float = 0.1) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Image) -> Image:
        return F.rgb_to_grayscale(img, F.get_image_num_channels(img)) if coin(self.p) else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomInvert(nn.Module):
    """Black and white swapped, with probability ``p``; PIL images and tensors."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Image) -> Image:
        return F.invert(img) if coin(self.p) else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"
