"""Activation functions that are operators: rectifiers, GELU, SiLU, softmax and its logarithm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.families import half_as_float, operator, shape_like_first, unary
from .._core.tensor import Tensor
from .dims import wrap_dim
from .reduction import as_dtype, sum_dims
from .unary import exp, sigmoid, tanh

__all__ = ["relu"]

ndarray = np.ndarray
_ZEROS: dict[np.dtype, Any] = {}


def _zero(dtype: np.dtype) -> Any:
    """A 0-d zero: NumPy's ufuncs take it twice as fast as a Python number."""
    found = _ZEROS.get(dtype)
    if found is None:
        found = _ZEROS[dtype] = np.zeros((), dtype)
    return found


def _relu_kernel(xp: Any, x: Any) -> Any:
    return xp.maximum(x, _zero(x.dtype) if xp is np else x.dtype.type(0))


relu = unary("relu", _relu_kernel, lambda g, y: g * (y > 0), "y", floating=False, doc="``max(0, x)`` of each element; gradient 0 at 0.")

# ---------------------------------------------------------------- GELU (https://arxiv.org/abs/1606.08415)

_C = math.sqrt(2 / math.pi)


def _gelu_tanh_kernel(xp: Any, x: Any) -> Any:
    u = x * x
    u *= x.dtype.type(0.044715 * _C)
    u += x.dtype.type(_C)
    u *= x
    u = xp.tanh(u)
    u += x.dtype.type(1)
    u *= x
    u *= x.dtype.type(0.5)
    return u


def _gelu_erf_kernel(xp: Any, x: Any) -> Any:
    u = _erf(xp, x * x.dtype.type(math.sqrt(0.5)))
    u += x.dtype.type(1)
    u *= x
    u *= x.dtype.type(0.5)
    return u


def _erf(xp: Any, x: Any) -> Any:
    if xp is np:
        from scipy.special import erf as scipy_erf

        return scipy_erf(x)
    from .special_functions import device_special

    return device_special(xp, "erf")(x)


def _gelu_rule(n: Any, g: Any) -> tuple:
    (x,) = n.saved
    if n.attrs[0] == "tanh":
        x2 = x * x
        t = tanh(x * (x2 * (0.044715 * _C) + _C))
        return (g * ((t + 1) * 0.5 + x * 0.5 * (1 - t * t) * (x2 * (3 * 0.044715 * _C) + _C)),)
    cdf = (operators["erf"](x * math.sqrt(0.5)) + 1) * 0.5
    return (g * (cdf + x * exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))),)


def _gelu_kernel(xp: Any, x: Any, approximate: str) -> Any:
    return _gelu_tanh_kernel(xp, x) if approximate == "tanh" else _gelu_erf_kernel(xp, x)


gelu_op = operator("gelu", half_as_float(_gelu_kernel), _gelu_rule, shape_like_first, save=(0,))

# ---------------------------------------------------------------- SiLU


silu = unary(
    "silu", half_as_float(lambda xp, x: x / (1 + xp.exp(-x))), lambda g, x: _silu_rule(g, x), "x", attach=False, doc="``x * sigmoid(x)`` (also called swish)."
)


def _silu_rule(g: Any, x: Any) -> Any:
    s = sigmoid(x)
    return g * (s * (1 + x * (1 - s)))


# ---------------------------------------------------------------- softmax


def _softmax_kernel(xp: Any, x: Any, dim: int) -> Any:
    e = x - x.max(dim, keepdims=True) if x.size else x.copy()
    if xp is np:
        np.exp(e, out=e)
    else:
        e = xp.exp(e)
    e /= e.sum(dim, keepdims=True)
    return e


def _softmax_rule(n: Any, g: Any) -> tuple:
    (y,) = n.saved
    dim = n.attrs[0]
    gy = g * y
    if type(gy) is ndarray:
        gy -= y * gy.sum(dim, keepdims=True)
        return (gy,)
    return (gy - y * sum_dims(gy, (dim,), True),)


softmax_op = operator("softmax", half_as_float(_softmax_kernel), _softmax_rule, shape_like_first, save=("y",))


def _log_softmax_kernel(xp: Any, x: Any, dim: int) -> Any:
    y = x - x.max(dim, keepdims=True) if x.size else x.copy()
    y -= xp.log(xp.exp(y).sum(dim, keepdims=True))
    return y


def _log_softmax_rule(n: Any, g: Any) -> tuple:
    (y,) = n.saved
    dim = n.attrs[0]
    return (g - exp(y) * sum_dims(g, (dim,), True),)


log_softmax_op = operator("log_softmax", half_as_float(_log_softmax_kernel), _log_softmax_rule, shape_like_first, save=("y",))


def _softmax_call(op: Any, name: str, input: Tensor, dim: Any, dtype: Any) -> Tensor:
    if dim is None:
        import warnings

        warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.", stacklevel=3)
        dim = 0 if len(input._data.shape) in (0, 1, 3) else 1
    if dtype is not None:
        input = as_dtype(input, dtype)
    if input._data.dtype.kind in "biu":
        from .._core.templates import scalar_type_name

        raise NotImplementedError(f'"{name}_lastdim_kernel_impl" not implemented for \'{scalar_type_name(input._data.dtype)}\'')
    shape = input._data.shape
    if not shape:
        return operators["view"](op(operators["view"](input, (1,)), wrap_dim(dim, 0)), ())
    return op(input, wrap_dim(dim, len(shape)))


def softmax(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along ``dim``; ``dtype`` casts first."""
    return _softmax_call(softmax_op, "softmax", input, dim, dtype)


def log_softmax(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The logarithm of ``softmax``, computed without overflow."""
    return _softmax_call(log_softmax_op, "log_softmax", input, dim, dtype)
