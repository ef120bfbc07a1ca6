"""Cutting, padding, mirroring: what moves pixels without mixing them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import tocha
from tocha.nn import functional
from tocha_vision.transforms.functional._image import Image, check_tensor, get_dimensions, is_pil

PADDING_MODES = ("constant", "edge", "reflect", "symmetric")


def hflip(img: Image) -> Image:
    """Left becomes right."""
    if is_pil(img):
        return img.transpose(0)  # FLIP_LEFT_RIGHT
    check_tensor(img)
    return img.flip(-1)


def vflip(img: Image) -> Image:
    """Top becomes bottom."""
    if is_pil(img):
        return img.transpose(1)  # FLIP_TOP_BOTTOM
    check_tensor(img)
    return img.flip(-2)


def crop(img: Image, top: int, left: int, height: int, width: int) -> Image:
    """The rectangle at (``top``, ``left``) of this size; what lies outside of the image is 0."""
    if is_pil(img):
        return img.crop((left, top, left + width, top + height))
    _, h, w = get_dimensions(img)
    inside = img[..., max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
    if 0 <= top and 0 <= left and top + height <= h and left + width <= w:
        return inside
    before_y, before_x = min(max(-top, 0), height), min(max(-left, 0), width)
    after_y, after_x = height - before_y - inside.shape[-2], width - before_x - inside.shape[-1]
    return functional.pad(inside, [before_x, after_x, before_y, after_y])


def center_crop(img: Image, output_size: int | Sequence[int]) -> Image:
    """The middle of the image, ``output_size`` = (height, width) or an ``int`` for a square; a smaller image is padded
    with 0 first."""
    size = two_sizes(output_size)
    _, h, w = get_dimensions(img)
    missing_y, missing_x = max(size[0] - h, 0), max(size[1] - w, 0)
    if missing_y or missing_x:
        img = pad(img, [missing_x // 2, missing_y // 2, (missing_x + 1) // 2, (missing_y + 1) // 2])
        _, h, w = get_dimensions(img)
        if size == [h, w]:
            return img
    return crop(img, round((h - size[0]) / 2), round((w - size[1]) / 2), *size)


def five_crop(img: Image, size: int | Sequence[int]) -> tuple[Image, ...]:
    """The four corners and the middle: top left, top right, bottom left, bottom right, centre.

    Raises ``ValueError`` if ``size`` = (height, width) is larger than the image.
    """
    height, width = two_sizes(size)
    _, h, w = get_dimensions(img)
    if width > w or height > h:
        raise ValueError(f"Requested crop size {(height, width)} is bigger than input size {(h, w)}")
    corners = [(0, 0), (0, w - width), (h - height, 0), (h - height, w - width)]
    return (*(crop(img, y, x, height, width) for y, x in corners), center_crop(img, [height, width]))


def ten_crop(img: Image, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Image, ...]:
    """:func:`five_crop` of the image, then of its mirror image (upside down if ``vertical_flip``)."""
    return five_crop(img, size) + five_crop(vflip(img) if vertical_flip else hflip(img), size)


def pad(
    img: Image,
    padding: int | Sequence[int],
    fill: float | Sequence[float] | str = 0,
    padding_mode: str = "constant",
) -> Image:
    """A wider margin.

    Args:
        img: PIL image or tensor of shape (..., H, W).
        padding: pixels on every side, on (left and right, top and bottom), or (left, top, right, bottom); negative
            numbers cut off.
        fill: the margin's value for ``"constant"``; one a channel for PIL images.
        padding_mode: ``"constant"``, ``"edge"`` (the outermost pixels go on), ``"reflect"`` (mirrored at the
            outermost pixel) or ``"symmetric"`` (mirrored beyond it).

    Raises:
        TypeError: an argument of the wrong type.
        ValueError: a sequence of another length, or an unknown mode.
    """
    if not isinstance(padding, (int, list, tuple)):
        raise TypeError("Got inappropriate padding arg")
    if not isinstance(fill, (int, float, str, list, tuple)):
        raise TypeError("Got inappropriate fill arg")
    if not isinstance(padding_mode, str):
        raise TypeError("Got inappropriate padding_mode arg")
    if padding_mode not in PADDING_MODES:
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
    sides = [padding] if isinstance(padding, int) else list(padding)
    if len(sides) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(sides)} element tuple")
    left, top, right, bottom = sides * (4 // len(sides))
    pad_one = _pad_pil if is_pil(img) else _pad_tensor
    return pad_one(img, (left, top, right, bottom), fill, padding_mode)


def _pad_pil(img: Image, sides: tuple[int, int, int, int], fill: float | Sequence[float] | str, mode: str) -> Image:
    from PIL import Image as pillow

    left, top, right, bottom = sides
    if mode == "constant":
        size = (img.width + left + right, img.height + top + bottom)
        padded = pillow.new(img.mode, size, fill_color(fill, img))
        if img.mode == "P":
            padded.putpalette(img.getpalette())
        padded.paste(img, (left, top))
        return padded
    rows, columns = _source(img.height, top, bottom, mode), _source(img.width, left, right, mode)
    padded = pillow.fromarray(np.asarray(img)[rows[:, None], columns])
    if img.mode == "P":
        padded.putpalette(img.getpalette())
    return padded


def _pad_tensor(
    img: tocha.Tensor, sides: tuple[int, int, int, int], fill: float | Sequence[float] | str, mode: str
) -> tocha.Tensor:
    check_tensor(img)
    left, top, right, bottom = sides
    if mode == "constant":
        if isinstance(fill, (list, tuple)):
            if len(fill) != 1:
                raise ValueError(f"expected one fill value for a tensor, got {len(fill)}")
            fill = fill[0]
        return functional.pad(img, [left, right, top, bottom], value=fill)
    height, width = img.shape[-2:]
    rows = tocha.from_numpy(_source(height, top, bottom, mode)).to(img.device)
    columns = tocha.from_numpy(_source(width, left, right, mode)).to(img.device)
    return img.index_select(-2, rows).index_select(-1, columns)


def _source(size: int, before: int, after: int, mode: str) -> np.ndarray:
    """Which of ``size`` pixels each pixel of the padded line comes from."""
    line = np.arange(max(-before, 0), size - max(-after, 0))
    return np.pad(line, (max(before, 0), max(after, 0)), mode=mode)  # type: ignore[call-overload]


def erase(img: tocha.Tensor, i: int, j: int, h: int, w: int, v: tocha.Tensor, inplace: bool = False) -> tocha.Tensor:
    """A tensor (..., C, H, W) with ``v`` in the rectangle at row ``i``, column ``j``, of height ``h``, width ``w``.

    Raises ``TypeError`` for anything but a tensor.
    """
    if not isinstance(img, tocha.Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(img)}")
    if not inplace:
        img = img.clone()
    img[..., i : i + h, j : j + w] = v
    return img


def fill_color(fill: float | Sequence[float] | str | None, img: Image) -> float | tuple[float, ...] | str:
    """``fill`` as Pillow wants it for this PIL image: one number, or one for each channel."""
    channels = get_dimensions(img)[0]
    if fill is None:
        fill = 0
    if isinstance(fill, (int, float)) and channels > 1:
        fill = (fill,) * channels
    if isinstance(fill, (list, tuple)):
        if len(fill) == 1:
            fill = tuple(fill) * channels
        if len(fill) != channels:
            raise ValueError(
                f"The number of elements in 'fill' does not match the number of channels of the image "
                f"({len(fill)} != {channels})"
            )
        whole = tuple(fill) if img.mode == "F" else tuple(int(value) for value in fill)
        return whole[0] if channels == 1 else whole
    if isinstance(fill, float) and img.mode != "F":
        return int(fill)
    return fill  # type: ignore[return-value]


def two_sizes(size: int | Sequence[int]) -> list[int]:
    """``[height, width]`` from one number or a sequence of one or two; anything else raises ``ValueError``."""
    if isinstance(size, (int, float)):
        return [int(size), int(size)]
    if len(size) == 1:
        return [size[0], size[0]]
    if len(size) != 2:
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return list(size)
