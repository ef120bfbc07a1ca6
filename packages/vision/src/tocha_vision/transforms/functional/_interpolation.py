"""Resizing tensors: along each axis, a pixel of the result is a weighted sum of the image's pixels.

The weights follow PyTorch's ``interpolate`` with ``align_corners=False``. An axis is one matrix product, which has a
gradient and runs on any device.
"""

from __future__ import annotations

import numpy as np

import tocha
from tocha_vision.transforms.functional._image import InterpolationMode


def resize_tensor(img: tocha.Tensor, size: list[int], mode: InterpolationMode, antialias: bool) -> tocha.Tensor:
    """An image of shape (..., H, W) and a floating-point type in another size (height, width)."""
    if mode in (InterpolationMode.NEAREST, InterpolationMode.NEAREST_EXACT):
        shift = 0.5 if mode is InterpolationMode.NEAREST_EXACT else 0.0
        for axis, length in zip((-2, -1), size):
            places = _nearest(img.shape[axis], length, shift)
            img = img.index_select(axis, tocha.from_numpy(places).to(img.device))
        return img
    cubic = mode is InterpolationMode.BICUBIC
    make = _smooth if antialias else _plain
    rows, columns = (make(img.shape[axis], length, cubic) for axis, length in zip((-2, -1), size))
    down = tocha.from_numpy(rows).to(dtype=img.dtype, device=img.device)
    across = tocha.from_numpy(columns.T.copy()).to(dtype=img.dtype, device=img.device)
    return down @ (img @ across)


def _nearest(source: int, target: int, shift: float) -> np.ndarray:
    """The pixel of ``source`` for each of ``target``; in float32, whose rounding decides ties as PyTorch does."""
    scale = np.float32(source) / np.float32(target)
    places = np.floor((np.arange(target, dtype=np.float32) + np.float32(shift)) * scale).astype(np.int64)
    return np.minimum(places, source - 1)


def _plain(source: int, target: int, cubic: bool) -> np.ndarray:
    """Weights (target, source) of the two or four nearest pixels, those beyond the edge being the edge itself."""
    centers = (np.arange(target) + 0.5) * (source / target) - 0.5
    if not cubic:
        centers = np.maximum(centers, 0)
    first = np.floor(centers).astype(np.int64)
    weights = np.zeros((target, source))
    for step in (-1, 0, 1, 2) if cubic else (0, 1):
        distance = np.abs(centers - first - step)
        weight = _cubic(distance, -0.75) if cubic else 1 - distance
        np.add.at(weights, (np.arange(target), np.clip(first + step, 0, source - 1)), weight)
    return weights


def _smooth(source: int, target: int, cubic: bool) -> np.ndarray:
    """Weights (target, source) of a filter that is wider where the image gets smaller, cut off at the edges."""
    scale = source / target
    stretch = max(scale, 1.0)
    centers = (np.arange(target)[:, None] + 0.5) * scale
    distance = np.abs(np.arange(source) + 0.5 - centers) / stretch
    weights = _cubic(distance, -0.5) if cubic else np.maximum(1 - distance, 0)
    return weights / weights.sum(1, keepdims=True)


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """Keys' cubic convolution kernel (1981), https://doi.org/10.1109/TASSP.1981.1163711."""
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((distance - 5) * distance + 8) * distance * a - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))
