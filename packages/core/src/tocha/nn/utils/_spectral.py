"""What both forms of spectral norm share."""

from __future__ import annotations

from typing import Any

from tocha._core.tensor import Tensor


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """The weight with ``dim`` first and the others as one."""
    if dim != 0:
        weight = weight.permute(dim, *[d for d in range(weight.dim()) if d != dim])
    return weight.reshape(weight.shape[0], -1)


def unit(vector: Tensor, eps: float) -> Tensor:
    """The vector, or matrix of one column, divided by its length."""
    return vector / (vector * vector.conj() if vector.is_complex() else vector * vector).sum().sqrt().clamp(min=eps)


def times(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix @ vector.unsqueeze(1)).squeeze(1)


def default_dim(module: Any) -> int:
    """The dimension of the outputs: the second of transposed convolutions."""
    import tocha.nn as nn

    names = ("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")
    transposed = tuple([getattr(nn, name) for name in names if hasattr(nn, name)])
    return 1 if isinstance(module, transposed) else 0
