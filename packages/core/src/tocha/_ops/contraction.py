"""Products of matrices: matmul and its kin, linear."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.abstract import Abstract
from .._core.broadcast import broadcast_two, operators, reduce_to
from .._core.dtypes import NP_FLOAT32
from .._core.families import method, operator
from .._core.inplace import store
from .._core.record import ABSTRACT
from .._core.tensor import Tensor
from .dims import product
from .movement import permute_dims
from .reduction import sum_dims

__all__ = ["bmm", "linear", "matmul", "mm"]


def swap_last(x: Any) -> Any:
    """The last two dimensions swapped, as a view."""
    n = len(x.shape)
    return permute_dims(x, (*range(n - 2), n - 1, n - 2))


def _matmul_infer(x: Any, y: Any) -> tuple:
    return (*broadcast_two(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1]), x.dtype


def _matmul_rule(n: Any, g: Any) -> tuple:
    x, y = n.saved
    ea, eb = n.edges
    gx = gy = None
    if ea is not None:
        gx = reduce_to(matmul_op(g, swap_last(y)), x.shape)
    if eb is not None:
        if len(y.shape) == 2 and len(x.shape) > 2:  # one product over all rows
            k, m = x.shape[-1], g.shape[-1]
            gy = matmul_op(swap_last(_rows(x, k)), _rows(g, m))
        else:
            gy = reduce_to(matmul_op(swap_last(x), g), y.shape)
    return gx, gy


def _rows(x: Any, last: Any) -> Any:
    return operators["view"](x, (product(x.shape[:-1]), last))


def _matmul_kernel(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":
        return xp.matmul(x.astype(np.float32), y.astype(np.float32)).astype(x.dtype)
    return x.dot(y) if x.ndim == 2 and y.ndim == 2 and x.dtype.kind in "fc" else xp.matmul(x, y)


matmul_op = operator("matmul", _matmul_kernel, _matmul_rule, _matmul_infer, arity=2, save=(0, 1))
operators["matmul"] = matmul_op


def _check_dtypes(a: Tensor, b: Tensor) -> None:
    if a._data.dtype != b._data.dtype:
        from .._core.templates import scalar_type_name

        names = [scalar_type_name(x._data.dtype).lower().replace("long", "long int") for x in (a, b)]
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {names[0]} != {names[1]}")


def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """Matrix product with PyTorch's rules for 1-d operands and broadcast batches.

    Raises:
        RuntimeError: the inner sizes or the dtypes differ.

    Example:
        >>> import tocha
        >>> tocha.ones(2, 3).matmul(tocha.ones(3)).tolist()
        [3.0, 3.0]
    """
    try:
        a, b = input._data, other._data
        x, y = a.shape, b.shape
        if len(x) > 1 and len(y) > 1 and a.dtype is b.dtype and x[-1] == y[-2] and out is None:
            return matmul_op(input, other)
    except AttributeError:
        if not isinstance(input, Tensor) and not isinstance(other, Tensor):
            return matmul_op(input, other)
        bad, position = (input, 1) if not isinstance(input, Tensor) else (other, 2)
        raise TypeError(
            f"matmul(): argument '{'input' if position == 1 else 'other'}' (position {position}) must be Tensor, not "
            f"{type(bad).__name__}"
        ) from None
    if not x or not y:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {len(x)}D and {len(y)}D")
    _check_dtypes(input, other)
    if x[-1] != y[-2 if len(y) > 1 else 0]:
        raise _size_error(x, y)
    if len(x) > 1 and len(y) > 1:
        result = matmul_op(input, other)
    else:
        result = _with_vectors(input, other)
    return result if out is None else store(out, result)


def _with_vectors(a: Tensor, b: Tensor) -> Tensor:
    x, y = a._data.shape, b._data.shape
    view = operators["view"]
    if len(x) == 1:
        a = view(a, (1, *x))
    if len(y) == 1:
        b = view(b, (*y, 1))
    r = matmul_op(a, b)
    shape = r._data.shape
    if len(y) == 1:
        shape = shape[:-1]
        if len(x) == 1:
            shape = shape[:-1]
    else:
        shape = (*shape[:-2], shape[-1])
    return view(r, shape)


def _size_error(x: tuple, y: tuple) -> RuntimeError:
    if len(x) == 1 and len(y) == 1:
        return RuntimeError(
            f"inconsistent tensor size, expected tensor [{x[0]}] and src [{y[0]}] to have the same number of elements, "
            f"but got {x[0]} and {y[0]} elements respectively"
        )
    if len(y) == 1:
        return (
            RuntimeError(f"size mismatch, got input ({x[0]}), mat ({x[0]}x{x[1]}), vec ({y[0]})")
            if len(x) == 2
            else RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({product(x[:-1])}x{x[-1]} and {y[0]}x1)")
        )
    if len(x) > 2 and len(y) > 2:
        return RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{product(x[:-2])}, {x[-1]}] but got: "
            f"[{product(y[:-2])}, {y[-2]}]."
        )
    return RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({product(x[:-1])}x{x[-1]} and {y[-2]}x{y[-1]})")


def mm(input: Tensor, mat2: Tensor, *, out: Any = None) -> Tensor:
    """The product of two matrices."""
    if len(input._data.shape) != 2:
        raise RuntimeError("self must be a matrix")
    if len(mat2._data.shape) != 2:
        raise RuntimeError("mat2 must be a matrix")
    return matmul(input, mat2, out=out)


def bmm(input: Tensor, mat2: Tensor, *, out: Any = None) -> Tensor:
    """The products of two batches of matrices, ``(b, n, m)`` and ``(b, m, p)``."""
    if len(input._data.shape) != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if len(mat2._data.shape) != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    if input._data.shape[0] != mat2._data.shape[0]:
        x, y = input._data.shape, mat2._data.shape
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{x[0]}, {x[2]}] but got: [{y[0]}, "
            f"{y[1]}]."
        )
    return matmul(input, mat2, out=out)


# ---------------------------------------------------------------- linear


def _linear_kernel(xp: Any, x: Any, w: Any, b: Any) -> Any:
    dtype = x.dtype
    if dtype is not NP_FLOAT32 and dtype.itemsize == 2 and dtype.kind in "fV":
        wide = [v if v is None else v.astype(NP_FLOAT32) for v in (x, w, b)]
        return _linear_kernel(xp, *wide).astype(dtype)
    if x.ndim == 2:
        r = x.dot(w.T)
    else:
        r = x.reshape(-1, x.shape[-1]).dot(w.T).reshape(*x.shape[:-1], w.shape[0])
    if b is not None:
        r += b
    return r


def _linear_rule(n: Any, g: Any) -> tuple:
    x, w = n.saved
    ex, ew, eb = n.edges
    gx = None if ex is None else matmul_op(g, w)
    if len(x.shape) > 2:
        g, x = _rows(g, g.shape[-1]), _rows(x, x.shape[-1])
    gw = None if ew is None else matmul_op(swap_last(g), x)
    return gx, gw, None if eb is None else sum_dims(g, (0,), False)


def _linear_backward(n: Any, g: Any) -> tuple:
    """The same on arrays, without a call for each step."""
    x, w = n.saved
    if type(g) in ABSTRACT or type(x) in ABSTRACT or type(w) in ABSTRACT or g.dtype.itemsize == 2:
        return _linear_rule(n, g)
    ex, ew, eb = n.edges
    if x.ndim == 2:
        gx = None if ex is None else g.dot(w)
    else:
        rows, x = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
        gx = None if ex is None else rows.dot(w).reshape(n.shape)
        g = rows
    return gx, None if ew is None else g.T.dot(x), None if eb is None else g.sum(0)


_linear = operator(
    "linear", _linear_kernel, _linear_rule, lambda x, w, b: ((*x.shape[:-1], w.shape[0]), x.dtype), arity=3, save=(0, 1)
)
_linear.op.backward = _linear_backward  # type: ignore[attr-defined]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``; ``input`` is ``(*, in)``, ``weight`` ``(out, in)``, ``bias`` ``(out,)``."""
    x, w = input._data, weight._data
    dtype = x.dtype
    if (
        x.ndim > 1 and w.ndim == 2 and x.shape[-1] == w.shape[1] and dtype is w.dtype
        and (bias is None or (bias._data.dtype is dtype and bias._data.shape == w.shape[:1]))
    ):  # fmt: skip
        return _linear(input, weight, bias)
    x, w = x.shape, w.shape
    if len(x) < 2 or len(w) != 2:
        return _linear_by_matmul(input, weight, bias)
    if x[-1] != w[1]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({product(x[:-1])}x{x[-1]} and {w[1]}x{w[0]})")
    if input._data.dtype is not weight._data.dtype or (bias is not None and bias._data.dtype is not weight._data.dtype):
        _check_linear_dtypes(input, weight, bias)
    if bias is not None and bias._data.shape != (w[0],):
        return matmul_op(input, swap_last(weight)) + bias
    return _linear(input, weight, bias)


def _check_linear_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    from .._core.templates import scalar_type_name

    for other in (weight, bias):
        if other is not None and other._data.dtype != input._data.dtype:
            a, b = [scalar_type_name(t._data.dtype) for t in (input, other)]
            raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {a} and {b}")


def _linear_by_matmul(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if len(weight._data.shape) == 1:
        result = matmul(input, weight)
    else:
        result = matmul(input, swap_last(weight))
    return result if bias is None else result + bias


for _fn in (matmul, mm, bmm):
    method(_fn)


def _special_matmul(a: Any, b: Any) -> Any:
    return matmul(a, b) if isinstance(b, Tensor) else NotImplemented


method(_special_matmul, "__matmul__")
Abstract.__matmul__ = matmul_op  # type: ignore[operator]
method(lambda a, b: matmul(b, a) if isinstance(b, Tensor) else NotImplemented, "__rmatmul__")
