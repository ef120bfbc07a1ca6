"""What counts as an image, and how large it is: a PIL image, or a tensor of shape (..., C, H, W)."""

from __future__ import annotations

import sys
from enum import Enum
from typing import Any, TypeAlias

import tocha

Image: TypeAlias = Any  # a PIL image or a tensor; Pillow is imported by whoever made the image


class InterpolationMode(Enum):
    """How pixels between pixels are found; ``BOX``, ``HAMMING`` and ``LANCZOS`` are for PIL images only."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


PILLOW = {
    InterpolationMode.NEAREST: 0,
    InterpolationMode.LANCZOS: 1,
    InterpolationMode.BILINEAR: 2,
    InterpolationMode.BICUBIC: 3,
    InterpolationMode.BOX: 4,
    InterpolationMode.HAMMING: 5,
    InterpolationMode.NEAREST_EXACT: 0,
}


def interpolation_mode(value: InterpolationMode | int) -> InterpolationMode:
    """The mode itself, or the one that Pillow has this number for; anything else raises ``TypeError``."""
    if isinstance(value, InterpolationMode):
        return value
    modes = {number: mode for mode, number in reversed(PILLOW.items())}
    if isinstance(value, int) and value in modes:
        return modes[value]
    raise TypeError(
        f"Argument interpolation should be of type InterpolationMode or a corresponding Pillow integer constant, "
        f"got {value!r}"
    )


def is_pil(image: object) -> bool:
    """Whether ``image`` is a PIL image; does not import Pillow, without which there is none."""
    pillow = sys.modules.get("PIL.Image")
    return pillow is not None and isinstance(image, pillow.Image)


def check_tensor(image: object) -> None:
    """Raises ``TypeError`` unless ``image`` is a tensor of at least two dimensions."""
    if not isinstance(image, tocha.Tensor):
        raise TypeError(f"img should be PIL Image or Tensor Image. Got {type(image)}")
    if image.ndim < 2:
        raise TypeError(f"Tensor is not a torch image. Expected the shape (..., H, W), got {tuple(image.shape)}")


def get_dimensions(img: Image) -> list[int]:
    """``[channels, height, width]`` of a PIL image or a tensor of shape (..., C, H, W).

    Raises ``TypeError`` for anything else.
    """
    if is_pil(img):
        return [len(img.getbands()), img.height, img.width]
    check_tensor(img)
    channels = 1 if img.ndim == 2 else img.shape[-3]
    return [channels, *img.shape[-2:]]


def get_image_size(img: Image) -> list[int]:
    """``[width, height]`` of a PIL image or a tensor of shape (..., C, H, W)."""
    _, height, width = get_dimensions(img)
    return [width, height]


def get_image_num_channels(img: Image) -> int:
    """The number of channels of a PIL image or a tensor of shape (..., C, H, W)."""
    return get_dimensions(img)[0]
