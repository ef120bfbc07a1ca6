"""Pointwise activation functions: rectifiers, exponential units, shrinkage, smooth gates.

The formulas and the gradients at kinks are PyTorch's: https://pytorch.org/docs/stable/nn.functional.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.broadcast import reduce_to
from .._core.dtypes import NP_FLOAT32, NP_FLOAT64
from .._core.families import half_as_float, method, operator, shape_like_first, unary
from .._core.inplace import twin, unary_twin
from .._core.templates import scalar_type_name
from .._core.tensor import Tensor
from .ternary import where
from .unary import exp, log1p, sigmoid, tanh

__all__ = ["celu", "celu_", "hardshrink", "prelu", "relu", "relu_", "selu", "selu_", "threshold", "threshold_"]

ndarray = np.ndarray
f32, f64 = NP_FLOAT32, NP_FLOAT64
# what a gradient is in plain backward on the CPU: rules with a NumPy-only short cut ask for it
NUMPY = frozenset({ndarray, np.float32, np.float64})
_INTEGER_OF_SIZE: dict[int, np.dtype] = {2: np.dtype("int16"), 4: np.dtype("int32"), 8: np.dtype("int64")}
_FEW = 512
_zeros: dict[np.dtype, Any] = {}


def _zero(xp: Any, dtype: np.dtype) -> Any:
    """A 0-d zero: NumPy's ufuncs take one that is kept twice as fast as a Python number."""
    if xp is not np:
        return dtype.type(0)
    zero = _zeros.get(dtype)
    if zero is None:
        zero = _zeros[dtype] = np.zeros((), dtype)
    return zero


def not_implemented(name: str, dtype: Any) -> NotImplementedError:
    """PyTorch's error for a kernel that has no loop for a dtype."""
    return NotImplementedError(f"\"{name}\" not implemented for '{scalar_type_name(dtype)}'")


def of_floats(name: str, kernel: Callable) -> Callable:
    """A kernel of floating numbers only: half types are computed in float32, others refused under PyTorch's
    ``name``."""

    def checked(xp: Any, x: Any, *attrs: Any) -> Any:
        dtype = x.dtype
        if dtype is f32 or dtype is f64:
            return kernel(xp, x, *attrs)
        if dtype.kind not in "fV":
            raise not_implemented(name, dtype)
        if dtype.itemsize > 2:
            return kernel(xp, x, *attrs)
        result = kernel(xp, x.astype(f32), *attrs)
        if isinstance(result, tuple):
            return tuple([r.astype(dtype) for r in result])
        return result.astype(dtype)

    return checked


def pointwise(name: str, kernel: Callable, rule: Callable, torch_name: str | None = None) -> Callable:
    """A pointwise operator of one floating tensor and numbers; ``rule(g, x, *numbers)`` is its gradient."""
    return operator(
        name,
        of_floats(torch_name or f"{name}_cpu", kernel),
        lambda n, g: (rule(g, n.saved[0], *n.attrs),),
        shape_like_first,
        save=(0,),
    )


# ---------------------------------------------------------------- a gradient that a mask lets through


def _gate_kernel(xp: Any, g: Any, mask: Any, source: Any = None) -> Any:
    """Multiplication by the mask would make NaN of infinite gradients, and np.where is slow on long random masks."""
    if xp is not np or g.size < _FEW or g.dtype.itemsize not in _INTEGER_OF_SIZE:
        return xp.where(mask, g, _zero(xp, g.dtype))
    bits: Any = np.asarray(mask).astype(_INTEGER_OF_SIZE[g.dtype.itemsize])
    np.negative(bits, out=bits)
    bits &= g.view(bits.dtype)
    return bits.view(g.dtype)


def _gate_rule(n: Any, g: Any) -> tuple:
    (mask,) = n.saved
    source = n.edges[2]
    return gate(g, mask, None), None, None if source is None else gate(g, mask ^ mask, None)


gate = operator(
    "gate", _gate_kernel, _gate_rule, lambda g, mask, source: (mask.shape, g.dtype), arity=3, save=(1,), linear=True
)
gate.__doc__ = """``g`` where ``mask``, 0 elsewhere, for arrays of one shape.

``source`` is what the mask was made of, or None: the result depends on it, with a derivative of 0.
"""

# ---------------------------------------------------------------- rectifiers


def _relu_kernel(xp: Any, x: Any, out: Any = None) -> Any:
    dtype = x.dtype
    if dtype.kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    if dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    zero = _zero(xp, dtype)
    return xp.maximum(x, zero) if out is None else xp.maximum(x, zero, out=out)


relu = unary(
    "relu",
    _relu_kernel,
    lambda g, y: gate(g, y > 0, y),
    "y",
    floating=False,
    inplace=False,
    doc="``max(0, x)`` of each element; gradient 0 at 0.",
)
_relu_op = relu.op  # type: ignore[attr-defined]


def _relu_backward(n: Any, g: Any) -> tuple:
    (y,) = n.saved
    return (_gate_kernel(np, g, y > 0) if type(g) in NUMPY else gate(g, y > 0, y),)


_relu_op.backward = _relu_backward
_relu_in_place = unary_twin(_relu_op, _relu_op.call, "relu_", "y")
method(_relu_in_place)


def relu_(input: Tensor) -> Tensor:
    """In-place ``relu``."""
    return _relu_in_place(input)


def _slope_kernel(xp: Any, x: Any, slope: float) -> Any:
    y = (x > 0).astype(x.dtype)
    y *= 1 - slope
    y += slope
    return y


_leaky_slope = operator(
    "leaky_relu_slope",
    of_floats("leaky_relu_cpu", _slope_kernel),
    lambda n, g: (gate(g, n.saved[0] != n.saved[0], n.saved[0]),),
    shape_like_first,
    save=(0,),
)
leaky_relu_op = pointwise(
    "leaky_relu",
    lambda xp, x, slope: xp.maximum(x, x * slope) if 0 <= slope <= 1 else xp.where(x > 0, x, x * slope),
    lambda g, x, slope: g * _leaky_slope(x, slope),
)


def _threshold_kernel(xp: Any, x: Any, limit: float, value: float) -> Any:
    if x.dtype.kind in "bc":
        raise not_implemented("threshold_cpu", x.dtype)
    return xp.where(x <= limit, x.dtype.type(value), x)


threshold_op = operator(
    "threshold",
    _threshold_kernel,
    lambda n, g: (gate(g, n.saved[0] > n.attrs[0], n.saved[0]),),
    lambda x, limit, value: (x.shape, x.dtype),
    save=(0,),
)


def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """Elements above ``threshold`` as they are, ``value`` for the others."""
    return threshold_op(input, threshold, value)


def _hardtanh_kernel(xp: Any, x: Any, low: float, high: float) -> Any:
    if x.dtype.kind == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if x.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    if x.dtype.kind == "u" and (low < 0 or high < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    y = xp.maximum(x, x.dtype.type(low))
    return xp.minimum(y, x.dtype.type(high), out=y if x.ndim else None)


hardtanh_op = operator(
    "hardtanh",
    _hardtanh_kernel,
    lambda n, g: (gate(g, (n.saved[0] > n.attrs[0]) & (n.saved[0] < n.attrs[1]), n.saved[0]),),
    lambda x, low, high: (x.shape, x.dtype),
    save=(0,),
)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``max(0, x) + weight * min(0, x)``, with one weight, or one for each channel (dimension 1).

    Raises:
        RuntimeError: the dtypes differ, or ``weight`` has another shape.

    Source: https://arxiv.org/abs/1502.01852
    """
    x, w = input._data, weight._data
    if x.dtype != w.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {scalar_type_name(x.dtype)} and {scalar_type_name(w.dtype)}"
        )
    if len(w.shape) > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {len(w.shape)}")
    if len(w.shape) == 1 and not (type(w.shape[0]) is int and w.shape[0] == 1):
        if not x.shape:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = x.shape[1] if len(x.shape) > 1 else 1
        if w.shape[0] != channels:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. "
                f"Found parameter numbers = {w.shape[0]} and channel size = {channels}."
            )
        weight = weight.view(-1, *[1] * (len(x.shape) - 2))
    elif len(w.shape) == 1 and not x.shape:
        weight = weight.view(())
    return _prelu(input, weight)


def _prelu_slope_rule(n: Any, g: Any) -> tuple:
    x, w = n.saved
    ex, ew = n.edges
    gx = None if ex is None else gate(g, x != x, x)
    return gx, None if ew is None else reduce_to(gate(g, x <= 0, None), w.shape)


_prelu_slope = operator(
    "prelu_slope",
    lambda xp, x, w: xp.where(x > 0, x.dtype.type(1), w),
    _prelu_slope_rule,
    lambda x, w: (x.shape, x.dtype),
    arity=2,
    save=(0, 1),
)


def _prelu_rule(n: Any, g: Any) -> tuple:
    x, w = n.saved
    ex, ew = n.edges
    gx = None if ex is None else g * _prelu_slope(x, w)
    return gx, None if ew is None else reduce_to(gate(g * x, x <= 0, x), w.shape)


_prelu = operator(
    "prelu",
    half_as_float(lambda xp, x, w: xp.where(x > 0, x, x * w)),
    _prelu_rule,
    lambda x, w: (x.shape, x.dtype),
    arity=2,
    save=(0, 1),
)

# ---------------------------------------------------------------- exponential units


def _elu_kernel(xp: Any, x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    zero = x.dtype.type(0)
    y = xp.minimum(x, zero)
    if input_scale != 1:
        y *= input_scale
    y = xp.expm1(y)
    if alpha * scale != 1:
        y *= alpha * scale
    positive = xp.maximum(x, zero)
    if scale != 1:
        positive *= scale
    y += positive
    return y


def _elu_rule(g: Any, x: Any, alpha: float, scale: float, input_scale: float) -> Any:
    return where(x > 0, g * scale, g * (exp(x * input_scale) * (alpha * scale * input_scale)))


elu_op = pointwise("elu", _elu_kernel, _elu_rule)

# from https://arxiv.org/abs/1706.02515
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def selu(input: Tensor) -> Tensor:
    """``scale * (max(0, x) + min(0, alpha * (exp(x) - 1)))`` with the constants of https://arxiv.org/abs/1706.02515."""
    return elu_op(input, SELU_ALPHA, SELU_SCALE, 1.0)


def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``, see https://arxiv.org/abs/1704.07483.

    Raises:
        RuntimeError: ``alpha`` is 0.
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return elu_op(input, alpha, 1.0, 1.0 / alpha)


# ---------------------------------------------------------------- shrinkage


hardshrink_op = pointwise(
    "hardshrink",
    lambda xp, x, limit: xp.where((x >= -limit) & (x <= limit), x.dtype.type(0), x),
    lambda g, x, limit: gate(g, (x > limit) | (x < -limit), x),
)
softshrink_op = pointwise(
    "softshrink",
    lambda xp, x, limit: x - xp.minimum(xp.maximum(x, x.dtype.type(-limit)), x.dtype.type(limit)),
    lambda g, x, limit: gate(g, (x > limit) | (x < -limit), x),
    "softshrink_check",
)


def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Any = None) -> Tensor:
    """Elements outside of [-lambd, lambd] as they are, 0 for the others."""
    from .._core.inplace import store

    result = hardshrink_op(input, lambd)
    return result if out is None else store(out, result)


# ---------------------------------------------------------------- gates


def _sixths(xp: Any, x: Any) -> Any:
    """``relu6(x + 3) / 6``."""
    y = xp.maximum(x + x.dtype.type(3), x.dtype.type(0))
    y = xp.minimum(y, x.dtype.type(6))
    y *= x.dtype.type(1 / 6)
    return y


hardsigmoid_op = pointwise("hardsigmoid", _sixths, lambda g, x: gate(g * (1 / 6), (x > -3) & (x < 3), x))
hardswish_op = pointwise(
    "hardswish",
    lambda xp, x: x * _sixths(xp, x),
    lambda g, x: where(x >= 3, g, gate(g * (x * (1 / 3) + 0.5), x > -3, None)),
)


def _silu_kernel(xp: Any, x: Any) -> Any:
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":
        return _silu_kernel(xp, x.astype(f32)).astype(x.dtype)
    if x.dtype.kind in "biu":
        raise not_implemented("silu_cpu", x.dtype)
    y = xp.exp(-x)
    y += x.dtype.type(1)
    return x / y


def _silu_rule(n: Any, g: Any) -> tuple:
    (x,) = n.saved
    s = sigmoid(x)
    return (g * (s * (x * (1 - s) + 1)),)


def _silu_backward(n: Any, g: Any) -> tuple:
    """The same with fewer temporaries."""
    (x,) = n.saved
    if type(g) not in NUMPY or not x.shape or x.dtype.kind == "c" or x.dtype.itemsize == 2:
        return n.op.vjp(n, g)
    s = sigmoid(x)
    slope = 1 - s
    slope *= x
    slope += 1
    slope *= s
    slope *= g
    return (slope,)


silu_op = operator("silu", _silu_kernel, _silu_rule, shape_like_first, save=(0,))
silu_op.op.backward = _silu_backward  # type: ignore[attr-defined]


def _softplus_of(xp: Any, x: Any) -> Any:
    """``log(1 + exp(x))`` without overflow: ``max(x, 0) + log1p(exp(-|x|))``."""
    y = -xp.abs(x)
    y = xp.exp(y)
    y = xp.log1p(y)
    y += xp.maximum(x, x.dtype.type(0))
    return y


def _softplus_kernel(xp: Any, x: Any, beta: float, threshold: float) -> Any:
    scaled = x * beta
    smooth = _softplus_of(xp, scaled) / beta
    return xp.where(scaled > threshold, x, smooth)


softplus_op = pointwise(
    "softplus", _softplus_kernel, lambda g, x, beta, threshold: where(x * beta > threshold, g, g * sigmoid(x * beta))
)
logsigmoid_op = pointwise("log_sigmoid", lambda xp, x: -_softplus_of(xp, -x), lambda g, x: g * sigmoid(-x))


def _mish_rule(g: Any, x: Any) -> Any:
    t = tanh(_softplus_plain(x))
    return g * (t + x * sigmoid(x) * (1 - t * t))


def _softplus_plain(x: Any) -> Any:
    return where(x > 0, x + log1p(exp(-x)), log1p(exp(x)))


mish_op = pointwise("mish", lambda xp, x: x * xp.tanh(_softplus_of(xp, x)), _mish_rule)

# ---------------------------------------------------------------- methods and in-place twins

for _fn in (prelu, hardshrink):
    method(_fn)
selu_, celu_, threshold_ = twin(selu, "selu_"), twin(celu, "celu_"), twin(threshold, "threshold_")
