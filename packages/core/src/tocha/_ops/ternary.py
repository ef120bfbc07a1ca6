"""Pointwise operators of three tensors: choosing, clamping, interpolating."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dtypes
from .._core.broadcast import broadcast_shapes as _shapes
from .._core.broadcast import operators, reduce_to
from .._core.families import inplace_method, method, operator
from .._core.inplace import store
from .._core.record import ABSTRACT
from .._core.templates import common_dtype
from .._core.tensor import Tensor, wrap
from .constants import zeros_as

__all__ = [
    "addcdiv",
    "addcmul",
    "clamp",
    "clamp_",
    "clamp_max",
    "clamp_max_",
    "clamp_min",
    "clamp_min_",
    "clip",
    "clip_",
    "lerp",
    "where",
]


_BITS = {np.dtype("float32"): np.dtype("int32"), np.dtype("float64"): np.dtype("int64")}
_MANY = 1 << 12


def _where_kernel(xp: Any, c: Any, x: Any, y: Any, sx: Any, sy: Any) -> Any:
    bits = _BITS.get(getattr(x, "dtype", None)) if xp is np else None
    if bits is None or c.size < _MANY or x.dtype is not getattr(y, "dtype", None):
        return xp.where(c, x, y)
    # np.where branches at each element, which is slow on random conditions: choose by bits, y ^ ((x ^ y) & mask)
    mask = c.astype(bits)
    np.negative(mask, out=mask)
    y = y.view(bits)
    chosen = (x.view(bits) ^ y) & mask
    chosen ^= y
    return chosen.view(x.dtype)


def _where_rule(n: Any, g: Any) -> tuple:
    (condition,) = n.saved
    sx, sy = n.attrs
    zero = zeros_as(g)
    gx = None if n.edges[1] is None else where_op(condition, g, zero)
    gy = None if n.edges[2] is None else where_op(condition, zero, g)
    return None, None if gx is None else reduce_to(gx, sx), None if gy is None else reduce_to(gy, sy)


_where = operator(
    "where",
    _where_kernel,
    _where_rule,
    lambda c, x, y, sx, sy: (
        _shapes(c.shape, getattr(x, "shape", ()), getattr(y, "shape", ())),
        getattr(x, "dtype", None) or y.dtype,
    ),
    arity=3,
    save=(0,),
    linear=True,
)


def where_op(condition: Any, x: Any, y: Any) -> Any:
    """``where`` of three raw arrays, tensors or traced values, without promotion."""
    return _where(condition, x, y, tuple(x.shape), tuple(y.shape))


def number_like(value: Any, like: Any, dtype: np.dtype) -> Any:
    """A Python number as a 0-d tensor of ``dtype`` on the device of ``like``."""
    if hasattr(value, "scalar_category"):
        from .._core import tracing

        return wrap(tracing.active.number(value, dtype))
    raw = np.asarray(value).astype(dtype)
    t = wrap(raw)
    return t if type(like._data) is np.ndarray or type(like._data) in ABSTRACT else t.to(like.device)


def as_operands(values: tuple, dtype: np.dtype | None = None) -> tuple:
    """Tensors and numbers as tensors of their common dtype (numbers and None stay None where None)."""
    d = common_dtype(values) if dtype is None else dtype
    like = next(v for v in values if isinstance(v, Tensor))
    out: list = []
    for v in values:
        if v is None:
            out.append(None)
        elif isinstance(v, Tensor):
            out.append(v if v._data.dtype == d else operators["cast"](v, d))
        else:
            out.append(number_like(v, like, d))
    return tuple(out)


def where(condition: Any, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    """Elements of ``input`` where ``condition``, of ``other`` elsewhere; ``where(condition)`` gives the indices of the
    true ones.

    Raises:
        RuntimeError: ``condition`` is not boolean.
    """
    if not isinstance(condition, Tensor):
        if not any(isinstance(v, Tensor) for v in (input, other)):
            return where_op(
                condition, *[v if hasattr(v, "shape") else np.asarray(v) for v in (input, other)]
            )  # raw arrays and traced values, inside rules
        raise TypeError(f"where(): argument 'condition' (position 1) must be Tensor, not {type(condition).__name__}")
    if input is None and other is None:
        return operators["nonzero"](condition)
    if condition._data.dtype.kind != "b":
        if condition._data.dtype != np.uint8:
            raise RuntimeError(
                f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}"
            )
        condition = operators["cast"](condition, dtypes.NP_BOOL)
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        d = common_dtype((input, other))
        x, y = number_like(input, condition, d), number_like(other, condition, d)
    else:
        x, y = as_operands((input, other))
    _shapes(condition._data.shape, x._data.shape, y._data.shape)
    result = where_op(condition, x, y)
    return result if out is None else store(out, result)


operators["where"] = where


def _method_where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """``where(condition, self, other)``."""
    return where(condition, self, other)


# ---------------------------------------------------------------- clamp


def _clamp_kernel(xp: Any, x: Any, low: Any, high: Any) -> Any:
    y = x
    if low is not None:
        y = xp.maximum(y, low)
    if high is not None:
        y = xp.minimum(y, high)
    return y


def _clamp_rule(n: Any, g: Any) -> tuple:
    x, low, high = n.saved
    zero = zeros_as(g)
    inside: Any = None
    if low is not None:
        inside = x >= low
    if high is not None:
        below = x <= high
        inside = below if inside is None else operators["logical_and"](inside, below)
    gx = None if n.edges[0] is None else reduce_to(where_op(inside, g, zero), n.shape)
    glow = ghigh = None
    if n.edges[1] is not None:
        under = x < low
        if high is not None:
            under = operators["logical_and"](under, low < high)
        glow = reduce_to(where_op(under, g, zero), low.shape)
    if n.edges[2] is not None:
        over = x > high
        if low is not None:
            over = operators["logical_or"](over, low > high)
        ghigh = reduce_to(where_op(over, g, zero), high.shape)
    return gx, glow, ghigh


def _clamp_infer(x: Any, low: Any, high: Any) -> tuple:
    return _shapes(x.shape, *[v.shape for v in (low, high) if v is not None]), x.dtype


clamp_op = operator("clamp", _clamp_kernel, _clamp_rule, _clamp_infer, arity=3, save=(0, 1, 2))


def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Any = None) -> Tensor:
    """Elements limited to [min, max], numbers or tensors; either may be None.

    Raises:
        RuntimeError: both are None, or the tensor is complex.
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if input._data.dtype.kind == "c":
        raise RuntimeError("clamp is not supported for complex types")
    if input._data.dtype.kind == "b" and not isinstance(min, Tensor) and not isinstance(max, Tensor):
        raise NotImplementedError('"clamp_scalar_cpu" not implemented for \'Bool\'')
    for v in (min, max):
        if isinstance(v, float) and v != v:
            return full_of(input, v)
    x, low, high = as_operands((input, min, max))
    result = clamp_op(x, low, high)
    return result if out is None else store(out, result)


def full_of(input: Tensor, value: float) -> Tensor:
    return zeros_as(input) + value


def clamp_min(input: Tensor, min: Any, *, out: Any = None) -> Tensor:
    """Elements no smaller than ``min``."""
    return clamp(input, min, None, out=out)


def clamp_max(input: Tensor, max: Any, *, out: Any = None) -> Tensor:
    """Elements no larger than ``max``."""
    return clamp(input, None, max, out=out)


clip = clamp

# ---------------------------------------------------------------- compositions


def lerp(input: Tensor, end: Tensor, weight: Any, *, out: Any = None) -> Tensor:
    """``input + weight * (end - input)``, computed from the nearer end."""
    if not isinstance(end, Tensor):
        raise TypeError(f"lerp(): argument 'end' (position 2) must be Tensor, not {type(end).__name__}")
    if input._data.dtype != end._data.dtype:
        raise RuntimeError(f"expected dtype {input.dtype} for `end` but got dtype {end.dtype}")
    difference = end - input
    if isinstance(weight, Tensor):
        if weight._data.dtype != input._data.dtype:
            if weight._data.shape:
                raise RuntimeError(f"expected dtype {input.dtype} for `weight` but got dtype {weight.dtype}")
            weight = weight.to(input.dtype)
        near = weight.abs() < 0.5
        result = where(near, input + weight * difference, end - difference * (1 - weight))
    else:
        result = input + difference * weight if abs(weight) < 0.5 else end - difference * (1 - weight)
    return result if out is None else store(out, result)


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Any = None) -> Tensor:
    """``input + value * tensor1 * tensor2``."""
    product = tensor1 * tensor2
    result = input + (product if value == 1 else product * value)
    return result if out is None else store(out, result)


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1, out: Any = None) -> Tensor:
    """``input + value * tensor1 / tensor2``.

    Raises:
        RuntimeError: both are integers (divide them first, as you mean it).
    """
    if tensor1._data.dtype.kind in "biu" and tensor2._data.dtype.kind in "biu":
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future release addcdiv will perform a true "
            "division of tensor1 and tensor2."
        )
    quotient = tensor1 / tensor2
    result = input + (quotient if value == 1 else quotient * value)
    return result if out is None else store(out, result)


method(_method_where, "where")
for _fn in (clamp, clamp_min, clamp_max, clip, lerp, addcmul, addcdiv):
    method(_fn)
    inplace_method(_fn)
method(clamp, "clip")
clip_ = inplace_method(clamp, "clip_")
clamp_, clamp_min_, clamp_max_ = Tensor.clamp_, Tensor.clamp_min_, Tensor.clamp_max_
