"""Convolutions and their gradients, the data gradient being the transposed convolution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..builder import Array, Builder
from ..registry import Unsupported, lowering


def _fixed(*shapes: tuple) -> bool:
    return all(isinstance(n, int) for shape in shapes for n in shape)


@lowering("convolution")
def convolution(
    b: Builder, x: Array, w: Array, bias: Array | None, stride: tuple, padding: tuple, dilation: tuple, groups: int
) -> Array:
    kernel = tuple(w.shape[2:]) if _fixed(w.shape[2:]) else None
    inputs = (x, w) if bias is None else (x, w, bias)
    return b.Conv(
        *inputs, kernel_shape=kernel, strides=stride, pads=(*padding, *padding), dilations=dilation, group=groups
    )


@lowering("convolution_backward_input")
def transposed(
    b: Builder, g: Array, w: Array, bias: Array | None, size: tuple, stride: tuple, padding: tuple, dilation: tuple,
    groups: int,
) -> Array:  # fmt: skip
    extra = []
    for wanted, n, k, s, p, d in zip(size, g.shape[2:], w.shape[2:], stride, padding, dilation):
        rest = wanted - ((n - 1) * s - 2 * p + d * (k - 1) + 1)
        if not isinstance(rest, int):
            raise Unsupported(f"the size {wanted} of a transposed convolution does not follow from its input's {n}")
        extra.append(rest)
    inputs = (g, w) if bias is None else (g, w, bias)
    return b.ConvTranspose(
        *inputs, kernel_shape=tuple(w.shape[2:]), strides=stride, pads=(*padding, *padding), dilations=dilation,
        group=groups, output_padding=tuple(extra),
    )  # fmt: skip


@lowering("convolution_backward_weight")
def backward_weight(
    b: Builder, x: Array, g: Array, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, groups: int
) -> Array:
    """The images as channels: a convolution of the input with the gradient as its weight, steps and gaps exchanged."""
    batch, space = x.shape[0], x.shape[2:]
    inputs, outputs = x.shape[1] // groups, g.shape[1]
    nd = len(space)
    rest = tuple(range(3, 3 + nd))
    images = b.transpose(b.reshape(x, (batch, groups, inputs, *space)), (2, 1, 0, *rest))
    images = b.reshape(images, (inputs, groups * batch, *space))
    weights = b.transpose(g, (1, 0, *range(2, 2 + nd)))
    made = b.Conv(images, weights, strides=dilation, pads=(*padding, *padding), dilations=stride, group=groups)
    axes = list(range(2, 2 + nd))
    made = b.Slice(made, b.sizes([0] * nd), b.sizes(kernel), b.sizes(axes))
    return b.transpose(made, (1, 0, *axes)) if outputs else made


# ---------------------------------------------------------------- pools


def _excess(x: Array, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, ceil_mode: bool) -> list[Any]:
    """How far the last window of each dimension reaches beyond the padding on both sides."""
    found = []
    for n, k, s, p, d in zip(x.shape[2:], kernel, stride, padding, dilation):
        reach = d * (k - 1) + 1
        out = (n + 2 * p - reach + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (out - 1) * s >= n + p:
            out = out - 1
        found.append((out - 1) * s + reach - n - 2 * p)
    return found


def _max_pool(
    b: Builder, x: Array, outputs: int, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, ceil_mode: bool
) -> Any:
    if not _fixed(kernel, stride):
        return _whole_image(b, x, outputs, kernel, padding, ceil_mode)
    excess = _excess(x, kernel, stride, padding, dilation, ceil_mode) if ceil_mode else [0] * len(kernel)
    if _fixed(tuple(excess)):  # onnxruntime's count of windows is not PyTorch's: say where the padding ends
        pads, ceil = (*padding, *[p + max(0, e) for p, e in zip(padding, excess)]), 0
    else:
        pads, ceil = (*padding, *padding), 1
    return b.add(
        "MaxPool",
        x,
        outputs=outputs,
        kernel_shape=kernel,
        strides=stride,
        pads=pads,
        dilations=dilation,
        ceil_mode=ceil,
    )


def _whole_image(b: Builder, x: Array, outputs: int, kernel: tuple, padding: tuple, ceil_mode: bool) -> Any:
    """A pool whose window is as large as an image of a dynamic size."""
    if outputs != 1 or not b.shapes.same(kernel, x.shape[2:]) or any(padding):
        raise Unsupported("the windows of a pool have a fixed size, or are as large as the image")
    return b.reduce("ReduceMax", x, tuple(range(2, x.rank)), True)


@lowering("max_pool")
def max_pool(b: Builder, x: Array, *attributes: Any) -> Array:
    return _max_pool(b, x, 1, *attributes)


@lowering("max_pool_indices")
def max_pool_indices(b: Builder, x: Array, windows: tuple) -> Array:
    """Over one dimension after the other, the last first: the maximum of each window and its place, the first of
    equals."""
    best, position, multiplier = x, None, 1
    for axis in range(x.rank - 1, 1, -1):
        spans = windows[axis - 2]
        taps = max((count for _, count, _ in spans), default=1)
        table = np.array([[first + min(tap, count - 1) * step for tap in range(taps)] for first, count, step in spans])
        trailing = (1,) * (x.rank - 1 - axis)
        values = b.Gather(best, b.constant(table.astype(np.int64)), axis=axis)
        places = b.constant((table * multiplier).astype(np.int64).reshape(*table.shape, *trailing))
        places = (
            b.Add(b.Gather(position, b.constant(table.astype(np.int64)), axis=axis), places)
            if position
            else (b.same_shape(places, values))
        )
        chosen = b.ArgMax(values, axis=axis + 1, keepdims=1)
        best = b.squeeze(b.GatherElements(values, chosen, axis=axis + 1), (axis + 1,))
        position = b.squeeze(b.GatherElements(places, chosen, axis=axis + 1), (axis + 1,))
        multiplier = multiplier * x.shape[axis]
        if not isinstance(multiplier, int):
            raise Unsupported("places of maxima are numbered within the image, whose size has to be fixed")
    assert position is not None
    return position


@lowering("max_pool_backward")
def max_pool_backward(b: Builder, g: Array, x: Array, y: Array, *attributes: Any) -> Array:
    _, places = _max_pool(b, x, 2, *attributes)
    zeros = b.zeros((math.prod(x.shape) if _fixed(x.shape) else _count(x.shape),), g.dtype)
    flat = b.ScatterElements(zeros, _flat(b, places), _flat(b, g), axis=0, reduction="add")
    return b.reshape(flat, x.shape)


@lowering("max_pool_pick")
def max_pool_pick(b: Builder, c: Array, x: Array, y: Array, *attributes: Any) -> Array:
    _, places = _max_pool(b, x, 2, *attributes)
    return b.Gather(_flat(b, c), places, axis=0)


def _count(shape: tuple) -> Any:
    total: Any = 1
    for n in shape:
        total = total * n
    return total


def _flat(b: Builder, x: Array) -> Array:
    return b.Reshape(x, b.sizes((-1,)))


def _pad_space(b: Builder, x: Array, low: tuple, high: tuple, value: float) -> Array:
    pads = b.sizes((0, 0, *low, 0, 0, *high))
    return b.Pad(x, pads, b.constant(value, x.dtype))


@lowering("avg_pool")
def avg_pool(
    b: Builder,
    x: Array,
    kernel: tuple,
    stride: tuple,
    padding: tuple,
    ceil_mode: bool,
    include: bool,
    override: int | None,
) -> Array:
    if not x.is_float:
        wide = Array(b.cast(x, np.float64).name, np.dtype("float64"), x.shape)
        mean = avg_pool(b, wide, kernel, stride, padding, ceil_mode, include, override)
        return b.cast(b.Mul(b.Sign(mean), b.Floor(b.Add(b.Abs(mean), 1e-9))), x.dtype)  # PyTorch divides towards zero
    window = {"kernel_shape": kernel, "strides": stride}
    if not ceil_mode and override is None:
        return b.AveragePool(x, pads=(*padding, *padding), count_include_pad=int(include), **window)
    # Sums over windows inside of an explicit border, then one division: onnxruntime counts ceil_mode's border
    # differently.
    excess = _excess(x, kernel, stride, padding, (1,) * len(kernel), ceil_mode) if ceil_mode else [0] * len(kernel)
    excess = [max(0, e) if isinstance(e, int) else e for e in excess]
    high = tuple(p + e for p, e in zip(padding, excess))
    mean = b.AveragePool(_pad_space(b, x, padding, high, 0.0), **window)
    if override is not None:
        return b.Mul(mean, math.prod(kernel) / override)
    ones = b.full((1, 1, *x.shape[2:]), 1, x.dtype)
    if include:
        ones = _pad_space(b, _pad_space(b, ones, padding, padding, 1.0), (0,) * len(kernel), tuple(excess), 0.0)
    else:
        ones = _pad_space(b, ones, padding, high, 0.0)
    return b.Div(mean, b.AveragePool(ones, **window))


@lowering("avg_pool_backward")
def avg_pool_backward(
    b: Builder, g: Array, size: tuple, kernel: tuple, stride: tuple, padding: tuple, ceil_mode: bool, include: bool,
    override: int | None,
) -> Array:  # fmt: skip
    """Each gradient spread evenly over its window: a transposed convolution of one channel with ones."""
    if ceil_mode or not (include or override is not None or not any(padding)):
        raise Unsupported("the gradient of an average pool is exported where every window counts the same")
    channels = (g.shape[0] * g.shape[1], 1)
    share = 1 / (override if override is not None else math.prod(kernel))
    ones = b.constant(np.full((1, 1, *kernel), share), g.dtype)
    ones.shape = (1, 1, *kernel)
    rows = b.reshape(g, (*channels, *g.shape[2:]))
    rows.shape = (*channels, *g.shape[2:])
    space = transposed(b, rows, ones, None, size, stride, padding, (1,) * len(kernel), 1)
    return b.reshape(space, (*g.shape[:2], *size))
