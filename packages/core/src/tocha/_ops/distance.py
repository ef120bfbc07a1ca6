"""Distances between vectors: of pairs, of all pairs of one or two sets; cosine similarity; bilinear forms."""

from __future__ import annotations

from typing import Any

from .._core.broadcast import broadcast_shapes, same_shape
from .._core.casting import cast
from .._core.grad_mode import no_grad
from .._core.templates import common_dtype, scalar_type_name
from .._core.tensor import Tensor
from .contraction import linear, matmul_op, swap_last
from .dims import product

__all__ = ["bilinear", "cdist", "cosine_similarity", "pairwise_distance", "pdist"]

COMPUTE_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


def _norm(x: Any, p: float, dim: int = -1, keepdim: bool = False) -> Any:
    from ..linalg import vector_norm

    return vector_norm(x, p, dim=dim, keepdim=keepdim)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of ``x1 - x2 + eps`` over the last dimension; ``x1`` and ``x2`` (*, D) are broadcast.

    Example:
        >>> import tocha
        >>> tocha.pairwise_distance(tocha.zeros(1, 2), tocha.tensor([[3.0, 4.0]]))
        tensor([5.0000])
    """
    return _norm(x1 - x2 + eps, p, -1, keepdim)


def _check_p(name: str, p: float) -> None:
    if p < 0:
        raise RuntimeError(f"{name} only supports non-negative p values")


def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The p-norm distances of all pairs of the rows of ``input`` (N, M): (N * (N - 1) / 2), first row first.

    Raises:
        RuntimeError: ``input`` is not a floating matrix, or ``p`` is negative.

    Example:
        >>> import tocha
        >>> tocha.pdist(tocha.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
        tensor([5.0000, 1.0000, 4.2426])
    """
    shape = input._data.shape
    if len(shape) != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {len(shape)}D")
    if input._data.dtype.kind not in "fV":
        raise RuntimeError("pdist only supports floating-point dtypes")
    _check_p("pdist", p)
    from .arrangement import triu_indices

    rows, columns = triu_indices(shape[0], shape[0], 1, device=input.device)
    return _norm(input[rows] - input[columns], p)


def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """The p-norm distances of each row of ``x1`` (*, P, M) to each of ``x2`` (*, R, M): (*, P, R).

    Args:
        compute_mode: whether Euclidean distances come from a product of matrices, which is fast but loses digits of
            small
            distances: for more than 25 rows ("use_mm_for_euclid_dist_if_necessary"), always ("use_mm_for_euclid_dist")
                or
            never ("donot_use_mm_for_euclid_dist").

    Raises:
        RuntimeError: shapes, dtypes or ``p`` do not fit.
        ValueError: an unknown ``compute_mode``.

    Example:
        >>> import tocha
        >>> tocha.cdist(tocha.tensor([[0.0, 0.0], [0.0, 1.0]]), tocha.tensor([[3.0, 4.0]]))
        tensor([[5.0000],
                [4.2426]])
    """
    if compute_mode is not None and compute_mode not in COMPUTE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for i, x in ((1, x1), (2, x2)):
        if len(x._data.shape) < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, X{i} got: {len(x._data.shape)}D")
        if x._data.dtype.kind not in "fV":
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, X{i} got: {scalar_type_name(x._data.dtype)}"
            )
    s1, s2 = x1._data.shape, x2._data.shape
    if not s1[-1] == s2[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {s1[-1]} X2: {s2[-1]}")
    _check_p("cdist", p)
    batch = broadcast_shapes(s1[:-2], s2[:-2])
    many = compute_mode == COMPUTE_MODES[1] or (compute_mode != COMPUTE_MODES[2] and (s1[-2] > 25 or s2[-2] > 25))
    if p == 2 and many and type(s1[-1]) is int and s1[-1] > 0:
        return _euclidean(_expanded(x1, batch), _expanded(x2, batch))
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return _norm(difference, p)


def _expanded(x: Any, batch: tuple) -> Any:
    shape = (*batch, *x._data.shape[-2:])
    return x if same_shape(shape, x._data.shape) else x.expand(shape)


def _euclidean(x1: Any, x2: Any) -> Any:
    """``sqrt(|a|² - 2ab + |b|²)`` as one product: (-2a, |a|², 1) times (b, 1, |b|²)."""
    from .creation import ones_like
    from .movement import cat
    from .ternary import where

    n1, n2 = (x1 * x1).sum(-1, keepdim=True), (x2 * x2).sum(-1, keepdim=True)
    left = cat((x1 * -2, n1, ones_like(n1)), -1)
    right = cat((x2, ones_like(n2), n2), -1)
    squared = matmul_op(left, swap_last(right))
    positive = squared > 0
    # the square root has no gradient at 0, where PyTorch's is 0
    return where(positive, where(positive, squared, 1.0).sqrt(), 0.0)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between ``x1`` and ``x2`` along ``dim``; norms are at least ``eps``.

    Raises:
        RuntimeError: the tensors are not floating, or do not broadcast.

    Example:
        >>> import tocha
        >>> tocha.cosine_similarity(tocha.tensor([[1.0, 0.0]]), tocha.tensor([[1.0, 1.0]]))
        tensor([0.7071])
    """
    dtype = common_dtype((x1, x2))
    if dtype.kind not in "fV":
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {scalar_type_name(dtype)}")
    a, b = [x if x._data.dtype == dtype else cast(x, dtype) for x in (x1, x2)]
    shape = broadcast_shapes(a._data.shape, b._data.shape)
    a, b = [x if same_shape(x._data.shape, shape) else x.expand(shape) for x in (a, b)]
    return (a / at_least(_norm(a, 2, dim, True), eps) * (b / at_least(_norm(b, 2, dim, True), eps))).sum(dim)


def at_least(x: Any, eps: float) -> Any:
    """``x`` raised to ``eps``, with a gradient as if it had not been."""
    with no_grad():
        missing = (eps - x).clamp(min=0.0)
    return x + missing


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for each k: inputs (*, I) and (*, J), ``weight`` (K, I, J), result (*,
    K).

    Raises:
        RuntimeError: the shapes do not fit.

    Example:
        >>> import tocha
        >>> tocha.bilinear(tocha.ones(2), tocha.ones(3), tocha.ones(1, 2, 3))
        tensor([6.])
    """
    s1, s2, w = input1._data.shape, input2._data.shape, weight._data.shape
    if len(s1) != len(s2):
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {len(s1)} and {len(s2)}")
    for i in range(len(s1) - 1):
        if not s1[i] == s2[i]:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {i}: got {s1[i]} and {s2[i]}")
    for i, (s, n) in enumerate(((s1, w[1]), (s2, w[2])), 1):
        if not s[-1] == n:
            raise RuntimeError(f"bilinear(): input{i} size does not match weight size: got {s[-1]} but expected {n}")
    if bias is not None and not bias._data.shape[0] == w[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias._data.shape[0]} but expected {w[0]}"
        )
    batch = tuple(s1[:-1])
    left: Any = linear(input1.reshape(-1, w[1]), weight.permute(0, 2, 1).reshape(w[0] * w[2], w[1]))
    count = product(batch)
    result = matmul_op(left.view(count, w[0], w[2]), input2.reshape(count, w[2], 1)).view(*batch, w[0])
    return result if bias is None else result + bias
