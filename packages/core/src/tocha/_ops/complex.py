"""Complex numbers: conjugate, parts, angle, and tensors made of two real ones.

Gradients are PyTorch's: the conjugate of the derivative by the conjugate (https://pytorch.org/docs/stable/notes/autograd.html).
The rules here say so themselves, so the records are marked linear: nothing is to be conjugated around them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.broadcast import operators, reduce_to
from .._core.families import attribute, method, operator, unary
from .._core.inplace import store
from .._core.tensor import Tensor
from .constants import ones_as, zeros_as

__all__ = ["angle", "complex", "conj", "conj_physical", "imag", "is_conj", "is_neg", "isreal", "polar", "real",
           "resolve_conj", "resolve_neg", "view_as_complex", "view_as_real"]  # fmt: skip


def is_complex_value(x: Any) -> bool:
    """Whether a raw array or tensor is complex."""
    return (x._data if isinstance(x, Tensor) else x).dtype.kind == "c"



def _conjugate_kernel(xp: Any, x: Any) -> Any:
    return x.conj() if x.dtype.kind == "c" else x.copy()


conj_physical: Callable = unary(
    "conj_physical", _conjugate_kernel, lambda g: conj_physical(g), floating=False, linear=True
)


def _real_dtype(d: np.dtype) -> np.dtype:
    return dtypes.of(d).to_real().np


def _complex_dtype(d: np.dtype) -> np.dtype:
    return dtypes.of(d).to_complex().np


def to_complex(g: Any) -> Any:
    """A real array, tensor or traced value as a complex one with imaginary part 0."""
    if is_complex_value(g):
        return g
    return operators["cast"](g, _complex_dtype((g._data if isinstance(g, Tensor) else g).dtype))


real_part = operator(
    "real",
    lambda xp, x: x.real,
    lambda n, g: (to_complex(g),),
    lambda x: (x.shape, _real_dtype(x.dtype)),
    view=True,
    linear=True,
)
imag_part = operator(
    "imag",
    lambda xp, x: x.imag,
    lambda n, g: (to_complex(g) * 1j,),
    lambda x: (x.shape, _real_dtype(x.dtype)),
    view=True,
    linear=True,
)


def _make_kernel(xp: Any, re: Any, im: Any) -> Any:
    out = xp.empty(xp.broadcast_shapes(re.shape, im.shape), _complex_dtype(re.dtype))
    out.real[...] = re
    out.imag[...] = im
    return out


def _make_infer(re: Any, im: Any) -> tuple:
    from .._core.broadcast import broadcast_two

    return broadcast_two(re.shape, im.shape), _complex_dtype(re.dtype)


def _make_rule(n: Any, g: Any) -> tuple:
    sre, sim = n.attrs
    return reduce_to(real_part(g) * 1, sre), reduce_to(imag_part(g) * 1, sim)


_make = operator(
    "complex",
    lambda xp, re, im, *shapes: _make_kernel(xp, re, im),
    _make_rule,
    lambda re, im, *shapes: _make_infer(re, im),
    arity=2,
    linear=True,
)


def make_complex(re: Any, im: Any) -> Any:
    """``re + im·j`` of raw arrays, tensors or traced values."""
    return _make(re, im, tuple(re.shape), tuple(im.shape))

# (…, 2) real <-> complex: views of the same memory
as_real = operator(
    "view_as_real",
    lambda xp, x: (
        x.view(_real_dtype(x.dtype)).reshape(*x.shape, 2)
        if x.ndim and x.flags.c_contiguous
        else _strided_as_real(xp, x)
    ),
    lambda n, g: (as_complex(contiguous(g)),),
    lambda x: ((*x.shape, 2), _real_dtype(x.dtype)),
    view=True,
    linear=True,
)
as_complex: Callable = operator(
    "view_as_complex",
    lambda xp, x: _as_complex_kernel(xp, x),
    lambda n, g: (as_real(g),),
    lambda x: (x.shape[:-1], _complex_dtype(x.dtype)),
    view=True,
    linear=True,
)


def _strided_as_real(xp: Any, x: Any) -> Any:
    if not x.ndim:
        return x.reshape(1).view(_real_dtype(x.dtype))
    return x[..., None].view(_real_dtype(x.dtype))


def _as_complex_kernel(xp: Any, x: Any) -> Any:
    return x.view(_complex_dtype(x.dtype))[..., 0]


def contiguous(g: Any) -> Any:
    return (
        operators["contiguous"](g)
        if isinstance(g, Tensor)
        else g.copy()
        if hasattr(g, "flags") and not g.flags.c_contiguous
        else g
    )


def conj(input: Tensor) -> Tensor:
    """The complex conjugate (the tensor itself where it is real).

    PyTorch conjugates lazily; here the result is computed at once.
    """
    return conj_physical(input) if is_complex_value(input) else input


def real(input: Tensor) -> Tensor:
    """The real part, as a view of a complex tensor (a real one as it is)."""
    return real_part(input) if is_complex_value(input) else input


def imag(input: Tensor) -> Tensor:
    """The imaginary part, as a view.

    Raises:
        RuntimeError: the tensor is real.
    """
    if not is_complex_value(input):
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return imag_part(input)


def _angle_kernel(xp: Any, x: Any) -> Any:
    if x.dtype.kind == "c":
        return xp.angle(x)
    out = xp.where(x < 0, xp.full_like(x, np.pi), xp.zeros_like(x))
    return xp.where(x != x, x, out)


def _angle_rule(g: Any, x: Any) -> Any:
    if not is_complex_value(x):
        return zeros_as(g)
    re, im = real_part(x) * 1, imag_part(x) * 1
    size = re * re + im * im
    from .ternary import where

    zero = size == 0
    scaled = g / where(zero, ones_as(size), size)
    none = zeros_as(scaled)
    return make_complex(where(zero, none, -im * scaled), where(zero, none, re * scaled))


angle = unary("angle", _angle_kernel, _angle_rule, "x", linear=True, inplace=False)
angle.op.infer = lambda x: (x.shape, _real_dtype(x.dtype) if x.dtype.kind in "fcV" else dtypes.default_np())  # type: ignore[attr-defined]


def complex(real: Tensor, imag: Tensor, *, out: Any = None) -> Tensor:
    """``real + imag·j`` of two tensors of one floating dtype."""
    for t in (real, imag):
        if t._data.dtype.kind not in "f":
            raise RuntimeError(
                f"Expected both inputs to be Half, Float or Double tensors but got {real.dtype} and {imag.dtype}"
            )
    if real._data.dtype != imag._data.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {real.dtype} but got scalar type {imag.dtype} for second argument"
        )
    result = make_complex(real, imag)
    return result if out is None else store(out, result)


def polar(abs: Tensor, angle: Tensor, *, out: Any = None) -> Tensor:
    """``abs·(cos(angle) + sin(angle)·j)``."""
    from .unary import cos, sin

    result = complex(abs * cos(angle), abs * sin(angle))
    return result if out is None else store(out, result)


def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor (*) as a real one (*, 2), the same memory."""
    if not is_complex_value(input):
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return as_real(input)


def view_as_complex(input: Tensor) -> Tensor:
    """A real tensor (*, 2) as a complex one (*), the same memory."""
    if input._data.dtype.kind != "f":
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{input.dtype}"
        )
    if not input._data.shape or input._data.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    return as_complex(input)


def resolve_conj(input: Tensor) -> Tensor:
    """The tensor: conjugation is never pending."""
    return input


def resolve_neg(input: Tensor) -> Tensor:
    """The tensor: negation is never pending."""
    return input


def is_conj(input: Tensor) -> bool:
    """Whether a conjugation is pending: never."""
    return False


def is_neg(input: Tensor) -> bool:
    """Whether a negation is pending: never."""
    return False


def isreal(input: Tensor) -> Tensor:
    """Which elements have imaginary part 0."""
    if not is_complex_value(input):
        return (input == input) | True
    return imag_part(input) == 0


for _fn in (conj, angle, resolve_conj, resolve_neg, is_conj, is_neg, isreal):
    method(_fn)


def _set_real(self: Tensor, value: Any) -> None:
    real(self).copy_(value)


def _set_imag(self: Tensor, value: Any) -> None:
    imag(self).copy_(value)


attribute("real", real, _set_real)
attribute("imag", imag, _set_imag)
