"""Continuous distributions on raw arrays, draw for draw those of PyTorch's CPU kernels.

Each function overwrites the array ``out``, in its dtype and whatever its strides, with draws of the generator ``gen``,
and returns it; a factory such as ``rand`` passes a new array. Parameters and errors: PyTorch's
https://pytorch.org/docs/stable/torch.html#in-place-random-sampling
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import checks
from .filling import fill, fma, fma_single, narrow
from .generator import Generator


def uniform(gen: Generator, out: np.ndarray, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Uniform numbers of [low, high): ``torch.Tensor.uniform_``, and ``torch.rand`` with the defaults.

    Raises:
        NotImplementedError: the dtype is not floating or complex.
        RuntimeError: ``low > high``, or a bound or their distance is out of the dtype's range.

    Example:
        >>> import numpy as np
        >>> from tocha._random import Generator, uniform
        >>> uniform(Generator().manual_seed(0), np.empty(2, np.float32))
        array([0.4962566, 0.7682218], dtype=float32)
    """
    dtype = out.real.dtype if out.dtype.kind == "c" else out.dtype
    unit = low == 0 and high == 1
    if out.size or out.dtype.kind != "c":
        checks.implemented("check_uniform_bounds", dtype, checks.FLOATS)
        if not unit:
            checks.uniform_bounds(low, high, dtype)
    if dtype.itemsize > 2 and unit:
        return fill(out, gen.doubles if dtype.itemsize == 8 else gen.singles)
    first, last = (np.array(bound).astype(dtype) for bound in (low, high))

    def draw(n: int) -> np.ndarray:
        if dtype.itemsize == 8:
            values = fma(gen.doubles(n), high - low, low)
        else:
            values = gen.singles(n)
            values = values if unit else fma_single(values, float(np.float32(high) - np.float32(low)), low)
        values = values.astype(dtype, copy=False)
        values[values == last] = first  # rounding can reach the end that is left out
        return values

    return fill(out, draw)


def normal(gen: Generator, out: np.ndarray, mean: float = 0.0, std: float = 1.0) -> np.ndarray:
    """Normal numbers: ``torch.Tensor.normal_``, and ``torch.randn`` with the defaults.

    A contiguous array of 16 elements or more is filled in groups of 16; any other, from pairs in double precision.

    Raises:
        NotImplementedError: the dtype is not floating or complex.
        RuntimeError: ``std`` is negative.
    """
    checks.normal_std(std)
    if out.size == 0:
        return out
    size, dtype = out.size, out.dtype
    if dtype.kind == "c":  # the variance is shared by the two parts
        size, dtype, std = 2 * size, out.real.dtype, std / math.sqrt(2)
    checks.implemented("normal_kernel_cpu", dtype, checks.FLOATS)
    if size < 16 or not out.flags.c_contiguous:
        return fill(out, lambda n: narrow(fma(gen.normals(n), std, mean), dtype))

    uniforms = gen.doubles if dtype.itemsize == 8 else gen.singles
    flat = out.reshape(-1).view(dtype)
    whole = size - size % 16
    fill(flat[:whole], lambda n: _groups_of_16(uniforms(n), mean, std))
    if size > whole:
        if dtype.itemsize > 2:
            uniforms(size - whole)  # drawn with the rest there, then overwritten
        flat[-16:] = _groups_of_16(uniforms(16), mean, std)
    return out


def _groups_of_16(uniform: np.ndarray, mean: float, std: float) -> np.ndarray:
    """The cosines of 8 pairs, then their sines (Box and Muller)."""
    inner = uniform.dtype.type
    groups = uniform.reshape(-1, 2, 8)
    radius = np.log(inner(1) - groups[:, 0])
    radius *= inner(-2)
    np.sqrt(radius, radius)
    angle = groups[:, 1] * inner(2 * math.pi)
    np.multiply(radius, np.cos(angle), out=groups[:, 0])
    np.multiply(radius, np.sin(angle), out=groups[:, 1])
    if mean == 0 and std == 1:
        return uniform
    return fma(uniform, std, mean) if inner is np.float64 else fma_single(uniform, std, mean)


def normal_tensor(gen: Generator, mean: Any, std: Any) -> np.ndarray:
    """``torch.normal`` where ``mean`` or ``std`` or both are arrays, which broadcast.

    The result has the dtype of ``mean`` if that is an array, otherwise of ``std``.

    Raises:
        NotImplementedError: that dtype is not floating or complex.
        RuntimeError: an element of ``std`` is negative, or ``std`` is complex.
    """
    if isinstance(std, np.ndarray):
        checks.normal_stds(std)
    dtype = mean.dtype if isinstance(mean, np.ndarray) else std.dtype
    values = np.empty(np.broadcast_shapes(np.shape(mean), np.shape(std)), dtype)
    normal(gen, values, 0.0, 1.0 if isinstance(std, np.ndarray) else std)
    if isinstance(std, np.ndarray):
        np.multiply(values, _operand(std, dtype), out=values, casting="same_kind")
    return np.add(values, _operand(np.asarray(mean), dtype), out=values, casting="same_kind")


def _operand(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Only another floating array with dimensions widens the arithmetic."""
    return array if array.ndim and checks.is_floating(array.dtype) else array.astype(dtype)


def exponential(gen: Generator, out: np.ndarray, lambd: float = 1.0) -> np.ndarray:
    """``torch.Tensor.exponential_``.

    Raises:
        RuntimeError: ``lambd`` is not positive, or the dtype is not floating.
    """
    checks.positive("exponential_", "lambda", lambd)
    if out.size:
        checks.continuous("Exponential", out.dtype, checks.scalar_type(out.dtype))
    return fill(out, lambda n: narrow(np.log1p(-gen.doubles(n)) * (-1.0 / lambd), out.dtype))


def cauchy(gen: Generator, out: np.ndarray, median: float = 0.0, sigma: float = 1.0) -> np.ndarray:
    """``torch.Tensor.cauchy_``.

    Raises:
        RuntimeError: ``sigma`` is not positive, or the dtype is not floating.
    """
    checks.positive("cauchy_", "sigma", sigma)
    checks.continuous("Cauchy", out.dtype, checks.c_type(out.dtype))

    def draw(n: int) -> np.ndarray:
        return narrow(fma(np.tan(math.pi * (gen.doubles(n) - 0.5)), sigma, median), out.dtype)

    return fill(out, draw)


def log_normal(gen: Generator, out: np.ndarray, mean: float = 1.0, std: float = 2.0) -> np.ndarray:
    """``torch.Tensor.log_normal_``.

    Raises:
        NotImplementedError: the dtype is not floating.
        RuntimeError: ``std`` is not positive.
    """
    checks.positive("log_normal_", "std", std)
    if out.size:
        checks.implemented("log_normal_cpu", out.dtype, checks.FLOATS)
    return fill(out, lambda n: narrow(np.exp(fma(gen.normals(n), std, mean)), out.dtype))
