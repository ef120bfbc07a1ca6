"""Lookups in tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from tocha._core.tensor import Tensor
from tocha._ops.embedding import embedding_op

__all__ = ["embedding"]


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """Rows of ``weight`` (V, D) for the indices in ``input`` (*), as (*, D).

    Args:
        padding_idx: the row that gets no gradient.
        max_norm: rows that are looked up are first scaled, in place, to a norm of at most this.

    Raises:
        IndexError: an index is outside of the table.
        RuntimeError: the indices are not integers.
    """
    index = input._data
    if index.dtype.kind not in "iu":
        raise RuntimeError(
            f"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got {input.type()} "  # type: ignore[attr-defined]
            "instead (while checking arguments for embedding)"
        )
    if len(weight._data.shape) != 2:
        raise RuntimeError("'weight' must be 2-D")
    rows = weight._data.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx = padding_idx % rows
    if type(index) is np.ndarray and index.size and (int(index.min()) < 0 or int(index.max()) >= rows):
        raise IndexError("index out of range in self")
    if sparse or scale_grad_by_freq:
        raise NotImplementedError("embedding(sparse=True) and scale_grad_by_freq=True are not supported yet: leave them False")
    if max_norm is not None:
        _renormalise(weight, input, max_norm, norm_type)
    return embedding_op(weight, input, -1 if padding_idx is None else padding_idx)


def _renormalise(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    table = weight._data
    used = np.unique(input._data)
    rows = table[used]
    norms = (np.abs(rows) ** norm_type).sum(1) ** (1 / norm_type)
    scale: Any = np.where(norms > max_norm, max_norm / (norms + 1e-7), 1).astype(table.dtype)
    table[used] = rows * scale[:, None]
