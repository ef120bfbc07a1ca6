"""The operator that resizes images: every dimension on its own, each output a weighted sum of a few inputs.

A dimension's plan is a list of taps, each an input position and a weight for every output. The modes differ only in
their plans. Positions and weights follow PyTorch's: https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.interpolate.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.families import half_as_float, operator
from .layout import new_like

CUBIC, CUBIC_ANTIALIASED = -0.75, -0.5  # PyTorch's and Pillow's coefficient of the cubic kernel


def _scale(n: int, out: int, align_corners: bool, factor: float | None, real: type) -> Any:
    """Input pixels an output pixel."""
    if align_corners:
        return real(n - 1) / real(out - 1) if out > 1 else real(0)
    return real(1.0 / factor) if factor is not None and factor > 0 else real(n) / real(out)


def _nearest(n: int, out: int, exact: bool, factor: float | None, real: type) -> list:
    i = np.arange(out)
    if not exact and out in (n, 2 * n):
        return [(i // (out // n), None)]
    scale = _scale(n, out, False, factor, real)
    position = np.floor((i.astype(real) + real(0.5)) * scale if exact else i.astype(real) * scale).astype(np.int64)
    return [(np.minimum(position, n - 1), None)]


def _centres(n: int, out: int, align_corners: bool, factor: float | None, real: type) -> Any:
    """The outputs' positions in the input."""
    scale = _scale(n, out, align_corners, factor, real)
    i: Any = np.arange(out).astype(real)
    return i * scale if align_corners else (i + real(0.5)) * scale - real(0.5)


def _linear(n: int, out: int, align_corners: bool, factor: float | None, real: type) -> list:
    if n == out:
        return [(np.arange(out), None)]
    centre = np.maximum(_centres(n, out, align_corners, factor, real), 0)
    low = np.minimum(np.floor(centre).astype(np.int64), n - 1)
    share = np.clip(centre - low, 0, 1).astype(real)
    return [(low, 1 - share), (np.minimum(low + 1, n - 1), share)]


def cubic_kernel(distance: Any, a: float) -> Any:
    """Keys' cubic convolution kernel."""
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = (((d - 5) * d + 8) * d - 4) * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _cubic(n: int, out: int, align_corners: bool, factor: float | None, real: type) -> list:
    centre = _centres(n, out, align_corners, factor, real)
    low = np.floor(centre)
    share = centre - low
    low = low.astype(np.int64)
    return [(np.clip(low + k, 0, n - 1), cubic_kernel(share - k, CUBIC).astype(real)) for k in (-1, 0, 1, 2)]


def _lanczos_kernel(x: Any) -> Any:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


_ANTIALIASED = {
    "linear": (1, lambda x: np.maximum(1 - np.abs(x), 0)),
    "cubic": (2, lambda x: cubic_kernel(x, CUBIC_ANTIALIASED)),
    "lanczos": (3, _lanczos_kernel),
}


def _antialiased(mode: str, n: int, out: int, align_corners: bool, factor: float | None, real: type) -> list:
    """Every input under the kernel, which is as wide as an output pixel where that is larger than an input pixel."""
    reach, kernel = _ANTIALIASED[mode]
    scale = _scale(n, out, align_corners, factor, real)
    support = real(reach * max(scale, 1))
    centre = scale * (np.arange(out) + 0.5).astype(real)
    first = np.maximum((centre - support + 0.5).astype(np.int64), 0)
    count = np.minimum((centre + support + 0.5).astype(np.int64), n) - first
    taps = np.arange(max(1, int(count.max(initial=0))))
    weights = kernel((taps + first[:, None] - centre[:, None] + 0.5) / max(scale, 1))
    weights = np.where(taps < count[:, None], weights, 0)
    total = weights.sum(1, keepdims=True)
    weights = (weights / np.where(total == 0, 1, total)).astype(real)
    return [(np.minimum(first + t, n - 1), weights[:, t]) for t in taps]


@functools.lru_cache(maxsize=256)
def plan(n: int, out: int, mode: str, align_corners: bool, factor: float | None, antialias: bool, double: bool) -> list:
    """The taps of one dimension: ``(position of the input for each output, weight for each output or None for 1)``."""
    real: Any = np.float64 if double else np.float32
    if mode in ("nearest", "nearest-exact"):
        return _nearest(n, out, mode == "nearest-exact", factor, real)
    if antialias:
        return _antialiased(mode, n, out, align_corners, factor, real)
    return (_linear if mode == "linear" else _cubic)(n, out, align_corners, factor, real)


def _as_slice(index: np.ndarray) -> slice | np.ndarray:
    """A regular index as a slice."""
    if len(index) == 0:
        return slice(0, 0)
    step = int(index[1] - index[0]) if len(index) > 1 else 1
    if step > 0 and (np.diff(index) == step).all():
        return slice(int(index[0]), int(index[-1]) + 1, step)
    return index


@functools.lru_cache(maxsize=256)
def _ranked(positions: tuple) -> list:
    """``(outputs, inputs)`` pairs in which no input comes twice, that together are the whole (non-decreasing) index."""
    index = np.array(positions, np.int64)
    starts = np.flatnonzero(np.concatenate(([True], index[1:] != index[:-1])))
    rank = np.arange(len(index)) - np.repeat(starts, np.diff(np.append(starts, len(index))))
    return [
        (_as_slice(np.flatnonzero(rank == r)), _as_slice(index[rank == r]))
        for r in range(int(rank.max(initial=-1)) + 1)
    ]


def _weights(xp: Any, weight: np.ndarray, x: Any, axis: int) -> Any:
    return xp.asarray(weight.astype(x.dtype)).reshape(-1, *(1,) * (x.ndim - 1 - axis))


def _on(xp: Any, index: Any) -> Any:
    return index if isinstance(index, slice) else xp.asarray(index)


def _plans(size: tuple, out: tuple, mode: str, align_corners: bool, factors: tuple, antialias: bool, dtype: Any) -> Any:
    """``(axis, taps)`` of the dimensions that change."""
    for axis, (n, o, factor) in enumerate(zip(size, out, factors), 2):
        if n == o and (antialias or (dtype == np.uint8 and not mode.startswith("nearest"))):
            continue
        taps = plan(n, o, mode, align_corners, factor, antialias, dtype != np.float32)
        if not (n == o and len(taps) == 1 and taps[0][1] is None and (taps[0][0] == np.arange(n)).all()):
            yield axis, taps


def _forward(xp: Any, x: Any, size: tuple, mode: str, align_corners: bool, factors: tuple, antialias: bool) -> Any:
    if x.dtype == np.uint8 and not mode.startswith("nearest"):
        return _forward_bytes(xp, x, size, mode, align_corners, factors, antialias)
    given = x
    for axis, taps in _plans(x.shape[2:], size, mode, align_corners, factors, antialias, x.dtype):
        out = new_like(xp, x, (*x.shape[:axis], len(taps[0][0]), *x.shape[axis + 1 :]))
        lead = (slice(None),) * axis
        for t, (position, weight) in enumerate(taps):
            value = x[(*lead, _on(xp, _as_slice(position)))]
            if weight is None:
                out[...] = value
            elif t:
                out += value * _weights(xp, weight, x, axis)
            else:
                xp.multiply(value, _weights(xp, weight, x, axis), out=out)
        x = out
    return x.copy() if x is given else x


def _fixed_point(taps: list, n: int) -> tuple[np.ndarray, int]:
    """A plan as a matrix ``(out, n)`` of 16-bit integers and how far they are shifted to the left, as Pillow has it."""
    out = len(taps[0][0])
    matrix = np.zeros((out, n))
    for position, weight in taps:
        np.add.at(matrix, (np.arange(out), position), 1 if weight is None else weight)
    bits = next((b for b in range(22) if int(0.5 + matrix.max() * 2 ** (b + 1)) >= 2**15), 22)
    return np.trunc(matrix * 2**bits + np.where(matrix < 0, -0.5, 0.5)), bits


def _forward_bytes(
    xp: Any, x: Any, size: tuple, mode: str, align_corners: bool, factors: tuple, antialias: bool
) -> Any:
    """uint8 images: whole numbers throughout, the last dimension first, rounded to bytes after each."""
    values = x.astype(np.float64)
    for axis, taps in list(_plans(x.shape[2:], size, mode, align_corners, factors, antialias, x.dtype))[::-1]:
        matrix, bits = _fixed_point(taps, x.shape[axis])
        total = xp.moveaxis(xp.matmul(xp.moveaxis(values, axis, -1), xp.asarray(matrix.T)), -1, axis)
        values = xp.clip(xp.floor((total + 2 ** (bits - 1)) / 2**bits), 0, 255)
    return values.astype(np.uint8)


def _backward(xp: Any, g: Any, size: tuple, mode: str, align_corners: bool, factors: tuple, antialias: bool) -> Any:
    given = g
    for axis, taps in _plans(size, g.shape[2:], mode, align_corners, factors, antialias, g.dtype):
        out = new_like(xp, g, (*g.shape[:axis], size[axis - 2], *g.shape[axis + 1 :]))
        out[...] = 0
        lead = (slice(None),) * axis
        for position, weight in taps:
            value = g if weight is None else g * _weights(xp, weight, g, axis)
            for outputs, inputs in _ranked(tuple(position.tolist())):
                out[(*lead, _on(xp, inputs))] += value[(*lead, _on(xp, outputs))]
        g = out
    return g.copy() if g is given else g


resample = operator(
    "interpolate",
    half_as_float(_forward),
    lambda n, g: (_resample_backward(g, tuple(n.shape[2:]), *n.attrs[1:]),),
    lambda x, size, *attrs: ((*x.shape[:2], *size), x.dtype),
    linear=True,
)
_resample_backward: Callable = operator(
    "interpolate_backward",
    half_as_float(_backward),
    lambda n, c: (resample(c, tuple(n.shape[2:]), *n.attrs[1:]),),
    lambda g, size, *attrs: ((*g.shape[:2], *size), g.dtype),
    linear=True,
)
