"""Tensors turned, moved, scaled and sheared: each pixel of the result looks up its place in the image."""

from __future__ import annotations

import math
from collections.abc import Sequence

import tocha
from tocha.nn import functional
from tocha_vision.transforms.functional._image import InterpolationMode, check_tensor

MODES = (InterpolationMode.NEAREST, InterpolationMode.BILINEAR)


def inverse_affine(
    center: Sequence[float], angle: float, translate: Sequence[float], scale: float, shear: Sequence[float]
) -> list[float]:
    """The six numbers (two rows) that take a pixel of the result to its place in the image.

    Forward, a point is moved so that ``center`` is 0, scaled, sheared along y, then along x, turned, and moved to
    ``center`` + ``translate``. Turning and shearing keep areas, so the 2 x 2 part's inverse is its adjugate / scale.
    """
    turn, shear_x, shear_y = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    a = math.cos(turn - shear_y) / math.cos(shear_y)
    b = -a * math.tan(shear_x) - math.sin(turn)
    c = math.sin(turn - shear_y) / math.cos(shear_y)
    d = -c * math.tan(shear_x) + math.cos(turn)
    (xx, xy), (yx, yy) = (d / scale, -b / scale), (-c / scale, a / scale)
    x, y = -center[0] - translate[0], -center[1] - translate[1]
    return [xx, xy, xx * x + xy * y + center[0], yx, yy, yx * x + yy * y + center[1]]


def warp_tensor(
    img: tocha.Tensor,
    matrix: Sequence[float],
    mode: InterpolationMode,
    fill: float | Sequence[float] | None,
    expand: bool = False,
) -> tocha.Tensor:
    """The image (..., C, H, W) seen through ``matrix``, whose coordinates are pixels from the middle of the image.

    Raises ``ValueError`` for an interpolation other than nearest and bilinear, or another number of ``fill`` values
    than channels.
    """
    check_tensor(img)
    if mode not in MODES:
        raise ValueError(f"interpolation of a tensor is one of {[m.value for m in MODES]} here, got {mode.value!r}")
    height, width = img.shape[-2:]
    rows, columns = _expanded(matrix, height, width) if expand else (height, width)
    values = img if img.is_floating_point() else img.to(tocha.float32)
    batch = values.reshape(-1, *((1,) if img.ndim == 2 else img.shape[-3:-2]), height, width)
    grid = _grid(matrix, (height, width), (rows, columns), batch).expand(len(batch), -1, -1, -1)
    seen = functional.grid_sample(batch, grid, mode.value, "zeros", align_corners=False)
    if fill is not None:
        margin = _fill(fill, batch)
        inside = functional.grid_sample(tocha.ones_like(batch[:, :1]), grid, mode.value, "zeros", align_corners=False)
        if mode is InterpolationMode.NEAREST:
            seen = tocha.where(inside < 0.5, margin, seen)
        else:
            seen = seen * inside + (1.0 - inside) * margin
    if not img.is_floating_point():
        seen = seen.round()
    return seen.to(img.dtype).reshape(*img.shape[:-2], rows, columns)


def _grid(
    matrix: Sequence[float], source: tuple[int, int], target: tuple[int, int], like: tocha.Tensor
) -> tocha.Tensor:
    """Where each pixel of the result looks, shape (1, rows, columns, 2), as ``grid_sample`` counts: -1 to 1."""
    dtype, device = like.dtype, like.device
    rows, columns = target
    x = tocha.arange(columns, dtype=dtype, device=device) - (columns * 0.5 - 0.5)
    y = tocha.arange(rows, dtype=dtype, device=device) - (rows * 0.5 - 0.5)
    across, down = x.expand(rows, columns), y[:, None].expand(rows, columns)
    places = tocha.stack((across, down, tocha.ones_like(across)), -1)
    half = tocha.tensor([0.5 * source[1], 0.5 * source[0]], dtype=dtype, device=device)
    linear = tocha.tensor(matrix, dtype=dtype, device=device).reshape(2, 3).t() / half
    return (places.reshape(1, rows * columns, 3) @ linear).reshape(1, rows, columns, 2)


def _expanded(matrix: Sequence[float], height: int, width: int) -> tuple[int, int]:
    """Height and width of the result that shows the whole image."""
    corners = [(x * width, y * height) for x in (-0.5, 0.5) for y in (-0.5, 0.5)]
    sizes = []
    for row, middle in ((matrix[3:], height * 0.5), (matrix[:3], width * 0.5)):
        ends = [row[0] * x + row[1] * y + row[2] + middle for x, y in corners]
        # Rounding errors of a hundredth of a pixel must not cost a row of pixels.
        low, high = (math.trunc(end / 1e-4) * 1e-4 for end in (min(ends), max(ends)))
        sizes.append(math.ceil(high) - math.floor(low))
    return sizes[0], sizes[1]


def _fill(fill: float | Sequence[float], batch: tocha.Tensor) -> tocha.Tensor:
    values = [float(value) for value in ([fill] if isinstance(fill, (int, float)) else fill)]
    if len(values) not in (1, batch.shape[1]):
        raise ValueError(
            f"The number of elements in 'fill' does not match the number of channels of the image "
            f"({len(values)} != {batch.shape[1]})"
        )
    return tocha.tensor(values, dtype=batch.dtype, device=batch.device).reshape(1, -1, 1, 1)
