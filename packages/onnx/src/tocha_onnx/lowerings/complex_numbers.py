"""Complex numbers between real inputs and real outputs: each is a pair of real arrays, which ONNX has operators for.

The lowerings here are registered as ``complex/NAME`` and used where an operator reads or makes complex numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..builder import Array, Builder, Complex
from ..registry import find, lowering
from .binary import atan2

NP_FLOAT64 = np.dtype("float64")

# Operators that act on the real and on the imaginary part alike.
LINEAR = (
    "alias", "cat", "clone", "constant_pad", "contiguous", "cumsum", "diagonal", "expand", "flip", "gather", "index",
    "neg", "overwrite", "permute", "roll", "slice", "slice_pad", "split", "sum", "tril", "triu", "unfold", "view",
)  # fmt: skip


def _part(value: Any, i: int) -> Any:
    if isinstance(value, Complex):
        return value[i]
    return tuple(_part(v, i) for v in value) if isinstance(value, tuple) else value


def _on_both(name: str) -> Callable:
    def lower(b: Builder, *args: Any) -> Any:
        real, imaginary = [find(name)(b, *[_part(a, i) for a in args]) for i in (0, 1)]
        if isinstance(real, tuple):
            return tuple(Complex(r, i) for r, i in zip(real, imaginary))
        return Complex(real, imaginary)

    return lower


for _name in LINEAR:
    lowering(f"complex/{_name}")(_on_both(_name))


# ---------------------------------------------------------------- parts


@lowering("complex/real")
def real(b: Builder, z: Complex) -> Array:
    return z.real


@lowering("complex/imag")
def imag(b: Builder, z: Complex) -> Array:
    return z.imag


@lowering("complex/complex")
def make(b: Builder, re: Array, im: Array, *shapes: tuple) -> Complex:
    return Complex(b.Add(re, b.Mul(im, 0)), b.Add(im, b.Mul(re, 0)))


@lowering("complex/view_as_real")
def as_real(b: Builder, z: Complex) -> Array:
    last = (len(z.real.shape),)
    return b.Concat(b.unsqueeze(z.real, last), b.unsqueeze(z.imag, last), axis=last[0])


@lowering("complex/view_as_complex")
def as_complex(b: Builder, x: Array) -> Complex:
    axis = x.rank - 1
    return Complex(b.Gather(x, b.constant(0), axis=axis), b.Gather(x, b.constant(1), axis=axis))


@lowering("complex/cast")
def cast(b: Builder, z: Any, dtype: np.dtype) -> Any:
    part = np.zeros(0, dtype).real.dtype if dtype.kind == "c" else dtype
    if isinstance(z, Complex):
        return Complex(b.cast(z.real, part), b.cast(z.imag, part)) if dtype.kind == "c" else b.cast(z.real, dtype)
    wide = b.cast(z, part)
    return Complex(wide, b.Mul(wide, 0))


@lowering("complex/full")
def full(b: Builder, shape: tuple, value: complex, dtype: np.dtype) -> Complex:
    part = np.zeros(0, dtype).real.dtype
    return Complex(b.full(shape, complex(value).real, part), b.full(shape, complex(value).imag, part))


@lowering("complex/conj_physical")
def conj(b: Builder, z: Complex) -> Complex:
    return Complex(z.real, b.Neg(z.imag))


@lowering("complex/abs")
def absolute(b: Builder, z: Complex) -> Array:
    return find("hypot")(b, z.real, z.imag)


@lowering("complex/angle")
def angle(b: Builder, z: Complex) -> Array:
    return atan2(b, z.imag, z.real)


# ---------------------------------------------------------------- arithmetic


@lowering("complex/add")
def add(b: Builder, x: Complex, y: Complex) -> Complex:
    return Complex(b.Add(x.real, y.real), b.Add(x.imag, y.imag))


@lowering("complex/sub")
def sub(b: Builder, x: Complex, y: Complex) -> Complex:
    return Complex(b.Sub(x.real, y.real), b.Sub(x.imag, y.imag))


@lowering("complex/mul")
def mul(b: Builder, x: Complex, y: Complex) -> Complex:
    re = b.Sub(b.Mul(x.real, y.real), b.Mul(x.imag, y.imag))
    return Complex(re, b.Add(b.Mul(x.real, y.imag), b.Mul(x.imag, y.real)))


@lowering("complex/div")
def div(b: Builder, x: Complex, y: Complex) -> Complex:
    size = b.Add(b.Mul(y.real, y.real), b.Mul(y.imag, y.imag))
    above = mul(b, x, conj(b, y))
    return Complex(b.Div(above.real, size), b.Div(above.imag, size))


# ---------------------------------------------------------------- Fourier transforms: products with matrices of angles


def _angles(b: Builder, rows: Any, columns: Any, n: Any, dtype: np.dtype) -> tuple[Array, Array]:
    """Cosines and sines of ``2 pi i k / n``; the product is reduced modulo n first, which keeps the digits."""
    if all(isinstance(v, int) for v in (rows, columns, n)):
        turns = np.outer(np.arange(rows), np.arange(columns)) % n * (2 * math.pi / n)
        return b.constant(np.cos(turns), dtype), b.constant(np.sin(turns), dtype)
    product = b.Mul(b.unsqueeze(b.range(rows), (1,)), b.unsqueeze(b.range(columns), (0,)))
    turns = b.cast(b.Mod(product, b.scalar(n)), NP_FLOAT64)
    angles = b.Div(b.Mul(turns, 2 * math.pi), b.scalar(n, NP_FLOAT64))
    return b.cast(b.Cos(angles), dtype), b.cast(b.Sin(angles), dtype)


def _along(b: Builder, x: Array, dim: int, matrix: Array, rank: int) -> Array:
    order = [*[d for d in range(rank) if d != dim], dim]
    return b.transpose(b.MatMul(b.transpose(x, order), matrix), tuple(np.argsort(order)))


def _transform(b: Builder, z: Complex, dim: int, n: Any, rank: int, forward: bool) -> Complex:
    cosine, sine = _angles(b, n, n, n, z.real.dtype)
    parts = [[_along(b, part, dim, matrix, rank) for matrix in (cosine, sine)] for part in z]
    (rc, rs), (ic, is_) = parts
    if forward:
        return Complex(b.Add(rc, is_), b.Sub(ic, rs))
    return Complex(b.Sub(rc, is_), b.Add(ic, rs))


def _scaled(b: Builder, x: Array, scale: Any) -> Array:
    """``scale`` may be made of symbolic sizes."""
    return x if isinstance(scale, int | float) and scale == 1 else b.Mul(x, scale)


@lowering("complex/fft_c2c")
def c2c(b: Builder, z: Complex, dims: tuple, forward: bool, scale: float) -> Complex:
    shape = z.real.shape
    for dim in dims:
        z = _transform(b, z, dim, shape[dim], len(shape), forward)
    return Complex(_scaled(b, z.real, scale), _scaled(b, z.imag, scale))


@lowering("complex/fft_r2c")
def r2c(b: Builder, x: Array, dims: tuple, scale: float) -> Complex:
    rank, last = x.rank, dims[-1]
    n = x.shape[last]
    cosine, sine = _angles(b, n, n // 2 + 1, n, x.dtype)
    z = Complex(_along(b, x, last, cosine, rank), _along(b, x, last, b.Neg(sine), rank))
    for dim in dims[:-1]:
        z = _transform(b, z, dim, x.shape[dim], rank, True)
    return Complex(_scaled(b, z.real, scale), _scaled(b, z.imag, scale))


@lowering("complex/fft_c2r")
def c2r(b: Builder, z: Complex, dims: tuple, size: Any, scale: float) -> Array:
    """The sum over the frequencies that are there, each but the first (and the middle one) with its mirrored twin."""
    shape, dtype = z.real.shape, z.real.dtype
    rank, last = len(shape), dims[-1]
    for dim in dims[:-1]:
        z = _transform(b, z, dim, shape[dim], rank, False)
    half = size // 2 + 1
    count = shape[last]
    z = Complex(*[_resized(b, part, last, count, half, rank) for part in z])
    cosine, sine = _angles(b, half, size, size, dtype)
    place = b.range(half)
    single = b.Or(b.Equal(place, 0), b.Equal(b.Mul(place, 2), b.scalar(size)))
    weight = b.unsqueeze(b.Where(single, b.constant(1, dtype), b.constant(2, dtype)), (1,))
    re = _along(b, z.real, last, b.Mul(cosine, weight), rank)
    return _scaled(b, b.Sub(re, _along(b, z.imag, last, b.Mul(sine, weight), rank)), scale)


def _resized(b: Builder, x: Array, dim: int, have: Any, want: Any, rank: int) -> Array:
    """``x`` cut off, or with zeros added, along a dimension."""
    if b.shapes.same((have,), (want,)):
        return x
    cut = b.slice(x, dim, 0, want)
    pads: list[Any] = [0] * (2 * rank)
    missing = want - have
    if isinstance(missing, int) and missing <= 0:
        return cut
    pads[rank + dim] = missing
    return b.Pad(cut, b.Max(b.sizes(pads), 0), b.constant(0, x.dtype))
