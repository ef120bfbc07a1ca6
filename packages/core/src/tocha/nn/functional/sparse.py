"""Lookups in tables, and one-hot vectors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import tocha
from tocha._core import arrays
from tocha._core.record import ABSTRACT
from tocha._core.tensor import Tensor, wrap
from tocha._ops.embedding import embedding_op, first_largest, sum_by_bag

from ._checks import cast

__all__ = ["embedding", "embedding_bag", "one_hot"]

ndarray = np.ndarray


def _check_indices(input: Tensor, weight: Tensor, name: str) -> None:
    index = input._data
    if not (index.dtype == np.int64 or index.dtype == np.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{input.type()} instead (while checking arguments for {name})"
        )
    if type(index) is ndarray and index.size:
        # as unsigned numbers the negative ones are large
        if index.view(f"u{index.itemsize}").max() >= weight._data.shape[0]:
            raise IndexError("index out of range in self")


def _padding_row(padding_idx: int | None, rows: int, message: str) -> int:
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise AssertionError(message)
    return padding_idx % rows


def _refuse_sparse(sparse: bool) -> None:
    if sparse:
        raise NotImplementedError(
            "sparse=True asks for sparse gradients, which tocha does not have: leave it False for dense gradients"
        )


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """Rows of ``weight`` (V, D) for the indices in ``input`` (*), int64 or int32: (*, D).

    Args:
        padding_idx: the row that gets no gradient.
        max_norm: rows that are looked up are first scaled, in place, to a norm of at most this.
        norm_type: the p of that norm.
        scale_grad_by_freq: divide each row's gradient by how often ``input`` has it.

    Raises:
        IndexError: an index is outside of the table.
        RuntimeError: the indices are not integers, or ``weight`` is not 2-d.
        NotImplementedError: ``sparse=True``.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.embedding(tocha.tensor([2, 0]), tocha.eye(3))
        tensor([[0., 0., 1.],
                [1., 0., 0.]])
    """
    if len(weight._data.shape) != 2:
        raise RuntimeError("'weight' must be 2-D")
    padding = _padding_row(padding_idx, weight._data.shape[0], "Padding_idx must be within num_embeddings")
    _check_indices(input, weight, "embedding")
    if sparse:
        _refuse_sparse(sparse)
    if max_norm is not None:
        renormalise(weight, input, max_norm, norm_type)
    return embedding_op(weight, input, padding, scale_grad_by_freq)


def renormalise(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows of ``weight`` that ``input`` names to a p-norm of at most ``max_norm``, in place."""
    table = weight._data
    if type(table) in ABSTRACT or type(input._data) in ABSTRACT:
        _renormalise_traced(weight, input, max_norm, norm_type)
        return
    xp = arrays.module_of(table)
    used = xp.unique(input._data)
    rows = table[used]
    norms = (xp.abs(rows) ** norm_type).sum(1) ** (1 / norm_type)
    scale = xp.where(norms > max_norm, max_norm / (norms + 1e-7), 1).astype(table.dtype)
    table[used] = rows * scale[:, None]


def _renormalise_traced(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """The same in operators, on the whole table."""
    flat = input.reshape(-1).long()
    used = tocha.zeros(weight.shape[0], device=weight.device).index_fill(0, flat, 1.0) > 0
    norms = (weight.detach().abs() ** norm_type).sum(1) ** (1 / norm_type)
    scale = tocha.where(used & (norms > max_norm), max_norm / (norms + 1e-7), 1.0).to(weight.dtype)
    with tocha.no_grad():
        weight.mul_(scale[:, None])


def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """Sums, means or maxima of rows of ``weight`` (V, D) by bags of indices: (B, D).

    Args:
        input: indices (B, N), one bag a row, or (N) with ``offsets``.
        offsets: (B), where each bag of a 1-d ``input`` starts; with ``include_last_offset`` (B + 1), where the last
            ends too.
        max_norm, norm_type, scale_grad_by_freq: as in ``embedding``.
        mode: "sum", "mean" or "max"; an empty bag gives zeros.
        per_sample_weights: of ``input``'s shape, multiplies the rows; mode "sum" only.
        padding_idx: an index that counts for nothing.

    Raises:
        ValueError, RuntimeError: shapes, dtypes or arguments that do not fit.
        IndexError: an index is outside of the table.
        NotImplementedError: ``sparse=True``, or ``per_sample_weights`` with another mode than "sum".

    Example:
        >>> import tocha
        >>> rows = tocha.tensor([0, 1, 2])
        >>> tocha.nn.functional.embedding_bag(rows, tocha.eye(3), tocha.tensor([0, 2]), mode="sum")
        tensor([[1., 1., 0.],
                [0., 0., 1.]])
    """
    if weight._data.dtype == np.int64 and input._data.dtype.kind in "fV":
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=2,
        )
        weight, input = input, weight
    if per_sample_weights is not None and tuple(input._data.shape) != tuple(per_sample_weights._data.shape):
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape})"
        )
    if len(weight._data.shape) != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {len(weight._data.shape)}")
    flat, bags, count, per_sample_weights = _bags(input, offsets, include_last_offset, per_sample_weights)
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max":
        if scale_grad_by_freq:
            raise ValueError("max mode does not support scaling the gradient by the frequency")
        if sparse:
            raise ValueError("max mode does not support sparse weights")
    _refuse_sparse(sparse)
    rows = weight._data.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got {padding_idx}"
        )
    padding = -1 if padding_idx is None else padding_idx % rows
    _check_indices(flat, weight, "embedding_bag")
    if max_norm is not None:
        renormalise(weight, flat, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    return _reduce_bags(weight, flat, bags, count, mode, per_sample_weights, padding, scale_grad_by_freq)


def _bags(
    input: Tensor, offsets: Tensor | None, last: bool, per_sample: Tensor | None
) -> tuple[Tensor, Tensor, int, Any]:
    """The indices in one dimension, the bag of each, how many bags there are, and the weights in one dimension."""
    shape = input._data.shape
    if len(shape) == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        count, length = shape
        bags = tocha.arange(count, device=input.device).unsqueeze(1).expand(count, length).reshape(-1)
        weights = None if per_sample is None else per_sample.reshape(-1)
        return input.reshape(-1), bags, count, weights
    if len(shape) != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {len(shape)}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if len(offsets._data.shape) != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    starts = arrays.to_host(offsets._data)
    if starts.size:
        if starts[0] != 0:
            raise RuntimeError(
                "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
                f"However, got {starts[0]}"
            )
        if starts[-1] > shape[0]:
            raise RuntimeError(
                f"offsets[-1] can not be greater than input's length({shape[0]}) but got offsets[-1] of {starts[-1]}"
            )
    if last:
        if not starts.size:
            raise RuntimeError("include_last_offset: number of offset should be at least 1")
        ends, starts = starts[1:], starts[:-1]
    else:
        ends = np.append(starts[1:], shape[0])
    number = np.full(shape[0], -1, np.int64)
    repeated = np.repeat(np.arange(starts.size), np.maximum(ends - starts, 0))
    number[: repeated.size] = repeated
    if repeated.size < shape[0]:  # indices after the last offset belong to no bag
        input = input[: repeated.size]
        per_sample = None if per_sample is None else per_sample[: repeated.size]
        number = number[: repeated.size]
    bags = wrap(number if type(input._data) is ndarray else arrays.to_device(number, input.device))
    return input, bags, starts.size, per_sample


def _reduce_bags(
    weight: Tensor,
    index: Tensor,
    bags: Tensor,
    count: int,
    mode: str,
    per_sample: Any,
    padding: int,
    by_frequency: bool,
) -> Tensor:
    rows: Any = embedding_op(weight, index, padding, by_frequency)
    dtype = weight._data.dtype
    kept = index != padding
    if mode == "max":
        chosen: Any = wrap(first_largest(rows._data, bags._data, kept._data, count))
        if not index._data.size:
            return sum_by_bag(rows, bags, count)
        filled = cast(chosen >= 0, dtype)
        columns = tocha.arange(weight._data.shape[1], device=weight.device)
        return rows[chosen.clamp(min=0), columns] * filled
    if padding >= 0:
        rows = rows * cast(kept, dtype).unsqueeze(1)
    if per_sample is not None:
        rows = rows * per_sample.unsqueeze(1)
    total = sum_by_bag(rows, bags, count)
    if mode == "sum":
        return total
    sizes = sum_by_bag(cast(kept, dtype).unsqueeze(1), bags, count)
    return total / sizes.clamp(min=1.0)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Vectors (*, num_classes) with a 1 at each index of ``tensor`` (*) and 0 elsewhere, int64.

    Args:
        num_classes: -1: the largest index and one.

    Raises:
        RuntimeError: an index is negative or too large, or the dtype is not int64.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.one_hot(tocha.tensor([0, 2]))
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    raw = tensor._data
    if raw.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if raw.size == 0 and num_classes <= 0:
        if num_classes == -1:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        raise RuntimeError("Class values must be smaller than num_classes.")
    if type(raw) not in ABSTRACT and raw.size:
        if raw.min() < 0:
            raise RuntimeError("Class values must be non-negative.")
        if num_classes == -1:
            num_classes = int(raw.max()) + 1
        elif raw.max() >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
    elif num_classes == -1:
        num_classes = int(tensor.max()) + 1
    return (tensor.unsqueeze(-1) == tocha.arange(num_classes, device=tensor.device)).to(tocha.int64)
