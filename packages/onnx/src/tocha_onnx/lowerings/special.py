"""Special functions: those that ONNX's own functions express to full precision, and the reasons for the rest."""

from __future__ import annotations

import math

from ..builder import Array, Builder
from ..registry import lowering, unsupported
from .pointwise import isnan, log1p


@lowering("erfc")
def erfc(b: Builder, x: Array) -> Array:
    return b.Sub(1, b.Erf(x))


@lowering("ndtr")
def ndtr(b: Builder, x: Array) -> Array:
    return b.Mul(b.Add(b.Erf(b.Mul(x, math.sqrt(0.5))), 1), 0.5)


@lowering("entr")
def entr(b: Builder, x: Array) -> Array:
    inside = b.Where(b.Equal(x, 0), b.constant(0, x.dtype), b.Neg(b.Mul(x, b.Log(x))))
    return b.Where(b.Less(x, 0), b.constant(-math.inf, x.dtype), inside)


@lowering("xlog1py")
def xlog1py(b: Builder, x: Array, y: Array) -> Array:
    nothing = b.And(b.Equal(x, 0), b.Not(isnan(b, y)))
    return b.Where(nothing, b.constant(0, x.dtype), b.Mul(x, log1p(b, y)))


@lowering("linalg_det")
def det(b: Builder, x: Array) -> Array:
    return b.Det(x)


@lowering("linalg_slogdet")
def slogdet(b: Builder, x: Array) -> tuple[Array, Array]:
    value = b.Det(x)
    return b.Sign(value), b.Log(b.Abs(value))


@lowering("angle")
def angle(b: Builder, x: Array) -> Array:
    """Of real numbers: 0, or pi where they are negative."""
    return b.Where(b.Less(x, 0), b.constant(math.pi, x.dtype), b.Where(isnan(b, x), x, b.constant(0, x.dtype)))


unsupported(
    "ONNX has no operator for this special function",
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "digamma", "erfcx", "erfinv", "i0", "i0e", "i1", "i1e",
    "igamma", "igammac", "lgamma", "log_ndtr", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
    "modified_bessel_k1", "ndtri", "polygamma", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
    "spherical_bessel_j0", "zeta",
)  # fmt: skip
unsupported(
    "the degree is a tensor, and the recurrence would be as long as its largest element",
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
)  # fmt: skip
unsupported(
    "ONNX has no operator for matrix factorisations",
    "cholesky_inverse", "cholesky_solve", "linalg_cholesky", "linalg_eig", "linalg_eigh", "linalg_inv", "linalg_lu", "linalg_pinv", "linalg_qr", "linalg_solve",
    "linalg_solve_triangular", "linalg_svd",
)  # fmt: skip
unsupported(
    "complex numbers have no place in onnxruntime",
    "fft_c2c", "fft_c2r", "fft_r2c", "imag", "view_as_real",
)  # fmt: skip
unsupported("its search for the first of equal maxima has no ONNX form", "bag_argmax")
unsupported("its windows are drawn anew for each channel", "fractional_max_pool_indices")
