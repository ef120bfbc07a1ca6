"""Tensors of random values for tests."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import tocha


def _bounds(low: Any, high: Any, dtype: Any, least: float, end: float, default: tuple, integral: bool) -> tuple:
    low, high = default[0] if low is None else low, default[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and not integral:
        warnings.warn(
            "Passing `low==high` to `tocha.testing.make_tensor` for floating or complex types is deprecated. Use "
            "`tocha.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= end:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
            f"[{least}, {end})"
        )
    low, high = min(max(low, least), end), min(max(high, least), end)
    return (math.ceil(low), math.ceil(high)) if integral else (low, high)


def _uniform(t: Any, low: float, high: float) -> None:
    if high - low >= tocha.finfo(t.dtype).max:  # the width would overflow
        t.uniform_(low / 2, high / 2).mul_(2)
    elif t.numel():
        t.uniform_(low, high)


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """Values drawn uniformly from [low, high).

    Args:
        low, high: by default [0, 2) for bool, [-9, 10) for integers and [-9, 9) otherwise; clamped to the dtype.
        noncontiguous: every other element of a larger tensor.
        exclude_zero: the smallest positive number (or 1) in the place of zeros.

    Raises:
        ValueError: an empty or impossible interval, or arguments that exclude each other.

    Example:
        >>> import tocha
        >>> from tocha.testing import make_tensor
        >>> make_tensor((2, 3), dtype=tocha.float32, device="cpu").shape
        tocha.Size([2, 3])
    """
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and "
            f"{memory_format=}"
        )
    integral = not (dtype.is_floating_point or dtype.is_complex)
    if requires_grad and integral:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    spread = noncontiguous and math.prod(shape) > 1
    if spread:
        shape = (*shape[:-1], 2 * shape[-1])
    if integral:
        if dtype is tocha.bool:
            limits, default = (0, 2), (0, 2)
        else:
            info = tocha.iinfo(dtype)
            limits, default = (info.min, info.max + (dtype is not tocha.int64)), (-9, 10)
        low, high = _bounds(low, high, dtype, *limits, default, True)
        result = tocha.randint(low, high, shape, dtype=dtype, device=device)
    else:
        floats = tocha.finfo(dtype)
        low, high = _bounds(low, high, dtype, floats.min, floats.max, (-9, 9), False)
        result = tocha.empty(shape, dtype=dtype, device=device)
        _uniform(tocha.view_as_real(result) if dtype.is_complex else result, low, high)
    if spread:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = 1 if integral else tocha.finfo(dtype).tiny
    return result.requires_grad_() if requires_grad else result
