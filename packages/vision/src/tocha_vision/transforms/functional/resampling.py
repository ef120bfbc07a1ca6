"""Resizing, rotating, shearing: what finds the values between pixels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import tocha
from tocha.nn import functional
from tocha_vision.transforms.functional._image import (
    PILLOW,
    Image,
    InterpolationMode,
    get_dimensions,
    interpolation_mode,
    is_pil,
)
from tocha_vision.transforms.functional._warping import inverse_affine, warp_tensor
from tocha_vision.transforms.functional.geometry import crop, fill_color

TENSOR_MODES = (
    InterpolationMode.NEAREST,
    InterpolationMode.NEAREST_EXACT,
    InterpolationMode.BILINEAR,
    InterpolationMode.BICUBIC,
)


def resize(
    img: Image,
    size: int | Sequence[int],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Image:
    """Another size.

    Args:
        img: PIL image, or tensor of shape (..., C, H, W).
        size: (height, width), or one number for the shorter edge, the other in proportion.
        interpolation: a tensor takes nearest, nearest-exact, bilinear or bicubic.
        max_size: the longer edge is at most this long, the shorter then in proportion; not with two sizes.
        antialias: smooth a tensor that gets smaller, as Pillow always does.

    Raises:
        TypeError: an argument of the wrong type.
        ValueError: a sequence of another length, or a ``max_size`` that contradicts ``size``.
    """
    mode = interpolation_mode(interpolation)
    _, height, width = get_dimensions(img)
    target = _resized(height, width, size, max_size)
    if [height, width] == target:
        return img
    if is_pil(img):
        if antialias is False:
            warnings.warn(
                "Anti-alias option is always applied for PIL Image input. Argument antialias is ignored.", stacklevel=2
            )
        return img.resize((target[1], target[0]), PILLOW[mode])
    return _resize_tensor(img, target, mode, bool(antialias))


def _resized(height: int, width: int, size: int | Sequence[int], max_size: int | None) -> list[int]:
    if not isinstance(size, (int, list, tuple)):
        raise TypeError("Size should be int or sequence")
    if isinstance(size, (list, tuple)):
        if len(size) not in (1, 2):
            raise ValueError(
                f"Size must be an int or a 1 or 2 element tuple/list, not a {len(size)} element tuple/list"
            )
        if len(size) == 2:
            if max_size is not None:
                raise ValueError(
                    "max_size should only be passed if size specifies the length of the smaller edge, "
                    "i.e. size should be an int or a sequence of length 1 in torchscript mode."
                )
            return list(size)
    shorter: int = size if isinstance(size, int) else size[0]
    short, long = sorted((height, width))
    if max_size is not None and max_size <= shorter:
        raise ValueError(
            f"max_size = {max_size} must be strictly greater than the requested size for the smaller edge size = {size}"
        )
    short, long = shorter, int(shorter * long / short)
    if max_size is not None and long > max_size:
        short, long = int(max_size * short / long), max_size
    return [short, long] if height <= width else [long, short]


def _resize_tensor(img: tocha.Tensor, size: list[int], mode: InterpolationMode, antialias: bool) -> tocha.Tensor:
    if mode not in TENSOR_MODES:
        raise ValueError(f"interpolation of a tensor is one of {[m.value for m in TENSOR_MODES]}, got {mode.value!r}")
    smooth = mode in (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)
    values = img if img.dtype in (tocha.float32, tocha.float64) else img.to(tocha.float32)
    values = values.reshape(-1, 1, *img.shape[-2:])  # interpolate wants batch and channels
    values = functional.interpolate(values, size, mode=mode.value, antialias=antialias and smooth)
    if not img.is_floating_point():
        if mode is InterpolationMode.BICUBIC and img.dtype == tocha.uint8:
            values = values.clamp(0, 255)
        values = values.round()
    return values.to(img.dtype).reshape(*img.shape[:-2], *size)


def resized_crop(
    img: Image,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Image:
    """:func:`crop`, then :func:`resize`."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def rotate(
    img: Image,
    angle: float,
    interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[int] | None = None,
    fill: float | Sequence[float] | None = None,
) -> Image:
    """The image turned by ``angle`` degrees, counter-clockwise.

    Args:
        img: PIL image, or tensor of shape (..., C, H, W).
        angle: in degrees.
        interpolation: nearest or bilinear; bicubic too for PIL images.
        expand: enlarge the picture so that all of it is seen; takes ``center`` to be the middle.
        center: (x, y) of the point that stays, from the upper left corner; the middle by default.
        fill: value of what comes in from outside, or one a channel; 0 by default.

    Raises:
        TypeError: an argument of the wrong type.
        ValueError: another number of ``fill`` values than channels, or an interpolation that there is not.
    """
    mode = interpolation_mode(interpolation)
    if not isinstance(angle, (int, float)):
        raise TypeError("Argument angle should be int or float")
    if center is not None and not isinstance(center, (list, tuple)):
        raise TypeError("Argument center should be a sequence")
    if is_pil(img):
        return img.rotate(angle, PILLOW[mode], expand, center, fillcolor=fill_color(fill, img))
    matrix = inverse_affine(_from_middle(center, img), -angle, (0.0, 0.0), 1.0, (0.0, 0.0))
    return warp_tensor(img, matrix, mode, fill, expand)


def affine(
    img: Image,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: float | Sequence[float],
    interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
    fill: float | Sequence[float] | None = None,
    center: Sequence[float] | None = None,
) -> Image:
    """The image turned, moved, scaled and sheared about its middle; the size stays.

    Args:
        img: PIL image, or tensor of shape (..., C, H, W).
        angle: degrees, clockwise.
        translate: pixels to the right and down.
        scale: factor, above 0.
        shear: degrees along x, or (along x, along y).
        interpolation: nearest or bilinear; bicubic too for PIL images.
        fill: value of what comes in from outside, or one a channel; 0 by default.
        center: (x, y) of the fixed point, from the upper left corner; the middle by default.

    Raises:
        TypeError: an argument of the wrong type.
        ValueError: a sequence of another length, a scale that is not above 0, another number of ``fill`` values than
            channels, or an interpolation that there is not.
    """
    mode = interpolation_mode(interpolation)
    if not isinstance(angle, (int, float)):
        raise TypeError("Argument angle should be int or float")
    if not isinstance(translate, (list, tuple)):
        raise TypeError("Argument translate should be a sequence")
    if len(translate) != 2:
        raise ValueError("Argument translate should be a sequence of length 2")
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")
    if not isinstance(shear, (int, float, list, tuple)):
        raise TypeError("Shear should be either a single value or a sequence of two values")
    shears = [float(shear), 0.0] if isinstance(shear, (int, float)) else [float(value) for value in shear]
    if len(shears) == 1:
        shears *= 2
    if len(shears) != 2:
        raise ValueError(f"Shear should be a sequence containing two values. Got {shear}")
    if center is not None and not isinstance(center, (list, tuple)):
        raise TypeError("Argument center should be a sequence")
    if is_pil(img):
        middle = center if center is not None else (img.width * 0.5, img.height * 0.5)
        matrix = inverse_affine(middle, angle, translate, scale, shears)
        return img.transform(img.size, 0, matrix, PILLOW[mode], fillcolor=fill_color(fill, img))  # 0 is AFFINE
    matrix = inverse_affine(_from_middle(center, img), angle, translate, scale, shears)
    return warp_tensor(img, matrix, mode, fill)


def _from_middle(center: Sequence[float] | None, img: Image) -> tuple[float, float]:
    if center is None:
        return 0.0, 0.0
    _, height, width = get_dimensions(img)
    return center[0] - width * 0.5, center[1] - height * 0.5
