"""Special functions, from SciPy on the CPU and cupyx on CUDA; both are imported when first needed."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.dtypes import default_np
from .._core.families import binary, half_as_float, inplace_method, method, operator, shape_like_first, unary
from .._core.inplace import store
from .._core.return_types import named
from .._core.tensor import Tensor
from .constants import number_dtype, ones_as, zeros_as
from .ternary import where
from .unary import exp, log

__all__ = [
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "frexp",
    "i0",
    "igamma",
    "igammac",
    "lgamma",
    "logit",
    "mvlgamma",
    "nan_to_num",
    "polygamma",
]


def scipy_function(xp: Any, name: str) -> Any:
    """A function of ``scipy.special``, or of cupyx for CuPy's arrays."""
    module = "scipy.special" if xp is np else "cupyx.scipy.special"
    found = getattr(importlib.import_module(module), name, None)
    if found is None:
        raise NotImplementedError(f"{module} has no {name!r}: move the tensor to the CPU for this function")
    return found


def from_scipy(name: str) -> Any:
    """A kernel that is a SciPy function."""
    found: dict[int, Any] = {}

    def kernel(xp: Any, *args: Any) -> Any:
        fn = found.get(id(xp))
        if fn is None:
            fn = found[id(xp)] = scipy_function(xp, name)
        return fn(*args)

    return half_as_float(kernel)


_TWO_BY_ROOT_PI = 2 / math.sqrt(math.pi)
_HALF_ROOT_PI = math.sqrt(math.pi) / 2


def special(name: str, scipy_name: str, vjp: Any = None, saves: str = "", attach: bool = True) -> Any:
    return unary(name, from_scipy(scipy_name), vjp, saves, attach=attach, inplace=attach)


erf = special("erf", "erf", lambda g, x: g * (exp(x * x * -1) * _TWO_BY_ROOT_PI), "x")
erfc = special("erfc", "erfc", lambda g, x: g * (exp(x * x * -1) * -_TWO_BY_ROOT_PI), "x")
erfinv = special("erfinv", "erfinv", lambda g, y: g * (exp(y * y) * _HALF_ROOT_PI), "y")
erfcx = special("erfcx", "erfcx", lambda g, x, y: g * (y * x * 2 - _TWO_BY_ROOT_PI), "xy", attach=False)
lgamma = special("lgamma", "gammaln", lambda g, x: g * digamma(x), "x")
i0 = special("i0", "i0", lambda g, x: g * i1(x), "x")
i0e = special("i0e", "i0e", lambda g, x, y: g * (i1e(x) - _sign(x) * y), "xy", attach=False)
i1: Callable = special("i1", "i1", lambda g, x, y: g * _i1_slope(x, y, i0(x)), "xy", attach=False)
i1e: Callable = special("i1e", "i1e", lambda g, x, y: g * (_i1_slope(x, y, i0e(x)) - _sign(x) * y), "xy", attach=False)
ndtr = special("ndtr", "ndtr", lambda g, x: g * (exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))), "x", attach=False)
ndtri = special("ndtri", "ndtri", lambda g, y: g * (exp(y * y * 0.5) * math.sqrt(2 * math.pi)), "y", attach=False)
log_ndtr = special(
    "log_ndtr",
    "log_ndtr",
    lambda g, x: g * (_TWO_BY_ROOT_PI / math.sqrt(2)) / erfcx(x * -math.sqrt(0.5)),
    "x",
    attach=False,
)
bessel_j0 = special("bessel_j0", "j0", attach=False)
bessel_j1 = special("bessel_j1", "j1", attach=False)
bessel_y0 = special("bessel_y0", "y0", attach=False)
bessel_y1 = special("bessel_y1", "y1", attach=False)
modified_bessel_i0 = special("modified_bessel_i0", "i0", attach=False)
modified_bessel_i1 = special("modified_bessel_i1", "i1", attach=False)
modified_bessel_k0 = special("modified_bessel_k0", "k0", attach=False)
modified_bessel_k1 = special("modified_bessel_k1", "k1", attach=False)
scaled_modified_bessel_k0 = special("scaled_modified_bessel_k0", "k0e", attach=False)
scaled_modified_bessel_k1 = special("scaled_modified_bessel_k1", "k1e", attach=False)


def _spherical_j0_kernel(xp: Any, x: Any) -> Any:
    safe = xp.where(x == 0, xp.ones_like(x), x)
    return xp.where(xp.isinf(x), xp.zeros_like(x), xp.where(x == 0, xp.ones_like(x), xp.sin(safe) / safe))


spherical_bessel_j0 = unary("spherical_bessel_j0", half_as_float(_spherical_j0_kernel), attach=False)


def _airy_kernel(xp: Any, x: Any) -> Any:
    return scipy_function(xp, "airy")(x)[0]


airy_ai = unary("airy_ai", half_as_float(_airy_kernel), attach=False)


def _sign(x: Any) -> Any:
    from .unary import sign

    return sign(x)


def _i1_slope(x: Any, y: Any, zeroth: Any) -> Any:
    zero = x == 0
    safe = where(zero, ones_as(x), x)
    return where(zero, ones_as(x) * 0.5, zeroth - y / safe)


# ---------------------------------------------------------------- polygamma


def _digamma_kernel(xp: Any, x: Any) -> Any:
    """PyTorch's values at the poles: ∓inf at ±0, NaN at negative integers."""
    y = scipy_function(xp, "digamma")(x)
    return xp.where(x == 0, xp.copysign(xp.full_like(x, np.inf), -x), y)


digamma: Callable = unary("digamma", half_as_float(_digamma_kernel), lambda g, x: g * polygamma_op(x, 1), "x")


def _polygamma_kernel(xp: Any, x: Any, n: int) -> Any:
    if n == 0:
        return _digamma_kernel(xp, x)
    sign = 1.0 if n % 2 else -1.0
    zeta_ = scipy_function(xp, "zeta")
    if n == 1:
        return _trigamma(xp, x)
    return (sign * math.gamma(n + 1.0)) * zeta_(xp.full_like(x, n + 1.0), x)


def _trigamma(xp: Any, x: Any) -> Any:
    """By reflection for x < 0.5, where zeta has no value."""
    low = x < 0.5
    y = xp.where(low, 1 - x, x)
    value = scipy_function(xp, "zeta")(xp.full_like(y, 2.0), y)
    sine = xp.sin(x * math.pi)
    return xp.where(low, (math.pi**2) / (sine * sine) - value, value)


polygamma_op: Callable = operator(
    "polygamma",
    half_as_float(_polygamma_kernel),
    lambda n, g: (g * polygamma_op(n.saved[0], n.attrs[0] + 1),),
    shape_like_first,
    save=(0,),
)


def _floating(x: Tensor) -> Tensor:
    return operators["cast"](x, default_np()) if x._data.dtype.kind in "biu" else x


def polygamma(n: int, input: Tensor, *, out: Any = None) -> Tensor:
    """The ``n``-th derivative of the digamma function."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    result = polygamma_op(_floating(input), n)
    return result if out is None else store(out, result)


def mvlgamma(input: Tensor, p: int, *, out: Any = None) -> Tensor:
    """The multivariate log-gamma function with dimension ``p``."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    x = _floating(input)
    total = zeros_as(x) + p * (p - 1) / 4 * math.log(math.pi)
    for i in range(p):
        total = total + lgamma(x - i / 2)
    return total if out is None else store(out, total)


# ---------------------------------------------------------------- of two arguments


def _no_gradient(name: str) -> Any:
    def rule(g: Any, x: Any, y: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' with respect to its first argument is not implemented.")

    return rule


def _igamma_slope(a: Any, x: Any) -> Any:
    return exp((a - 1) * log(x) - x - lgamma(a))


def _incomplete_gamma(scipy_name: str) -> Any:
    def kernel(xp: Any, a: Any, x: Any) -> Any:
        dtype = a.dtype if hasattr(a, "dtype") else x.dtype
        return scipy_function(xp, scipy_name)(a, x).astype(dtype)

    return half_as_float(kernel)


igamma = binary(
    "igamma", _incomplete_gamma("gammainc"), _no_gradient("igamma"), lambda g, a, x: g * _igamma_slope(a, x), ("", "xy")
)
igammac = binary(
    "igammac",
    _incomplete_gamma("gammaincc"),
    _no_gradient("igammac"),
    lambda g, a, x: -g * _igamma_slope(a, x),
    ("", "xy"),
)


def _zeta_kernel(xp: Any, x: Any, q: Any) -> Any:
    return scipy_function(xp, "zeta")(x, q)


zeta: Callable = binary(
    "zeta",
    half_as_float(_zeta_kernel),
    _no_gradient("zeta"),
    lambda g, x, q: g * (-x * zeta(x + 1, q)),
    ("", "xy"),
    result="float",
    attach=False,
)


def _xlog1py_kernel(xp: Any, x: Any, y: Any) -> Any:
    product = x * xp.log1p(y)
    return xp.where((x == 0) & ~(y != y), xp.zeros_like(product), product)


def _xlog1py_dx(g: Any, x: Any, y: Any) -> Any:
    from .unary import log1p

    return where((x == 0) & (y <= -1), zeros_as(g), g * log1p(y))


xlog1py = binary(
    "xlog1py",
    half_as_float(_xlog1py_kernel),
    _xlog1py_dx,
    lambda g, x, y: g * (x / (y + 1)),
    ("xy", "xy"),
    result="float",
    attach=False,
)


# ---------------------------------------------------------------- compositions and the rest


def _entr_kernel(xp: Any, x: Any) -> Any:
    positive = x > 0
    safe = xp.where(positive, x, xp.ones_like(x))
    return xp.where(
        x != x, x, xp.where(positive, -x * xp.log(safe), xp.where(x == 0, xp.zeros_like(x), xp.full_like(x, -np.inf)))
    )


entr = unary("entr", half_as_float(_entr_kernel), lambda g, x: g * (-log(x) - 1), "x", attach=False)


def logit(input: Tensor, eps: float | None = None, *, out: Any = None) -> Tensor:
    """``log(x / (1 - x))``, with ``x`` clamped to [eps, 1 - eps] where ``eps`` is given."""
    x = _floating(input)
    if eps is not None:
        x = x.clamp(eps, 1 - eps)
    result = log(x / (1 - x))
    return result if out is None else store(out, result)


def nan_to_num(
    input: Tensor, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None, *, out: Any = None
) -> Tensor:
    """NaN and infinities replaced by numbers (infinities by the dtype's extremes where nothing is given)."""
    from .._core import dtypes
    from .logic import isinf, isnan

    d = input._data.dtype
    if d.kind in "biu":
        result = input.clone()
        return result if out is None else store(out, result)
    if d.kind == "c":
        from .complex import complex, imag, real

        result = complex(nan_to_num(real(input), nan, posinf, neginf), nan_to_num(imag(input), nan, posinf, neginf))
        return result if out is None else store(out, result)
    info = dtypes.finfo(dtypes.of(d))
    high, low = info.max if posinf is None else posinf, info.min if neginf is None else neginf
    result = where(isnan(input), 0.0 if nan is None else nan, input)
    infinite = isinf(input)
    result = where(infinite & (input > 0), high, result)
    result = where(infinite & (input < 0), low, result)
    return result if out is None else store(out, result)


frexp_result = named("frexp", "mantissa", "exponent")


def _frexp_kernel(xp: Any, x: Any) -> tuple:
    mantissa, exponent = xp.frexp(x)
    return mantissa.astype(x.dtype), exponent.astype(np.int32)


def _frexp_rule(n: Any, g: Any) -> tuple:
    from .power import pow

    (exponent,) = n.saved
    value = g.get(0)
    if value is None:
        return (None,)
    return (value * pow(ones_as(value) * 2, operators["cast"](exponent, number_dtype(value)) * -1),)


frexp_op = operator(
    "frexp",
    half_as_float(_frexp_kernel),
    _frexp_rule,
    lambda x: [(x.shape, x.dtype), (x.shape, np.dtype(np.int32))],
    save=("y1",),
    outputs=2,
    linear=True,
)


def frexp(input: Tensor, *, out: Any = None) -> Any:
    """``input = mantissa * 2**exponent`` with mantissas of [0.5, 1), as ``(mantissa, exponent)``."""
    if input._data.dtype.kind not in "fV":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    result = frexp_result(*frexp_op(input))
    return result if out is None else store(out, result)


method(frexp)
operators["erf"] = erf
for _fn in (logit, nan_to_num, mvlgamma):
    method(_fn)
    inplace_method(_fn)


def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """The ``n``-th derivative of the digamma function at each element."""
    return polygamma(n, self)


method(_polygamma_method, "polygamma")
inplace_method(_polygamma_method, "polygamma_")
