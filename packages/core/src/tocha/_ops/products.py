"""Products built on ``matmul``: of vectors, with an addend, over chosen dimensions, of Kronecker and of Einstein."""

from __future__ import annotations

from typing import Any

from .._core.broadcast import operators
from .._core.families import inplace_method, method
from .._core.inplace import store
from .._core.tensor import Tensor
from .complex import conj
from .contraction import bmm, matmul, mm
from .dims import product, wrap_dim
from .movement import permute, reshape, unsqueeze

__all__ = ["addbmm", "addmm", "addmv", "addr", "baddbmm", "chain_matmul", "cross", "dot", "ger", "inner", "kron", "mv",
           "outer", "tensordot", "trace", "vdot"]  # fmt: skip


def _out(result: Tensor, out: Any) -> Tensor:
    return result if out is None else store(out, result)


def _vector(name: str, *tensors: Tensor) -> None:
    if any(len(t._data.shape) != 1 for t in tensors):
        raise RuntimeError(
            f"1D tensors expected, but got {'D and '.join(str(len(t._data.shape)) for t in tensors)}D tensors"
        )


def dot(input: Tensor, tensor: Tensor, *, out: Any = None) -> Tensor:
    """The sum of the products of two vectors' elements."""
    _vector("dot", input, tensor)
    if input._data.dtype != tensor._data.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {_name(input)} and {_name(tensor)}"
        )
    return _out(matmul(input, tensor), out)


def _name(t: Tensor) -> str:
    from .._core.templates import scalar_type_name

    return scalar_type_name(t._data.dtype)


def vdot(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """``dot`` with the first vector conjugated."""
    return dot(conj(input), other, out=out)


def mv(input: Tensor, vec: Tensor, *, out: Any = None) -> Tensor:
    """The product of a matrix and a vector."""
    if len(input._data.shape) != 2 or len(vec._data.shape) != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got 1, {len(input._data.shape)}, {len(vec._data.shape)}"
        )
    return _out(matmul(input, vec), out)


def outer(input: Tensor, vec2: Tensor, *, out: Any = None) -> Tensor:
    """The products of all pairs of two vectors' elements, (n, m)."""
    for name, t in (("self", input), ("vec2", vec2)):
        if len(t._data.shape) != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {len(t._data.shape)}-D")
    return _out(unsqueeze(input, 1) * vec2, out)


ger = outer


def _combined(input: Tensor, result: Tensor, beta: Any, alpha: Any) -> Tensor:
    """``beta * input + alpha * result``; ``beta`` 0 ignores even NaN in ``input``."""
    if result._data.dtype.kind in "biu":  # PyTorch casts the numbers to the tensors' dtype
        alpha, beta = int(alpha), int(beta)
    if alpha != 1:
        result = result * alpha
    if beta == 0:
        return result + operators["zeros_as"](input) if input.requires_grad else result
    return (input if beta == 1 else input * beta) + result


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``."""
    return _out(_combined(input, mm(mat1, mat2), beta, alpha), out)


def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``."""
    return _out(_combined(input, mv(mat, vec), beta, alpha), out)


def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``."""
    product_ = outer(vec1, vec2)
    if input._data.dtype.kind == "b":
        result = (input & bool(beta)) | (product_ & bool(alpha))
        return _out(result, out)
    return _out(_combined(input, product_, beta, alpha), out)


def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)``, batch by batch."""
    return _out(_combined(input, bmm(batch1, batch2), beta, alpha), out)


def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)`` summed over the batch."""
    b, n, m = batch1._data.shape
    p = batch2._data.shape[2]
    if batch2._data.shape[0] != b or batch2._data.shape[1] != m:
        bmm(batch1, batch2)
    flat = matmul(reshape(permute(batch1, 1, 0, 2), n, b * m), reshape(batch2, b * m, p))
    return _out(_combined(input, flat, beta, alpha), out)


def chain_matmul(*matrices: Tensor, out: Any = None) -> Tensor:
    """The product of several matrices, in the cheapest order."""
    from ..linalg import multi_dot

    return _out(matrices[0] if len(matrices) == 1 else multi_dot(matrices), out)


def inner(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """Sums of products along the last dimensions of both; with a 0-d tensor the plain product."""
    x, y = input._data.shape, other._data.shape
    if not x or not y:
        return _out(input * other, out)
    if x[-1] != y[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(x)} and {list(y)}"
        )
    return _out(tensordot(input, other, ([-1], [-1])), out)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Tensor:
    """Sums of products over the last ``dims`` dimensions of ``a`` and the first of ``b``, or over the given pairs."""
    na, nb = len(a._data.shape), len(b._data.shape)
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(na, nb):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        over_a, over_b = list(range(na - dims, na)), list(range(dims))
    else:
        over_a, over_b = [[d] if isinstance(d, int) else list(d) for d in dims]
    if len(over_a) != len(over_b):
        raise RuntimeError(f"both dimension lists should have the same length, got {len(over_a)} and {len(over_b)}")
    over_a, over_b = [wrap_dim(d, na) for d in over_a], [wrap_dim(d, nb) for d in over_b]
    for p, q in zip(over_a, over_b):
        if a._data.shape[p] != b._data.shape[q]:
            if a._data.shape[p] == 1:
                b = b.sum(q, keepdim=True)
            elif b._data.shape[q] == 1:
                a = a.sum(p, keepdim=True)
            else:
                raise RuntimeError(
                    f"contracted dimensions need to match, but first has size {a._data.shape[p]} in dim {p} and second "
                    f"has size {b._data.shape[q]} in dim {q}"
                )
    free_a, free_b = [d for d in range(na) if d not in over_a], [d for d in range(nb) if d not in over_b]
    inner_size = product([a._data.shape[d] for d in over_a])
    shape_a, shape_b = [a._data.shape[d] for d in free_a], [b._data.shape[d] for d in free_b]
    left = reshape(permute(a, *free_a, *over_a), product(shape_a), inner_size) if na else reshape(a, 1, 1)
    right = reshape(permute(b, *over_b, *free_b), inner_size, product(shape_b)) if nb else reshape(b, 1, 1)
    return _out(reshape(matmul(left, right), (*shape_a, *shape_b)), out)


def kron(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """The Kronecker product: blocks of ``other`` scaled by the elements of ``input``."""
    n = max(len(input._data.shape), len(other._data.shape))
    x = (1,) * (n - len(input._data.shape)) + tuple(input._data.shape)
    y = (1,) * (n - len(other._data.shape)) + tuple(other._data.shape)
    a = reshape(input, [v for s in x for v in (s, 1)])
    b = reshape(other, [v for s in y for v in (1, s)])
    return _out(reshape(a * b, [p * q for p, q in zip(x, y)]), out)


def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Any = None) -> Tensor:
    """The cross product of vectors of 3 elements along ``dim`` (None: the first dimension of size 3)."""
    from .._core.broadcast import broadcast_shapes
    from .arrangement import roll

    shape = broadcast_shapes(input._data.shape, other._data.shape)
    if dim is None:
        found = [d for d, s in enumerate(input._data.shape) if s == 3]
        if not found:
            raise RuntimeError("no dimension of size 3 in input")
        dim = found[0]
    dim = wrap_dim(dim, len(shape))
    if shape[dim] != 3 or input._data.shape[dim - len(shape)] != 3 or other._data.shape[dim - len(shape)] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input._data.shape[dim - len(shape)]} and "
            f"{other._data.shape[dim - len(shape)]}"
        )
    a, b = operators["expand"](input, shape), operators["expand"](other, shape)
    return _out(roll(a, -1, dim) * roll(b, -2, dim) - roll(a, -2, dim) * roll(b, -1, dim), out)


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
    if len(input._data.shape) != 2:
        raise RuntimeError("trace: expected a matrix")
    return input.diagonal().sum()


for _fn in (dot, vdot, mv, outer, ger, inner, kron, cross, trace):
    method(_fn)
method(outer, "ger")
for _adding in (addmm, addmv, addr, addbmm, baddbmm):
    method(_adding)
    inplace_method(_adding)
