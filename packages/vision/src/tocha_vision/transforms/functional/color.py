"""Brightness, contrast, saturation, hue, grey."""

from __future__ import annotations

from typing import Any

import numpy as np

import tocha
from tocha_vision.transforms.functional._image import Image, check_tensor, get_dimensions, is_pil
from tocha_vision.transforms.functional.conversion import convert_image_dtype

LUMA = (0.2989, 0.587, 0.114)  # ITU-R BT.601, to as many digits as torchvision has


def rgb_to_grayscale(img: Image, num_output_channels: int = 1) -> Image:
    """The luminance of a PIL image or of a tensor of shape (..., 3, H, W), in one channel or three equal ones.

    A tensor of one channel is taken to be grey already.

    Raises ``ValueError`` if ``num_output_channels`` is neither 1 nor 3, ``TypeError`` for another number of channels.
    """
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    if is_pil(img):
        grey = img.convert("L")
        if num_output_channels == 1:
            return grey
        from PIL import Image as pillow

        return pillow.merge("RGB", (grey, grey, grey))
    _check_colors(img)
    if img.shape[-3] == 3:
        red, green, blue = img.unbind(-3)
        img = (LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue).to(img.dtype).unsqueeze(-3)
    return img if num_output_channels == 1 else img.expand(*img.shape[:-3], 3, *img.shape[-2:])


def to_grayscale(img: Image, num_output_channels: int = 1) -> Image:
    """:func:`rgb_to_grayscale` of a PIL image; raises ``TypeError`` for anything else."""
    if not is_pil(img):
        raise TypeError("Input should be PIL Image")
    return rgb_to_grayscale(img, num_output_channels)


def adjust_brightness(img: Image, brightness_factor: float) -> Image:
    """0 gives black, 1 the image, 2 twice as bright; raises ``ValueError`` below 0."""
    _check_factor(brightness_factor, "brightness_factor")
    if is_pil(img):
        return _enhance("Brightness", img, brightness_factor)
    _check_colors(img)
    return _blend(img, tocha.zeros_like(img), brightness_factor)


def adjust_contrast(img: Image, contrast_factor: float) -> Image:
    """0 gives the mean grey, 1 the image, 2 twice the contrast; raises ``ValueError`` below 0."""
    _check_factor(contrast_factor, "contrast_factor")
    if is_pil(img):
        return _enhance("Contrast", img, contrast_factor)
    _check_colors(img)
    dtype = img.dtype if img.is_floating_point() else tocha.float32
    mean = rgb_to_grayscale(img).to(dtype).mean((-3, -2, -1), keepdim=True)
    return _blend(img, mean, contrast_factor)


def adjust_saturation(img: Image, saturation_factor: float) -> Image:
    """0 gives a grey image, 1 the image, 2 twice the colour; raises ``ValueError`` below 0."""
    _check_factor(saturation_factor, "saturation_factor")
    if is_pil(img):
        return _enhance("Color", img, saturation_factor)
    _check_colors(img)
    return img if img.shape[-3] == 1 else _blend(img, rgb_to_grayscale(img), saturation_factor)


def adjust_hue(img: Image, hue_factor: float) -> Image:
    """All colours moved round the colour circle, by ``hue_factor`` turns from -0.5 to 0.5; grey images stay.

    Raises ``ValueError`` for a factor out of that range.
    """
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if is_pil(img):
        if img.mode in ("L", "1", "I", "F"):
            return img
        from PIL import Image as pillow

        hue, saturation, value = img.convert("HSV").split()
        turned = (np.asarray(hue).astype(np.int32) + int(hue_factor * 255)).astype(np.uint8)
        return pillow.merge("HSV", (pillow.fromarray(turned), saturation, value)).convert(img.mode)
    _check_colors(img)
    if img.shape[-3] == 1:
        return img
    hue, saturation, value = _rgb_to_hsv(convert_image_dtype(img, tocha.float32))
    return convert_image_dtype(_hsv_to_rgb((hue + hue_factor) % 1.0, saturation, value), img.dtype)


def adjust_gamma(img: Image, gamma: float, gain: float = 1) -> Image:
    """``gain`` x value ** ``gamma``, values from 0 to 1: above 1 darkens shadows; raises ``ValueError`` below 0."""
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    if is_pil(img):
        curve = [int((255 + 1 - 1e-3) * gain * (level / 255.0) ** gamma) for level in range(256)]
        return img.convert("RGB").point(curve * 3).convert(img.mode)
    _check_colors(img)
    values = convert_image_dtype(img, img.dtype if img.is_floating_point() else tocha.float32)
    return convert_image_dtype((gain * values**gamma).clamp(0, 1), img.dtype)


def invert(img: Image) -> Image:
    """Black becomes white."""
    if is_pil(img):
        from PIL import ImageOps

        return ImageOps.invert(img)
    _check_colors(img)
    return _white(img) - img


def _check_factor(factor: float, name: str) -> None:
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")


def _check_colors(img: Any) -> None:
    check_tensor(img)
    channels = get_dimensions(img)[0]
    if img.ndim < 3 or channels not in (1, 3):
        raise TypeError(
            f"Input image tensor permitted channel values are 1 or 3, but found {channels} (shape {tuple(img.shape)})"
        )


def _enhance(kind: str, img: Image, factor: float) -> Image:
    from PIL import ImageEnhance

    return getattr(ImageEnhance, kind)(img).enhance(factor)


def _white(img: tocha.Tensor) -> int:
    return 1 if img.is_floating_point() else 2 ** (8 * img.dtype.itemsize - img.dtype.is_signed) - 1


def _blend(img: tocha.Tensor, other: tocha.Tensor, ratio: float) -> tocha.Tensor:
    return (ratio * img + (1.0 - ratio) * other).clamp(0, _white(img)).to(img.dtype)


def _rgb_to_hsv(img: tocha.Tensor) -> tuple[tocha.Tensor, tocha.Tensor, tocha.Tensor]:
    """Hue (turns), saturation and value, each of shape (..., H, W) and from 0 to 1."""
    red, green, blue = img.unbind(-3)
    value, low = img.amax(-3), img.amin(-3)
    grey = value == low
    spread = tocha.where(grey, tocha.ones_like(value), value - low)
    sixths = tocha.where(
        value == red,
        (green - blue) / spread,
        tocha.where(value == green, 2.0 + (blue - red) / spread, 4.0 + (red - green) / spread),
    )
    saturation = (value - low) / tocha.where(grey, tocha.ones_like(value), value)
    return (sixths / 6.0) % 1.0, saturation, value


def _hsv_to_rgb(hue: tocha.Tensor, saturation: tocha.Tensor, value: tocha.Tensor) -> tocha.Tensor:
    """Shape (..., 3, H, W). Along the colour circle each channel is full for a third of a turn, 0 for another third,
    and a straight slope between; red begins its fall at one sixth, green and blue a third of a turn later each."""
    channels = []
    for start in (5.0, 3.0, 1.0):
        place = (start + 6.0 * hue) % 6.0
        missing = tocha.minimum(place, 4.0 - place).clamp(0.0, 1.0)
        channels.append(value - value * saturation * missing)
    return tocha.stack(channels, -3)
