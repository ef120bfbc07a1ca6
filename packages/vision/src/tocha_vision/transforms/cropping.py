"""Transforms that change an image's size. ``size`` is (height, width), or one number for a square."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from tocha import nn
from tocha_vision.transforms import functional as F
from tocha_vision.transforms._draws import draw_ratio, integer, uniform
from tocha_vision.transforms.functional._image import Image, InterpolationMode, interpolation_mode
from tocha_vision.transforms.functional.geometry import PADDING_MODES, two_sizes

ATTEMPTS = 10  # until a drawn rectangle fits into the image


def _sizes(size: int | Sequence[int]) -> tuple[int, int]:
    height, width = two_sizes(size)
    return height, width


class Resize(nn.Module):
    """Another size: (height, width), or one number for the shorter edge; see :func:`functional.resize`."""

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if not isinstance(size, (int, Sequence)):
            raise TypeError(f"Size should be int or sequence. Got {type(size)}")
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise ValueError("If size is a sequence, it should have 1 or 2 values")
        self.size = size
        self.max_size = max_size
        self.interpolation = interpolation_mode(interpolation)
        self.antialias = antialias

    def forward(self, img: Image) -> Image:
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(size={self.size}, interpolation={self.interpolation.value}, "
            f"max_size={self.max_size}, antialias={self.antialias})"
        )


class CenterCrop(nn.Module):
    """The middle of the image; a smaller one is padded with 0 first."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = _sizes(size)

    def forward(self, img: Image) -> Image:
        return F.center_crop(img, self.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"


class Pad(nn.Module):
    """A wider margin; see :func:`functional.pad`."""

    def __init__(
        self,
        padding: int | Sequence[int],
        fill: float | Sequence[float] | str = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        if not isinstance(padding, (int, list, tuple)):
            raise TypeError("Got inappropriate padding arg")
        if not isinstance(fill, (int, float, str, list, tuple)):
            raise TypeError("Got inappropriate fill arg")
        if padding_mode not in PADDING_MODES:
            raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
        if not isinstance(padding, int) and len(padding) not in (1, 2, 4):
            raise ValueError(
                f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple"
            )
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def forward(self, img: Image) -> Image:
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(padding={self.padding}, fill={self.fill}, padding_mode={self.padding_mode})"


class FiveCrop(nn.Module):
    """The four corners and the middle, as a tuple of five images."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = _sizes(size)

    def forward(self, img: Image) -> tuple[Image, ...]:
        return F.five_crop(img, self.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"


class TenCrop(nn.Module):
    """:class:`FiveCrop` of the image and of its mirror image, as a tuple of ten images."""

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__()
        self.size = _sizes(size)
        self.vertical_flip = vertical_flip

    def forward(self, img: Image) -> tuple[Image, ...]:
        return F.ten_crop(img, self.size, self.vertical_flip)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, vertical_flip={self.vertical_flip})"


class RandomCrop(nn.Module):
    """A rectangle of this size from anywhere in the image.

    Args:
        size: (height, width), or one number for a square.
        padding: margin added before, as in :func:`functional.pad`.
        pad_if_needed: widen an image that is smaller than ``size`` instead of raising.
        fill, padding_mode: of the margin.

    Raises:
        ValueError: when called on an image that is smaller than ``size``.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: float | Sequence[float] | str = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = _sizes(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img: Image, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Draws (top, left, height, width) for :func:`functional.crop`."""
        _, h, w = F.get_dimensions(img)
        height, width = output_size
        if h < height or w < width:
            raise ValueError(f"Required crop size {(height, width)} is larger than input image size {(h, w)}")
        if (h, w) == (height, width):
            return 0, 0, h, w
        return integer(h - height + 1), integer(w - width + 1), height, width

    def forward(self, img: Image) -> Image:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        _, height, width = F.get_dimensions(img)
        if self.pad_if_needed and width < self.size[1]:
            img = F.pad(img, [self.size[1] - width, 0], self.fill, self.padding_mode)
        if self.pad_if_needed and height < self.size[0]:
            img = F.pad(img, [0, self.size[0] - height], self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, padding={self.padding})"


class RandomResizedCrop(nn.Module):
    """A rectangle of random area and proportions, resized to ``size``: the usual augmentation for ImageNet.

    Args:
        size: (height, width), or one number for a square.
        scale: least and largest area, as a part of the image's.
        ratio: least and largest width / height.
        interpolation, antialias: as in :func:`functional.resize`.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = _sizes(size)
        check_ranges(scale, ratio)
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation_mode(interpolation)
        self.antialias = antialias

    @staticmethod
    def get_params(img: Image, scale: Sequence[float], ratio: Sequence[float]) -> tuple[int, int, int, int]:
        """Draws (top, left, height, width); the largest rectangle in the middle where ten draws do not fit."""
        _, height, width = F.get_dimensions(img)
        for _ in range(ATTEMPTS):
            area, proportion = height * width * uniform(*scale), draw_ratio(*ratio)
            w, h = round(math.sqrt(area * proportion)), round(math.sqrt(area / proportion))
            if 0 < w <= width and 0 < h <= height:
                return integer(height - h + 1), integer(width - w + 1), h, w
        proportion = min(max(width / height, min(ratio)), max(ratio))
        h, w = height, width
        if width / height < proportion:
            h = round(width / proportion)
        elif width / height > proportion:
            w = round(height * proportion)
        return (height - h) // 2, (width - w) // 2, h, w

    def forward(self, img: Image) -> Image:
        box = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *box, self.size, self.interpolation, antialias=self.antialias)

    def __repr__(self) -> str:
        scale, ratio = (tuple(round(value, 4) for value in pair) for pair in (self.scale, self.ratio))
        return (
            f"{type(self).__name__}(size={self.size}, scale={scale}, ratio={ratio}, "
            f"interpolation={self.interpolation.value}, antialias={self.antialias})"
        )


def check_ranges(scale: Sequence[float], ratio: Sequence[float]) -> None:
    """Raises ``TypeError`` for what is no sequence, and warns of ranges that run backwards."""
    if not isinstance(scale, Sequence):
        raise TypeError("Scale should be a sequence")
    if not isinstance(ratio, Sequence):
        raise TypeError("Ratio should be a sequence")
    if scale[0] > scale[1] or ratio[0] > ratio[1]:
        warnings.warn("Scale and ratio should be of kind (min, max)", stacklevel=3)
