"""Small functions that distributions share: broadcasting, logits and probabilities, properties computed on first
use."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tocha

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
           "vec_to_tril_matrix"]  # fmt: skip

euler_constant = 0.57721566490153286060


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def broadcast_all(*values: Any) -> tuple:
    """Tensors and numbers, broadcast together; numbers take the dtype and device of the first tensor.

    Raises:
        ValueError: a value is neither.
    """
    first = None
    for value in values:
        if isinstance(value, tocha.Tensor):
            first = value if first is None else first
        elif not is_number(value):
            raise ValueError(
                "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                "__torch_function__."
            )
    options: dict = (
        {"dtype": tocha.get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
    )
    tensors = [v if isinstance(v, tocha.Tensor) else tocha.tensor(v, **options) for v in values]
    return tuple(tocha.broadcast_tensors(*tensors))


def standard_normal(shape: Any, like: Any) -> Any:
    """Standard normal numbers of ``shape``, of the dtype and on the device of ``like``."""
    return tocha.empty(shape, dtype=like.dtype, device=like.device).normal_()


def uniform(shape: Any, like: Any) -> Any:
    """Uniform numbers of [0, 1) of ``shape``, of the dtype and on the device of ``like``."""
    return tocha.rand(shape, dtype=like.dtype, device=like.device)


def sum_rightmost(value: Any, dims: int) -> Any:
    """The sum over the last ``dims`` dimensions."""
    return value if dims == 0 else value.reshape(value.shape[: value.dim() - dims] + (-1,)).sum(-1)


def softplus(x: Any) -> Any:
    from ..nn.functional import softplus as fn

    return fn(x)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Probabilities of log odds (binary), or of log probabilities along the last dimension, normalised or not."""
    return tocha.sigmoid(logits) if is_binary else tocha.softmax(logits, -1)


def clamp_probs(probs: Any) -> Any:
    """Probabilities held off 0 and 1 by the dtype's epsilon, so that logarithms stay finite."""
    eps = tocha.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """The inverse of ``logits_to_probs``, of clamped probabilities."""
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class lazy_property:
    """A property computed on first use (with gradients) and then kept in the instance, or set before that."""

    def __init__(self, wrapped: Callable) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        with tocha.enable_grad():
            value = instance.__dict__[self.name] = self.wrapped(instance)
        return value


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The entries of (…, n, n) matrices on and below diagonal ``diag``, row by row.

    Raises:
        ValueError: there is no such diagonal.
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = tocha.tril_indices(n, n, diag, device=mat.device)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """The (…, n, n) matrices whose entries on and below diagonal ``diag`` are ``vec``, row by row, and 0 above.

    Raises:
        ValueError: no n has that many entries.
    """
    count = vec.shape[-1]
    # the part of an n-matrix is a triangle of side n + diag; above the diagonal, less two corners of side diag
    triangle = 8 * (count + (diag * (diag + 1) if diag > 0 else 0)) + 1
    root = math.isqrt(triangle)
    if root * root != triangle:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a square "
            "D x D matrix."
        )
    n = (root - 1) // 2 - diag
    rows, columns = tocha.tril_indices(n, n, diag, device=vec.device)
    matrix = vec.new_zeros(vec.shape[:-1] + (n, n))
    matrix[..., rows, columns] = vec
    return matrix
