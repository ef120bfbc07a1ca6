"""Call templates: what happens when an operator is called, once for each family.

A template unwraps the tensors, promotes where it must, runs the kernel and records a node. The fast path
(NumPy arrays of one floating dtype) comes first and asks as little as it can; everything else goes to the
slow path beside it. On raw arrays and traced values the same callable just runs the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import arrays, dtypes, tracing
from .broadcast import reduce_to
from .dtypes import NP_FLOAT32, NP_FLOAT64, is_differentiable_np
from .grad_mode import inference_enabled, recording
from .node import Node, next_sequence
from .record import ABSTRACT, Op, raw_type_of
from .tensor import INFERENCE, Tensor, new, wrap
from .views import counter, sync

ndarray = np.ndarray
asarray = np.asarray
f32, f64 = NP_FLOAT32, NP_FLOAT64


def finish(op: Op, raw: Any) -> Tensor:
    """A tensor around a kernel's result, without history."""
    if isinstance(raw, np.generic):
        raw = asarray(raw)
    t = new(Tensor)
    t._data = raw
    t._node = t._counter = t._base = t._view = t._grad = None
    t._flags = INFERENCE if inference_enabled() else 0
    return t


def guarded(op: Op, kernel: Callable, *args: Any) -> Any:
    """Run a kernel where NumPy may not have a loop for the dtype, and say so in PyTorch's words."""
    try:
        return kernel(*args)
    except TypeError as error:
        if "ufunc" in str(error) or "not supported for" in str(error):
            dtype = next((a.dtype for a in args if hasattr(a, "dtype")), None)
            raise NotImplementedError(f'"{op.name}" not implemented for \'{scalar_type_name(dtype)}\'') from error
        raise


_SCALAR_TYPES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}  # fmt: skip


def scalar_type_name(dtype: Any) -> str:
    """PyTorch's C++ name of a dtype, as its error messages use it."""
    name = getattr(dtype, "name", str(dtype))
    return _SCALAR_TYPES.get(name, name)


def cast(t: Any, np_dtype: np.dtype) -> Any:
    from .casting import cast as operator

    return operator(t, np_dtype)


def expected_tensor(name: str, position: int, value: Any, argument: str = "input") -> TypeError:
    return TypeError(
        f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}"
    )


# ---------------------------------------------------------------- one tensor


def build_unary(op: Op, saves: str, floating: bool) -> Callable:
    """``saves``: what the rule needs, of "x" (input) and "y" (output). ``floating``: integers become the default
    dtype."""
    save_x, save_y = "x" in saves, "y" in saves

    def record(a: Tensor, x: Any, t: Tensor) -> None:
        if a._base is not None:
            sync(a)
        if not a._flags & 1:
            return
        n = Node()
        n.op = op if x.dtype.kind != "c" else op.conjugate()
        n.edges = (a._node or a,)
        n.seq = next_sequence()
        n.attrs = n.aux = n.shape = None
        if save_x:
            c = counter(a)
            if save_y:
                d = t._counter = [0, 0]
                n.saved, n.counters, n.version = (x, t._data), (c, d), c[0]
            else:
                n.saved, n.counters, n.version = (x,), c, c[0]
        elif save_y:
            n.saved = (t._data,)
            n.counters = t._counter = [0, 0]
            n.version = 0
        else:
            n.saved, n.counters = (), None
        mode = recording()
        if mode is not True:
            instrument(n, mode)
        t._node = n
        t._flags |= 1

    def slow(a: Any) -> Any:
        if not isinstance(a, Tensor):
            if type(a) in ABSTRACT or type(a) in arrays._by_type or isinstance(a, np.generic):
                return op.resolve(type(a) if not isinstance(a, np.generic) else ndarray)(a)
            raise expected_tensor(op.name, 1, a)
        x = a._data
        if floating and x.dtype.kind in "biu":
            a = cast(a, dtypes.default_np())
            x = a._data
        t = finish(op, guarded(op, op.resolve(type(x)), x))
        if (
            a._flags & 1 | (a._base is not None)
            and recording()
            and op.vjp is not None
            and is_differentiable_np(x.dtype)
        ):
            record(a, x, t)
        return t

    def call(input: Any) -> Any:
        if type(input) is ndarray:
            return op.kern(input)
        try:
            x = input._data
        except AttributeError:
            return slow(input)
        dt = x.dtype
        if type(x) is not ndarray or (dt is not f32 and dt is not f64):
            return slow(input)
        r = op.kern(x)
        t = new(Tensor)
        t._data = r if type(r) is ndarray else asarray(r)
        t._node = t._counter = t._base = t._view = t._grad = None
        t._flags = 0
        if input._flags and op.vjp is not None and recording():
            record(input, x, t)
        return t

    return call


# ---------------------------------------------------------------- two tensors

_scalars: dict[tuple[Any, np.dtype], np.ndarray] = {}


def scalar_array(value: Any, dtype: np.dtype) -> np.ndarray:
    """A 0-d array for a Python number: NumPy's ufuncs take it twice as fast. Kept for reuse, but not 0, -0.0, nan or
    bool."""
    array = asarray(value).astype(dtype)
    if value and value == value and len(_scalars) < 10000:
        array.flags.writeable = False
        _scalars[value, dtype] = array
    return array


def build_binary(op: Op, dx_saves: str, dy_saves: str, result: str) -> Callable:
    """``dx_saves``/``dy_saves``: inputs that each gradient needs, of "x" and "y".

    ``result``: "same" (the common dtype), "float" (integers become the default dtype first) or "bool" (a comparison).
    """
    x_for_dx, y_for_dx = "x" in dx_saves, "y" in dx_saves
    x_for_dy, y_for_dy = "x" in dy_saves, "y" in dy_saves
    differentiable = op.vjp is not None

    def record(a: Any, b: Any, x: Any, y: Any, t: Tensor) -> None:
        """``a`` or ``b`` is None where that operand was a number."""
        ea = eb = None
        if a is not None:
            if a._base is not None:
                sync(a)
            ea = a._node or (a if a._flags & 1 else None)
        if b is not None:
            if b._base is not None:
                sync(b)
            eb = b._node or (b if b._flags & 1 else None)
        if ea is None and eb is None:
            return
        n = Node()
        n.op = op if t._data.dtype.kind != "c" else op.conjugate()
        n.edges = (ea, eb)
        n.seq = next_sequence()
        n.attrs = n.aux = n.shape = None
        keep_x = (x_for_dx and ea is not None) or (x_for_dy and eb is not None)
        keep_y = (y_for_dx and ea is not None) or (y_for_dy and eb is not None)
        n.saved = (x if keep_x else None, y if keep_y else None)
        c = a._counter or counter(a) if keep_x and a is not None else None
        d = b._counter or counter(b) if keep_y and b is not None else None
        if c is None:
            n.counters = d
            if d is not None:
                n.version = d[0]
        elif d is None:
            n.counters, n.version = c, c[0]
        else:
            n.counters, n.version = (c, d), c[0] + d[0]
        if a is not None and b is not None:
            sx, sy = x.shape, y.shape
            if len(sx) != len(sy) or sx != sy:
                n.shape = (sx, sy)
        mode = recording()
        if mode is not True:
            instrument(n, mode)
        t._node = n
        t._flags |= 1

    def slow(a: Any, b: Any) -> Any:
        tensor_a, tensor_b = isinstance(a, Tensor), isinstance(b, Tensor)
        if not tensor_a and not tensor_b:
            return raw(a, b)
        for value in (a, b):
            if not isinstance(value, Tensor) and not _is_number(value):
                if type(value) is ndarray and type((a if value is b else b)._data) is ndarray:
                    return slow(*[wrap(v) if v is value else v for v in (a, b)])
                return NotImplemented
        dt = common_dtype((a, b))
        if result == "float" and dt.kind in "biu":
            dt = dtypes.default_np()
        if dt.kind in op.meta["unsupported"]:
            raise NotImplementedError(f"\"{op.name}_cpu\" not implemented for '{scalar_type_name(dt)}'")
        if op.meta["refuse"] is not None:
            op.meta["refuse"](a, b)
        a, x = _operand(a, b, dt, op)
        b, y = _operand(b, a, dt, op)
        kernel = op.resolve(raw_type_of((x, y)))
        t = finish(op, guarded(op, kernel, x, y))
        if differentiable and recording() and is_differentiable_np(dt):
            record(a, b, x, y, t)
        return t

    def raw(a: Any, b: Any) -> Any:
        ta, tb = type(a), type(b)
        if ta in ABSTRACT or tb in ABSTRACT:
            return op.resolve(raw_type_of((a, b)))(a, b)
        for t in (ta, tb):
            if t in arrays._by_type and t is not np.generic:
                return op.resolve(raw_type_of((a, b)))(a, b)
        if isinstance(a, np.generic) or isinstance(b, np.generic):
            return op.kern(a, b)
        return NotImplemented

    def call(a: Any, b: Any) -> Any:
        kind = type(b)
        if kind is float or kind is int:
            try:
                x = a._data
            except AttributeError:
                return slow(a, b)
            dt = x.dtype
            if type(x) is not ndarray or (dt is not f32 and dt is not f64):
                return slow(a, b)
            y = _scalars.get((b, dt))
            if y is None:
                y = scalar_array(b, dt)
            r = op.kern(x, y)
            t = new(Tensor)
            t._data = r if type(r) is ndarray else asarray(r)
            t._node = t._counter = t._base = t._view = t._grad = None
            t._flags = 0
            if a._flags and differentiable and recording():
                record(a, None, x, y, t)
            return t
        try:
            x = a._data
            y = b._data
        except AttributeError:
            return slow(a, b)
        dt = x.dtype
        if dt is not y.dtype or type(x) is not ndarray or type(y) is not ndarray or (dt is not f32 and dt is not f64):
            return slow(a, b)
        try:
            r = op.kern(x, y)
        except ValueError as error:
            raise broadcast_error(x.shape, y.shape) from error
        t = new(Tensor)
        t._data = r if type(r) is ndarray else asarray(r)
        t._node = t._counter = t._base = t._view = t._grad = None
        t._flags = 0
        if (a._flags or b._flags) and differentiable and recording():
            record(a, b, x, y, t)
        return t

    return slow if "f" in op.meta["unsupported"] else call


def broadcast_error(sx: Sequence, sy: Sequence) -> RuntimeError:
    """PyTorch's message for two shapes that do not broadcast."""
    nx, ny = len(sx), len(sy)
    for i in range(1, min(nx, ny) + 1):
        if sx[-i] != sy[-i] and sx[-i] != 1 and sy[-i] != 1:
            return RuntimeError(
                f"The size of tensor a ({sx[-i]}) must match the size of tensor b ({sy[-i]}) "
                f"at non-singleton dimension {max(nx, ny) - i}"
            )
    return RuntimeError(f"shapes {tuple(sx)} and {tuple(sy)} cannot be broadcast together")


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, np.generic)) or hasattr(value, "scalar_category")


def common_dtype(values: Sequence) -> np.dtype:
    """The dtype that PyTorch computes in, for tensors and Python numbers together."""
    dim = zero = None
    wrapped = -1
    for v in values:
        if isinstance(v, Tensor):
            d = v._data.dtype
            if len(v._data.shape):
                dim = d if dim is None else dtypes.promote_np(dim, d)
            else:
                zero = d if zero is None else dtypes.promote_np(zero, d)
        elif v is not None:
            wrapped = max(wrapped, dtypes.scalar_category(v))
    return dtypes.result_np(dim, zero, wrapped)


def _operand(a: Any, other: Any, dt: np.dtype, op: Op) -> tuple[Any, Any]:
    """``a`` as an operand of dtype ``dt``: (the tensor or None, its raw array or number)."""
    if isinstance(a, Tensor):
        if a._data.dtype != dt:
            a = cast(a, dt)
        if (
            not a._data.shape
            and isinstance(other, Tensor)
            and type(a._data) is ndarray
            and type(other._data) is not ndarray
        ):
            if type(other._data) not in ABSTRACT:  # a 0-d CPU tensor may meet a CUDA tensor
                a = a.to(other.device)
        return a, a._data
    if isinstance(other, Tensor) and type(other._data) is ndarray:
        if isinstance(a, (bool, int, float, complex, np.generic)):
            return None, asarray(a).astype(dt)
    if isinstance(a, (bool, int, float, complex, np.generic)):
        number = asarray(a).astype(dt)
        return None, number if type(other._data) in ABSTRACT else number.item()
    return None, tracing.active.number(a, dt)  # a symbolic size: a value of the graph from here on


def instrument(n: Node, mode: Any) -> None:
    from .hooks import instrument_node

    instrument_node(n, mode)


def binary_rule(dx: Callable | None, dy: Callable | None) -> Callable:
    """The rule of a binary operator of its two halves; broadcast dimensions are summed here, once for the family."""

    def vjp(n: Node, g: Any) -> tuple:
        x, y = n.saved
        ea, eb = n.edges
        gx = None if ea is None or dx is None else dx(g, x, y)
        gy = None if eb is None or dy is None else dy(g, x, y)
        if n.shape is not None:
            sx, sy = n.shape
            if gx is not None:
                gx = reduce_to(gx, sx)
            if gy is not None:
                gy = reduce_to(gy, sy)
        return gx, gy

    return vjp


__all__ = ["build_binary", "build_unary", "common_dtype"]
