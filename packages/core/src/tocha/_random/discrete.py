"""Discrete distributions on raw arrays, draw for draw those of PyTorch's CPU kernels.

The functions with ``out`` overwrite that array, in its dtype and whatever its strides, and return it. Parameters and
errors: https://pytorch.org/docs/stable/torch.html#random-sampling
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import checks
from .continuous import exponential
from .filling import fill, narrow, visit_order
from .generator import Generator

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


def randint(gen: Generator, out: np.ndarray, low: int, high: int | None) -> np.ndarray:
    """Integers of [low, high), or from ``low`` to the dtype's last: ``torch.Tensor.random_``, ``torch.randint``.

    The last of a floating dtype is 2 to the number of its significand's bits; ``low`` = -2**63 without ``high`` stands
    for all of 64 bits.

    Raises:
        RuntimeError: ``low >= high``, or an end is out of the dtype's range.

    Example:
        >>> import numpy as np
        >>> from tocha._random import Generator, randint
        >>> randint(Generator().manual_seed(0), np.empty(4, np.int64), 0, 10)
        array([4, 9, 3, 0])
    """
    dtype = out.dtype
    floating = checks.is_floating(dtype)
    if high is None and low == _LOWEST:
        return _all_of_64_bits(gen, out)
    if high is not None:
        if low >= high:
            raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
        last = high - 1
        if floating:
            low, last = _exact_from(low, dtype), _exact_to(high, dtype) - 1
            if low > last:
                raise RuntimeError(
                    "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                    f"but got from={low} >= to={last + 1}"
                )
    elif floating:
        low, last = _exact_from(low, dtype), 2 ** checks.DIGITS[dtype.name]
        if low >= last:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, "
                f"but got from={low} > to_inc={last}"
            )
    elif dtype.kind in "biu":
        last = min(checks.integer_bounds(dtype)[1], _HIGHEST)
    else:
        raise RuntimeError("random_from_to_impl handles only integral, floating-point and boolean types")
    checks.integer_range(low, last, dtype)
    span = last - low + 1
    words = gen.words if span < 2**28 else gen.long_words
    return fill(out, lambda n: _integers(words(n), span, low, dtype))


def random(gen: Generator, out: np.ndarray) -> np.ndarray:
    """``torch.Tensor.random_()``: from 0 to the dtype's last, or to 2 to the number of a floating significand's bits.

    Raises:
        NotImplementedError: the dtype is complex or unsigned of more than 8 bits.
    """
    if out.size == 0:
        return out
    checks.implemented("random_kernel_cpu", out.dtype, ("bool", *checks.INTEGERS, *checks.FLOATS))
    if checks.is_floating(out.dtype):
        span = 2 ** checks.DIGITS[out.dtype.name] + 1
    else:
        span = checks.integer_bounds(out.dtype)[1] + 1
    words = gen.long_words if out.dtype.name in ("int64", "float64") else gen.words
    return fill(out, lambda n: _integers(words(n), span, 0, out.dtype))


def _all_of_64_bits(gen: Generator, out: np.ndarray) -> np.ndarray:
    if out.size:
        checks.implemented("random_full_64_bits_range_kernel_cpu", out.dtype,
                           (*checks.INTEGERS, "bfloat16", "float32", "float64"))  # fmt: skip
        if out.dtype.name not in ("int64", "float64", "float32", "bfloat16"):
            raise RuntimeError("random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16")
    return fill(out, lambda n: _integers(gen.long_words(n), 2**64, 0, out.dtype))


def _integers(words: np.ndarray, span: int, low: int, dtype: np.dtype) -> np.ndarray:
    if span < 2**64:
        words %= np.uint64(span)
    values = words.view(np.int64)
    values += low
    if dtype.itemsize == 2 and dtype.kind not in "iu":
        values = values.astype(np.float32)
    return values.astype(dtype, copy=False)


def _exact_from(low: int, dtype: np.dtype) -> int:
    """``low``, or the next value of the dtype where rounding would fall below it."""
    rounded = _rounded(low + 1, dtype)
    if rounded < low:
        return rounded + (1 << (abs(low + 1).bit_length() - checks.DIGITS[dtype.name]))
    return low


def _exact_to(high: int, dtype: np.dtype) -> int:
    """``high``, or the value of the dtype before it where rounding would reach it."""
    rounded = _rounded(high - 1, dtype)
    if rounded >= high:
        return rounded - (1 << (abs(high - 1).bit_length() - checks.DIGITS[dtype.name]))
    return high


def _rounded(value: int, dtype: np.dtype) -> int:
    rounded = float(narrow(np.array(float(value)), dtype))
    return int(rounded) if abs(rounded) < 2.0**63 else _LOWEST


def randperm(gen: Generator, n: int, dtype: Any = np.int64) -> np.ndarray:
    """A permutation of 0 … n - 1: ``torch.randperm``.

    Raises:
        NotImplementedError: ``dtype`` is complex, bool or unsigned of more than 8 bits.
        RuntimeError: ``n`` is negative, too large for ``dtype``, or 2**32 / 20 and more.
    """
    dtype = np.dtype(dtype)
    checks.permutation(n, dtype)
    steps = gen.words(max(n - 1, 0))
    steps %= np.arange(n, 1, -1, dtype=np.uint64)
    order = list(range(n))
    for i, step in enumerate(steps.tolist()):
        j = i + step
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64).astype(dtype, copy=False)


def bernoulli(gen: Generator, out: np.ndarray, p: float | np.ndarray) -> np.ndarray:
    """Ones with probability ``p``, else zeros: ``torch.Tensor.bernoulli_`` of a number or of an array that broadcasts.

    ``torch.bernoulli(p)`` passes a new C-ordered array. Draws are doubles, or singles for an array that is not float64.

    Raises:
        NotImplementedError: ``out`` is complex or unsigned of more than 8 bits, or ``p`` is not floating.
        RuntimeError: a probability is outside of [0, 1].
    """
    kind = "tensor_cpu_self_" if isinstance(p, np.ndarray) else "scalar_cpu_"
    if not isinstance(p, np.ndarray):
        checks.probability("bernoulli_", p)
    if out.size == 0:
        return out
    checks.implemented(f"bernoulli_{kind}", out.dtype, ("bool", *checks.INTEGERS, *checks.FLOATS))
    if not isinstance(p, np.ndarray):
        return fill(out, lambda n: gen.doubles(n) < p)
    checks.implemented("bernoulli_tensor_cpu_p_", p.dtype, checks.FLOATS)
    checks.probabilities(p)
    order = visit_order(out)
    spread = np.broadcast_to(p, out.shape).transpose(order).reshape(-1)
    if p.dtype == np.float64:
        ones = gen.doubles(out.size) < spread
    else:
        ones = gen.singles(out.size) < spread.astype(np.float32, copy=False)
    view = out.transpose(order)
    view[...] = ones.reshape(view.shape)
    return out


def geometric(gen: Generator, out: np.ndarray, p: float) -> np.ndarray:
    """Trials until the first success: ``torch.Tensor.geometric_``.

    Raises:
        NotImplementedError: the dtype is complex, bool or unsigned of more than 8 bits.
        RuntimeError: ``p`` is not in (0, 1).
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if out.size == 0:
        return out
    dtype = out.dtype
    checks.implemented("geometric_cpu", dtype, (*checks.INTEGERS, *checks.FLOATS))

    def draw(n: int) -> np.ndarray:
        trials = np.ceil(np.log(gen.doubles(n)) / math.log1p(-p))
        return narrow(trials, dtype) if checks.is_floating(dtype) else trials.astype(np.int64)

    return fill(out, draw)


def multinomial(gen: Generator, weights: np.ndarray, num_samples: int, replacement: bool = False) -> np.ndarray:
    """Indices drawn by weight from each row of ``weights`` (rows, n) or (n,): ``torch.multinomial``, int64.

    Raises:
        RuntimeError: ``weights`` is not floating or not of 1 or 2 dimensions, has an element that is negative or not
            finite, a row without weight, or rows shorter than what is to be drawn without replacement.
    """
    checks.multinomial(weights, num_samples, replacement)
    shape = (*weights.shape[:-1], num_samples)
    if weights.size == 0:
        return np.empty(shape, np.int64)
    if not replacement or num_samples == 1:
        keys = weights / exponential(gen, np.empty_like(weights))
        if num_samples == 1:
            return keys.argmax(-1, keepdims=True)
        return np.argsort(-keys, -1, kind="stable")[..., :num_samples]
    inner = np.float64 if weights.dtype == np.float64 else np.float32
    cumulative: np.ndarray = np.cumsum(weights.reshape(-1, weights.shape[-1]), -1, dtype=inner)
    cumulative /= cumulative[:, -1:].copy()
    cumulative[:, -1] = 1
    picks = [np.searchsorted(row.astype(np.float64), gen.doubles(num_samples)) for row in cumulative]
    return np.stack(picks).reshape(shape)
