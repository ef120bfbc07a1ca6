"""Sampling of images at the points of a grid, and grids of affine transforms."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.dtypes import NP_INT64
from .._core.families import operator
from .._core.templates import expected_tensor, scalar_type_name
from .._core.tensor import Tensor
from .constants import zeros_as
from .dims import product
from .indexing import gather_index
from .tie import tied

__all__ = ["affine_grid_generator", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d"]

MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")

# ---------------------------------------------------------------- positions


def _unnormalised(xp: Any, x: Any, size: int, align_corners: bool) -> tuple[Any, float]:
    """Coordinates from [-1, 1] in pixels, and pixels a unit."""
    if align_corners:
        return (x + 1) * ((size - 1) / 2), (size - 1) / 2
    return ((x + 1) * size - 1) / 2, size / 2


def _padded(xp: Any, x: Any, size: int, padding: str, align_corners: bool) -> tuple[Any, Any]:
    """Pixel positions moved into the image, and the derivative of the move (-1, 0 or 1; None: 1 everywhere)."""
    if padding == "zeros":
        return x, None
    slope: Any = xp.ones_like(x)
    if padding == "reflection":
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        if span == 0:
            return xp.zeros_like(x), xp.zeros_like(x)
        slope = xp.where(x < low, -slope, slope)
        distance = xp.abs(x - low)
        flips = xp.floor(distance / span)
        extra = distance - flips * span
        odd = flips % 2 == 1
        x, slope = xp.where(odd, span - extra + low, extra + low), xp.where(odd, -slope, slope)
    slope = xp.where((x <= 0) | (x >= size - 1), 0, slope).astype(x.dtype)
    x = xp.where(x > 0, x, 0)  # NaN becomes 0
    return xp.minimum(x, size - 1).astype(slope.dtype), slope


def _position_kernel(xp: Any, x: Any, size: int, padding: str, align_corners: bool) -> Any:
    return _padded(xp, _unnormalised(xp, x, size, align_corners)[0], size, padding, align_corners)[0]


def _slope_kernel(xp: Any, x: Any, size: int, padding: str, align_corners: bool) -> Any:
    pixels, unit = _unnormalised(xp, x, size, align_corners)
    slope = _padded(xp, pixels, size, padding, align_corners)[1]
    return xp.full_like(x, unit) if slope is None else slope * x.dtype.type(unit)


_slope = operator("grid_position_slope", _slope_kernel, None, lambda x, *attrs: (x.shape, x.dtype))
_position = operator(
    "grid_position",
    _position_kernel,
    lambda n, g: (g * _slope(n.saved[0], *n.attrs),),
    lambda x, *attrs: (x.shape, x.dtype),
    save=(0,),
)


def _nodes_kernel(xp: Any, x: Any, size: int, offset: int, padding: str, align_corners: bool, nearest: bool) -> tuple:
    """``(the pixel that is used, whether it is in the image, its distance)`` for positions ``x``."""
    whole = xp.rint(x) if nearest else xp.floor(x)
    pixel = whole + offset
    if padding != "zeros":
        moved = _padded(xp, pixel, size, padding, align_corners)[0]
    else:
        moved = pixel
    inside = (moved >= 0) & (moved <= size - 1)
    used = xp.where(inside, moved, 0).astype(NP_INT64)
    return used, inside.astype(x.dtype), whole.astype(x.dtype)


_nodes = operator(
    "grid_nodes",
    _nodes_kernel,
    None,
    lambda x, *attrs: [(x.shape, NP_INT64), (x.shape, x.dtype), (x.shape, x.dtype)],
    outputs=3,
)

_unmoved = operator(
    "grid_nearest_weight",
    lambda xp, inside, x: inside,
    lambda n, g: (g, zeros_as(n.saved[0])),
    lambda inside, x: (inside.shape, inside.dtype),
    arity=2,
    save=(1,),
    linear=True,
)

# ---------------------------------------------------------------- sampling


def _cubic_weights(share: Any) -> list:
    """The weights of the four neighbours at -1, 0, 1 and 2 of a point ``share`` behind the second, with coefficient
    -0.75."""
    a = -0.75
    before, after = share + 1, 2 - share
    rest = 1 - share
    return [
        ((before * a - 5 * a) * before + 8 * a) * before - 4 * a,
        ((share * (a + 2)) - (a + 3)) * share * share + 1,
        ((rest * (a + 2)) - (a + 3)) * rest * rest + 1,
        ((after * a - 5 * a) * after + 8 * a) * after - 4 * a,
    ]


def _neighbours(coordinate: Any, size: Any, mode: str, padding: str, align_corners: bool) -> list:
    """``(pixel, weight)`` of the neighbours along one dimension."""
    if mode == "bicubic":
        position = _position(coordinate, size, "zeros", align_corners)
        nodes = [_nodes(position, size, k, padding, align_corners, False) for k in (-1, 0, 1, 2)]
        weights = _cubic_weights(position - nodes[0][2])
        return [(pixel, weight * inside) for (pixel, inside, _), weight in zip(nodes, weights)]
    position = _position(coordinate, size, padding, align_corners)
    if mode == "nearest":
        pixel, inside, _ = _nodes(position, size, 0, "zeros", align_corners, True)
        return [(pixel, _unmoved(inside, position))]
    low, low_inside, whole = _nodes(position, size, 0, "zeros", align_corners, False)
    high, high_inside, _ = _nodes(position, size, 1, "zeros", align_corners, False)
    share = position - whole
    return [(low, (1 - share) * low_inside), (high, share * high_inside)]


def _sample(input: Tensor, grid: Tensor, mode: str, padding: str, align_corners: bool) -> Tensor:
    view, permute = operators["view"], operators["permute"]
    shape, nd = tuple(input._data.shape), len(input._data.shape) - 2
    size = shape[2:]
    out = tuple(grid._data.shape[1:-1])
    points = (shape[0] * product(out),)
    rows = view(permute(input, (0, *range(2, nd + 2), 1)), (shape[0] * product(size), shape[1]))
    along = []
    for d in range(nd):  # the grid's last coordinate belongs to the first spatial dimension
        coordinate = view(operators["slice"](grid, (Ellipsis, nd - 1 - d)), points)
        along.append(_neighbours(coordinate, size[d], mode, padding, align_corners))
    along[0] = [(pixel, tied(tied(weight, grid), input)) for pixel, weight in along[0]]
    batch = _batch_offsets(grid, shape[0], product(out), product(size))
    total = None
    for choice in itertools.product(*along):
        index, weight = batch, None
        scale: Any = 1
        for (pixel, factor), n in zip(choice[::-1], size[::-1]):
            index = index + pixel * scale
            scale = scale * n
            weight = factor if weight is None else weight * factor
        value = gather_index((rows, index), (0,)) * view(weight, (*points, 1))
        total = value if total is None else total + value
    return permute(view(total, (shape[0], *out, shape[1])), (0, nd + 1, *range(1, nd + 1)))


def _batch_offsets(grid: Tensor, batch: Any, points: Any, pixels: Any) -> Tensor:
    """Where each point's image begins among all pixels."""
    from .creation import arange

    view, expand = operators["view"], operators["expand"]
    starts = view(arange(batch, device=grid.device) * pixels, (batch, 1))
    return view(expand(starts, (batch, points)), (batch * points,))


def _check(input: Any, grid: Any, mode: str) -> None:
    for position, (what, t) in enumerate((("input", input), ("grid", grid)), 1):
        if not isinstance(t, Tensor):
            raise expected_tensor("grid_sampler", position, t, what)
    x, g = list(input._data.shape), list(grid._data.shape)
    if len(g) < 1 or g[-1] != len(x) - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {len(x) - 2} in last dimension, but got grid with sizes {g}"
        )
    if len(x) not in (4, 5) or len(g) != len(x):
        wanted = f"{len(x)}D" if len(x) in (4, 5) else "4D or 5D"
        raise RuntimeError(
            f"grid_sampler(): expected {wanted} input and grid with same number of dimensions, but got input with "
            f"sizes {x} and grid with sizes {g}"
        )
    if g[0] != x[0]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes {x} and grid "
            f"with sizes {g}"
        )
    for d, n in enumerate(x[2:], 2):
        if type(n) is int and n <= 0:
            raise RuntimeError(
                f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {x} with "
                f"dimension {d} being empty"
            )
    if mode == "bicubic" and len(x) != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    dtype = input._data.dtype
    if dtype.kind not in "fV":
        raise NotImplementedError(
            f"\"grid_sampler_{len(x) - 2}d_cpu_kernel_impl\" not implemented for '{scalar_type_name(dtype)}'"
        )
    if grid._data.dtype != dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_type_name(dtype)} but found {scalar_type_name(grid._data.dtype)}"
        )


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """:func:`tocha.nn.functional.grid_sample` with modes given by number: 0 bilinear, 1 nearest, 2 bicubic; 0 zeros, 1
    border, 2 reflection."""
    mode, padding = MODES[interpolation_mode], PADDINGS[padding_mode]
    _check(input, grid, mode)
    return _sample(input, grid, mode, padding, bool(align_corners))


def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """:func:`grid_sampler` of images."""
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """:func:`grid_sampler` of volumes."""
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """The values of images at the points of a grid.

    Args:
        input: ``(N, C, H, W)`` or ``(N, C, D, H, W)``, floating.
        grid: ``(N, H', W', 2)`` or ``(N, D', H', W', 3)``: points ``(x, y)`` or ``(x, y, z)``, -1 and 1 being the
            image's edges.
        mode: "bilinear" (trilinear for volumes), "nearest", or "bicubic" (images only).
        padding_mode: what lies outside: "zeros", "border" (the nearest edge) or "reflection".
        align_corners: whether -1 and 1 are the corner pixels' centres rather than their outer corners (default False).

    Returns:
        ``(N, C, H', W')`` or ``(N, C, D', H', W')``.

    Raises:
        ValueError: an unknown mode. RuntimeError: shapes or dtypes do not fit.

    Source: https://arxiv.org/abs/1506.02025 and https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.grid_sample.html

    Example:
        >>> import tocha
        >>> image = tocha.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> tocha.nn.functional.grid_sample(image, tocha.zeros(1, 1, 1, 2)).item()
        2.5
    """
    if mode not in MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    return grid_sampler(input, grid, MODES.index(mode), PADDINGS.index(padding_mode), bool(align_corners))


# ---------------------------------------------------------------- affine grids


def _base_kernel(xp: Any, theta: Any, size: tuple, align_corners: bool) -> Any:
    """The points of an image of ``size`` with a last coordinate 1: ``(points, len(size) + 1)``."""
    axes = []
    for n in size:
        steps = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        axes.append(steps if align_corners else steps * (n - 1) / n)
    grids = np.meshgrid(*axes, indexing="ij")
    points = np.stack([*[g.reshape(-1) for g in grids[::-1]], np.ones(grids[0].size)], 1)
    return xp.asarray(points.astype(theta.dtype))


_base_grid = operator(
    "affine_base_grid", _base_kernel, None, lambda theta, size, align: ((product(size), len(size) + 1), theta.dtype)
)


def affine_grid_generator(theta: Tensor, size: Any, align_corners: bool) -> Tensor:
    """:func:`tocha.nn.functional.affine_grid` without its checks."""
    spatial = tuple(size[2:])
    base = _base_grid(theta.detach(), spatial, bool(align_corners))
    n, nd = size[0], len(spatial)
    points = operators["expand"](base, (n, *base._data.shape))
    return operators["view"](points.bmm(theta.transpose(1, 2)), (n, *spatial, nd))


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """The grid of points that affine maps take the pixels of images to, for :func:`grid_sample`.

    Args:
        theta: ``(N, 2, 3)`` for images, ``(N, 3, 4)`` for volumes.
        size: the images' ``(N, C, H, W)`` or ``(N, C, D, H, W)``.
        align_corners: as in :func:`grid_sample`.

    Returns:
        ``(N, H, W, 2)`` or ``(N, D, H, W, 3)``.

    Raises:
        ValueError: ``theta`` does not fit ``size``. NotImplementedError: ``size`` has another length.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.affine_grid.html
    """
    if not isinstance(theta, Tensor):
        raise expected_tensor("affine_grid", 1, theta, "theta")
    size = tuple(size)
    if theta._data.dtype.kind not in "fV":
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{size}."
        )
    nd = len(size) - 2
    shape = theta._data.shape
    if len(shape) != 3 or tuple(shape[1:]) != (nd, nd + 1):
        raise ValueError(
            f"Expected a batch of {nd}D affine matrices of shape Nx{nd}x{nd + 1} for size {size}. Got {theta.shape}."
        )
    if any([type(n) is int and n <= 0 for n in size]):
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return affine_grid_generator(theta, size, bool(align_corners))
