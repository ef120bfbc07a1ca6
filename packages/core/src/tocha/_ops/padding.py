"""Padding: with a constant, or with the reflected, replicated or circular border of the input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.families import operator
from .._core.templates import expected_tensor
from .._core.tensor import Tensor
from .layout import new_like
from .tie import tied

__all__ = ["constant_pad_nd"]

# ---------------------------------------------------------------- primitives


def _pairs(pads: tuple, ndim: int) -> list:
    """``(low, high)`` a dimension, first dimension first, of pads that name the last dimension first."""
    pairs = [(0, 0)] * ndim
    for i in range(len(pads) // 2):
        pairs[ndim - 1 - i] = (pads[2 * i], pads[2 * i + 1])
    return pairs


def _padded_shape(x: Any, pads: tuple) -> tuple:
    return tuple([n + low + high for n, (low, high) in zip(x.shape, _pairs(pads, len(x.shape)))])


def _constant_kernel(xp: Any, x: Any, pads: tuple, value: Any) -> Any:
    out = new_like(xp, x, _padded_shape(x, pads))
    out[...] = value
    source, target = [], []
    for n, (low, high) in zip(x.shape, _pairs(pads, x.ndim)):
        source.append(slice(max(0, -low), max(0, n + min(0, high))))
        target.append(slice(max(0, low), max(0, n + low + min(0, high))))
    out[tuple(target)] = x[tuple(source)]
    return out


constant_pad: Callable = operator(
    "constant_pad",
    _constant_kernel,
    lambda n, g: (constant_pad(g, tuple([-p for p in n.attrs[0]]), 0.0),),
    lambda x, pads, value: (_padded_shape(x, pads), x.dtype),
    linear=True,
)
operators["constant_pad"] = constant_pad


def _sources(n: int, low: int, high: int, mode: str) -> np.ndarray:
    """Which element of a dimension of ``n`` each element of the padded dimension repeats."""
    if mode == "circular":  # what is cut off does not come back at the other end
        first, kept = max(-low, 0), n - max(-low, 0) - max(-high, 0)
        return first + np.arange(-max(low, 0), kept + max(high, 0)) % max(kept, 1)
    index = np.arange(-low, n + high)
    if mode == "reflect":
        index = np.abs(index)
        return np.where(index >= n, 2 * (n - 1) - index, index)
    return np.clip(index, 0, n - 1)


def _runs(index: np.ndarray) -> list[tuple[slice, slice | int]]:
    """An index as a few runs ``(positions, elements)``: a slice forwards or backwards, or one element repeated."""
    values = index.tolist()
    found: list[tuple[slice, slice | int]] = []
    start = 0
    while start < len(values):
        step = values[start + 1] - values[start] if start + 1 < len(values) else 1
        step = step if step in (-1, 0, 1) else 1
        end = start + 1
        while end < len(values) and values[end] - values[end - 1] == step:
            end += 1
        if step == 0:
            found.append((slice(start, end), values[start]))
        else:
            stop = values[end - 1] + step
            found.append((slice(start, end), slice(values[start], None if stop < 0 else stop, step)))
        start = end
    return found


def _border_kernel(xp: Any, x: Any, pads: tuple, mode: str) -> Any:
    given = x
    for axis, (low, high) in enumerate(_pairs(pads, x.ndim)):
        if not low and not high:
            continue
        n = x.shape[axis]
        out = new_like(xp, x, (*x.shape[:axis], n + low + high, *x.shape[axis + 1 :]))
        lead = (slice(None),) * axis
        for positions, elements in _runs(_sources(n, low, high, mode)):
            source = x[(*lead, elements)]
            out[(*lead, positions)] = xp.expand_dims(source, axis) if isinstance(elements, int) else source
        x = out
    return x.copy() if x is given else x


def _border_backward_kernel(xp: Any, g: Any, pads: tuple, mode: str, shape: tuple) -> Any:
    given = g
    for axis, (low, high) in enumerate(_pairs(pads, g.ndim)):
        if not low and not high:
            continue
        n = shape[axis]
        out = new_like(xp, g, (*g.shape[:axis], n, *g.shape[axis + 1 :]))
        out[...] = 0
        lead = (slice(None),) * axis
        for positions, elements in _runs(_sources(n, low, high, mode)):
            part = g[(*lead, positions)]
            out[(*lead, elements)] += part.sum(axis) if isinstance(elements, int) else part
        g = out
    return g.copy() if g is given else g


border_pad = operator(
    "border_pad",
    _border_kernel,
    lambda n, g: (tied(_border_pad_backward(g, *n.attrs, tuple(n.shape)), n.saved[0]),),
    lambda x, pads, mode: (_padded_shape(x, pads), x.dtype),
    save=(0,),
    linear=True,
)
_border_pad_backward: Callable = operator(
    "border_pad_backward",
    _border_backward_kernel,
    lambda n, c: (border_pad(c, n.attrs[0], n.attrs[1]),),
    lambda g, pads, mode, shape: (shape, g.dtype),
    linear=True,
)

# ---------------------------------------------------------------- public


def _checked_pads(pad: Any, ndim: int) -> tuple:
    if not isinstance(pad, (tuple, list)):
        raise TypeError(f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}")
    for i, p in enumerate(pad):
        if isinstance(p, (bool, float)) or not (hasattr(p, "__index__") or hasattr(p, "scalar_category")):
            raise TypeError(
                "pad(): argument 'pad' (position 2) must be tuple of ints, but found element of type "
                f"{type(p).__name__} at pos {i}"
            )
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {ndim}"
        )
    return tuple([p if type(p) is int or hasattr(p, "scalar_category") else p.__index__() for p in pad])


def constant_pad_nd(input: Tensor, pad: Any, value: Any = 0) -> Tensor:
    """``input`` with ``value`` added before and after; ``pad`` is ``(low, high)`` of the last dimension, then of the
    one before …

    Negative numbers cut off.

    Raises:
        RuntimeError: ``pad`` does not fit the input.

    Example:
        >>> import tocha
        >>> tocha.constant_pad_nd(tocha.ones(2), (1, 2)).tolist()
        [0.0, 1.0, 1.0, 0.0, 0.0]
    """
    if not isinstance(input, Tensor):
        raise expected_tensor("pad", 1, input)
    pads = _checked_pads(pad, len(input._data.shape))
    if any([type(n) is int and n < 0 for n in _padded_shape(input._data, pads)]):
        raise RuntimeError("narrow(): length must be non-negative.")
    kind = input._data.dtype.kind
    if hasattr(value, "item"):
        value = value.item()
    value = (
        bool(value) if kind == "b" else int(value) if kind in "iu" else complex(value) if kind == "c" else float(value)
    )
    return constant_pad(input, pads, value)


def pad(input: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """``input`` with something added around it.

    Args:
        pad: ``(low, high)`` of the last dimension, then of the one before …; negative numbers cut off.
        mode: "constant"; or, for the last one, two or three dimensions of inputs with channels, "reflect" (without the
            edge), "replicate" (the edge) or "circular".
        value: the constant (default 0).

    Raises:
        RuntimeError: ``pad`` does not fit the input. NotImplementedError: nor the mode.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.pad.html

    Example:
        >>> import tocha
        >>> tocha.nn.functional.pad(tocha.arange(3.0).view(1, 3), (2, 1), mode="reflect").tolist()
        [[2.0, 1.0, 0.0, 1.0, 2.0, 1.0]]
    """
    if not isinstance(input, Tensor):
        raise expected_tensor("pad", 1, input)
    if mode == "constant":
        return constant_pad_nd(input, pad, 0 if value is None else value)
    shape = input._data.shape
    pads = _checked_pads(pad, len(shape))
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    nd = len(pads) // 2
    if nd not in (1, 2, 3) or len(shape) not in (nd + 1, nd + 2):
        raise NotImplementedError(f"Padding size {len(pads)} is not supported for {len(shape)}D input tensor.")
    _check_border(shape, pads, mode, nd)
    return border_pad(input, pads, mode)


def _check_border(shape: Any, pads: tuple, mode: str, nd: int) -> None:
    if mode == "circular":
        for axis, (low, high) in enumerate(_pairs(pads, len(shape))):
            if low > shape[axis] or high > shape[axis]:
                raise RuntimeError("Padding value causes wrapping around more than once.")
            if shape[axis] + low + high < 0:
                raise RuntimeError("Negative padding value is resulting in an empty dimension")
        return
    if any([type(n) is int and n == 0 for n in shape[len(shape) - nd - 1 :]]):
        raise RuntimeError(
            f"Expected {nd + 1}D or {nd + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(shape)}"
        )
    for axis, (low, high) in enumerate(_pairs(pads, len(shape))):
        if not low and not high:
            continue
        if mode == "reflect" and (low >= shape[axis] or high >= shape[axis]):
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({low}, {high}) at dimension {axis} of input {list(shape)}"
            )
        if shape[axis] + low + high < 0:
            raise RuntimeError(
                f"input (size {shape[axis]}) is too small for padding ({low}, {high}) at dimension {axis}"
            )
