"""The three Fourier transforms that all of ``tocha.fft`` is made of: complex to complex, real to complex, complex to
real.

Each is unnormalised times ``scale``. They are linear, so their gradients are transforms in the other direction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.broadcast import operators
from .._core.families import operator
from .complex import real_part


def _complex_of(d: np.dtype) -> np.dtype:
    return dtypes.of(d).to_complex().np


def _scaled(r: Any, dtype: np.dtype, scale: float) -> Any:
    r = r.astype(dtype, copy=False)
    return r if scale == 1 else r * dtype.type(scale)


def _c2c_kernel(xp: Any, x: Any, dims: tuple, forward: bool, scale: float) -> Any:
    r = xp.fft.fftn(x, axes=dims) if forward else xp.fft.ifftn(x, axes=dims, norm="forward")
    return _scaled(r, x.dtype, scale)


c2c: Callable = operator(
    "fft_c2c",
    _c2c_kernel,
    lambda n, g: (c2c(g, n.attrs[0], not n.attrs[1], n.attrs[2]),),
    lambda x, *attrs: (x.shape, x.dtype),
    linear=True,
)


def _r2c_kernel(xp: Any, x: Any, dims: tuple, scale: float) -> Any:
    return _scaled(xp.fft.rfftn(x, axes=dims), _complex_of(x.dtype), scale)


def _r2c_infer(x: Any, dims: tuple, scale: float) -> tuple:
    shape = list(x.shape)
    shape[dims[-1]] = shape[dims[-1]] // 2 + 1
    return tuple(shape), _complex_of(x.dtype)


def _r2c_rule(n: Any, g: Any) -> tuple:
    """Zeros for the half that was left out, then the transform back, of which the real part counts."""
    dims, scale = n.attrs
    padded = operators["slice_pad"](g, n.shape, tuple([slice(0, s) for s in g.shape]))
    return (real_part(c2c(padded, dims, False, scale)) * 1,)


r2c = operator("fft_r2c", _r2c_kernel, _r2c_rule, _r2c_infer, linear=True)


def _c2r_kernel(xp: Any, x: Any, dims: tuple, size: int, scale: float) -> Any:
    real = dtypes.of(x.dtype).to_real().np
    shape = [x.shape[d] for d in dims[:-1]] + [size]
    return _scaled(xp.fft.irfftn(x, shape, axes=dims, norm="forward"), real, scale)


def _c2r_infer(x: Any, dims: tuple, size: Any, scale: float) -> tuple:
    shape = list(x.shape)
    shape[dims[-1]] = size
    return tuple(shape), dtypes.of(x.dtype).to_real().np


def _c2r_rule(n: Any, g: Any) -> tuple:
    """Frequencies that stand for their mirrored twin too count twice."""
    dims, size, scale = n.attrs
    spectrum = r2c(g, dims, scale)
    last = dims[-1]
    count = n.shape[last]
    twice = size - count
    if type(twice) is int and twice <= 0:
        return (spectrum,)
    weight = np.ones(count, dtypes.NP_FLOAT64)
    weight[1 : 1 + twice] = 2
    from .cumulative import constant_like

    shaped = weight.reshape([-1 if d == last else 1 for d in range(len(n.shape))])
    return (spectrum * constant_like(shaped, spectrum, cast=True),)


c2r = operator("fft_c2r", _c2r_kernel, _c2r_rule, _c2r_infer, linear=True)
