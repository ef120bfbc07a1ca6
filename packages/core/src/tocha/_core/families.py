"""How operators are declared: one call a primitive, with its family's defaults.

Each returns the callable that users, rules and other operators call. It carries its record as ``.op``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import dtypes
from .abstract import Abstract
from .broadcast import broadcast_two
from .general_templates import build_generic, build_single, build_variadic
from .inplace import binary_twin, store, twin, unary_twin
from .record import Op
from .templates import binary_rule, build_binary, build_unary, expected_tensor
from .tensor import Tensor


def name_function(fn: Callable, name: str, op: Op | None = None, doc: str | None = None) -> Callable:
    fn.__name__ = fn.__qualname__ = name
    fn.__module__ = "tocha"
    if doc:
        fn.__doc__ = doc
    if op is not None:
        fn.op = op  # type: ignore[attr-defined]
    return fn


def method(fn: Callable, *names: str) -> Callable:
    """Attach ``fn`` to Tensor under its own name or ``names``."""
    for name in names or (fn.__name__,):
        setattr(Tensor, name, fn)
    return fn


def inplace_method(fn: Callable, name: str | None = None) -> Callable:
    """Attach the in-place twin ``fn_`` of ``fn`` to Tensor; returns the twin."""
    made = twin(fn, name or fn.__name__ + "_")
    setattr(Tensor, made.__name__, made)
    return made


def attribute(name: str, getter: Callable, setter: Callable | None = None) -> None:
    """Give Tensor a property."""
    setattr(Tensor, name, property(getter, setter))


def shape_like_first(x: Any, *rest: Any) -> tuple:
    return x.shape, x.dtype


def _float_dtype(dtype: np.dtype) -> np.dtype:
    return dtypes.default_np() if dtype.kind in "biu" else dtype


def unary(
    name: str,
    kernel: str | Callable,
    vjp: Callable | None = None,
    saves: str = "",
    *,
    floating: bool = True,
    result: Any = None,
    linear: bool = False,
    attach: bool = True,
    inplace: bool = True,
    doc: str | None = None,
) -> Callable:
    """A pointwise operator of one tensor.

    Args:
        kernel: a ufunc's name, or ``kernel(xp, x)`` (which takes ``out=`` where it is a ufunc's name).
        vjp: ``vjp(g, *saved)`` with what ``saves`` names: "" nothing, "x" the input, "y" the output, "xy" both.
        floating: integers are computed in the default dtype.
        result: the output's NumPy dtype where it is not the input's.
        linear: see ``Op``.
        attach, inplace: make it a Tensor method ``name``, with a twin ``name_``.
    """
    roles: Any = {"": (), "x": (0,), "y": ("y",), "xy": (0, "y")}[saves]

    def rule(n: Any, g: Any) -> tuple:
        return (vjp(g, *n.saved),)  # type: ignore[misc]

    if result is not None:
        infer: Callable = lambda x: (x.shape, result)  # noqa: E731
    else:
        infer = (lambda x: (x.shape, _float_dtype(x.dtype))) if floating else shape_like_first
    op = Op(name, kernel, None if vjp is None else rule, infer, save=roles, linear=linear, family="unary")
    op.backward = op.vjp
    call = op.call = build_unary(op, saves, floating)
    call.__name__ = call.__qualname__ = name

    def public(input: Any, *, out: Any = None) -> Any:
        result = call(input)
        return result if out is None else store(out, result)

    name_function(
        public, name, op, doc or f"Computes ``{name}`` of each element of ``input``. See :func:`torch.{name}`."
    )
    if attach:
        setattr(Tensor, name, name_function(call, name, op, public.__doc__))
        if inplace and result is None:
            has_out = isinstance(kernel, str)
            made = unary_twin(op, call, name + "_", saves) if has_out else twin(call, name + "_")
            setattr(Tensor, made.__name__, made)
    return public


def binary(
    name: str,
    kernel: str | Callable,
    dx: Callable | None = None,
    dy: Callable | None = None,
    saves: tuple[str, str] = ("", ""),
    *,
    result: str = "same",
    operators: tuple[str, ...] = (),
    attach: bool = True,
    inplace: bool = True,
    linear: bool = False,
    unsupported: str = "",
    refuse: Callable | None = None,
    doc: str | None = None,
) -> Callable:
    """A pointwise operator of two tensors, or a tensor and a number, with broadcasting and promotion.

    Args:
        dx, dy: ``dx(g, x, y)``, the gradient of each side before broadcasting is undone; what is not saved is None.
        saves: the inputs that ``dx`` and that ``dy`` need, of "x" and "y".
        result: "same", "float" (integers become the default dtype) or "bool" (comparisons).
        unsupported: kinds of NumPy dtypes that PyTorch has no loop for, such as "c" where order has no meaning.
        refuse: ``refuse(input, other)`` raises on operands that PyTorch refuses.
        operators: special methods, such as ``("__mul__", "__rmul__")``; an ``__i…__`` gets the in-place twin.
    """
    bool_result = result == "bool"

    def infer(x: Any, y: Any) -> tuple:
        dtype: Any = getattr(x, "dtype", None)
        left: Any = getattr(x, "shape", ())
        right: Any = getattr(y, "shape", ())
        if dtype is None or (not left and right):
            dtype = getattr(y, "dtype", dtype)
        if result == "float":
            dtype = _float_dtype(dtype)
        return broadcast_two(left, right), dtypes.NP_BOOL if bool_result else dtype

    differentiable = dx is not None or dy is not None
    op = Op(
        name,
        kernel,
        binary_rule(dx, dy) if differentiable else None,
        infer,
        arity=2,
        save=(0, 1),
        linear=linear,
        family="binary",
    )
    op.backward = op.vjp
    op.meta.update(result=result, unsupported=unsupported, refuse=refuse)
    call = op.call = build_binary(op, saves[0], saves[1], result)
    name_function(call, name, op)

    def public(input: Any, other: Any, *, out: Any = None) -> Any:
        answer = call(input, other)
        if answer is NotImplemented:
            if not isinstance(input, Tensor) and not isinstance(other, Tensor):
                raise expected_tensor(name, 1, input)
            bad = other if isinstance(input, Tensor) else input
            raise TypeError(
                f"{name}(): argument 'other' (position 2) must be Tensor or Number, not {type(bad).__name__}"
            )
        return answer if out is None else store(out, answer)

    def reflected(a: Any, b: Any) -> Any:
        return call(b, a)

    name_function(
        public,
        name,
        op,
        doc or f"Computes ``{name}`` of each pair of elements, with broadcasting. See :func:`torch.{name}`.",
    )
    made = None
    if attach:
        setattr(Tensor, name, public)
        if inplace:
            made = (
                binary_twin(op, public, name + "_")
                if isinstance(kernel, str) and not bool_result
                else twin(public, name + "_")
            )
            setattr(Tensor, made.__name__, made)
    for special in operators:
        fn: Callable = call
        if special.startswith("__i"):
            fn = made or twin(public, name + "_")
        elif special.startswith("__r") and special != "__rshift__":
            fn = reflected
        for cls in (Tensor, Abstract) if not special.startswith("__i") else (Tensor,):
            setattr(cls, special, fn)
    return public


def operator(
    name: str,
    kernel: str | Callable,
    vjp: Callable | None = None,
    infer: Callable | None = None,
    *,
    arity: int | None = 1,
    save: tuple[int | str, ...] = (),
    outputs: int = 1,
    aux: int = 0,
    view: bool | str = False,
    linear: bool = False,
) -> Callable:
    """An operator of ``arity`` tensors followed by attributes (arity None: of one sequence of tensors). See ``Op``."""
    op = Op(name, kernel, vjp, infer, arity=arity, save=save, outputs=outputs, aux=aux, view=view, linear=linear)
    op.backward = vjp
    build = build_variadic if arity is None else build_single if arity == 1 and outputs == 1 else build_generic
    op.call = build(op)
    return name_function(op.call, name, op)


def half_as_float(kernel: Callable) -> Callable:
    """A kernel that computes float16 and bfloat16 in float32 and rounds once, as PyTorch does on CPU."""

    def wrapped(xp: Any, *args: Any) -> Any:
        dtype = getattr(args[0], "dtype", None)
        if dtype is dtypes.NP_FLOAT32 or dtype is dtypes.NP_FLOAT64:
            return kernel(xp, *args)
        for a in args:
            dtype = getattr(a, "dtype", None)
            if dtype is not None and dtype.itemsize == 2 and dtype.kind in "fV":
                break
        else:
            return kernel(xp, *args)
        half = dtype
        result = kernel(xp, *[_widen(a) for a in args])
        if isinstance(result, tuple):
            return tuple([_narrow(r, half) for r in result])
        return _narrow(result, half)

    wrapped.__name__, wrapped.__doc__ = kernel.__name__, kernel.__doc__
    return wrapped


def _widen(a: Any) -> Any:
    dtype = getattr(a, "dtype", None)
    return a.astype(dtypes.NP_FLOAT32) if dtype is not None and dtype.itemsize == 2 and dtype.kind in "fV" else a


def _narrow(r: Any, half: Any) -> Any:
    return r.astype(half) if getattr(r, "dtype", None) == dtypes.NP_FLOAT32 else r
