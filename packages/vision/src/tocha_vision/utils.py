"""Many pictures in one, and pictures to files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import tocha
from tocha_vision.transforms.functional import to_pil_image

__all__ = ["make_grid", "save_image"]


@tocha.no_grad()
def make_grid(
    tensor: tocha.Tensor | Sequence[tocha.Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> tocha.Tensor:
    """Images side by side, as one image of shape (3, H, W), or (C, H, W) where C is neither 1 nor 3.

    Args:
        tensor: shape (B, C, H, W), one image (C, H, W) or (H, W), or a sequence of images of one size.
        nrow: images in a row.
        padding: pixels between the images.
        normalize: shift and scale the values to 0 to 1.
        value_range: (low, high) of the values that become 0 and 1; by default those that occur.
        scale_each: normalize each image by itself.
        pad_value: value between the images.

    Raises:
        TypeError: not tensors, or a ``value_range`` that is no tuple.

    >>> import tocha
    >>> make_grid(tocha.zeros(10, 1, 8, 8), nrow=5).shape
    tocha.Size([3, 22, 52])
    """
    if not isinstance(tensor, tocha.Tensor):
        if not isinstance(tensor, (list, tuple)) or not all(isinstance(image, tocha.Tensor) for image in tensor):
            raise TypeError(f"tensor or list of tensors expected, got {type(tensor)}")
        tensor = tocha.stack(list(tensor), 0)
    images = tensor.reshape(*(1,) * (4 - tensor.ndim), *tensor.shape) if tensor.ndim < 4 else tensor
    if images.shape[1] == 1:
        images = images.expand(-1, 3, -1, -1)
    if normalize:
        if value_range is not None and not isinstance(value_range, tuple):
            raise TypeError("value_range has to be a tuple (min, max) if specified. min and max are numbers")
        if scale_each:
            images = tocha.stack([_to_unit(image, value_range) for image in images], 0)
        else:
            images = _to_unit(images, value_range)
    count, channels, height, width = images.shape
    if count == 1:
        return images.squeeze(0)
    columns = min(nrow, count)
    rows = -(-count // columns)
    cell_height, cell_width = height + padding, width + padding
    shape = (channels, cell_height * rows + padding, cell_width * columns + padding)
    grid = tocha.full(shape, pad_value, dtype=images.dtype, device=images.device)
    for index in range(count):
        top, left = (index // columns) * cell_height + padding, (index % columns) * cell_width + padding
        grid[:, top : top + height, left : left + width] = images[index]
    return grid


def _to_unit(images: tocha.Tensor, value_range: tuple[float, float] | None) -> tocha.Tensor:
    low, high = value_range if value_range is not None else (float(images.min()), float(images.max()))
    return (images.clamp(low, high) - low) / max(high - low, 1e-5)


@tocha.no_grad()
def save_image(
    tensor: tocha.Tensor | Sequence[tocha.Tensor],
    fp: str | os.PathLike[str] | BinaryIO,
    format: str | None = None,
    *,
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> None:
    """Writes an image, or the grid of a batch of them, to a file.

    Args:
        tensor: as for :func:`make_grid`, with values from 0 to 1.
        fp: path or file object.
        format: as Pillow names it; by default the path's ending decides, and a file object needs it.
        nrow, padding, normalize, value_range, scale_each, pad_value: as for :func:`make_grid`.

    Raises:
        ValueError: Pillow does not know the format.
    """
    grid = make_grid(tensor, nrow, padding, normalize, value_range, scale_each, pad_value)
    image = to_pil_image(grid.mul(255).add(0.5).clamp(0, 255).to(tocha.uint8))
    if not isinstance(fp, (str, os.PathLike)):
        image.save(fp, format=format)
        return
    path = Path(fp)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        image.save(temporary, format=format)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
