"""Distances and similarities, and what the losses of pairs and triplets make of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tocha
from tocha._core.tensor import Tensor
from tocha._ops.distance import bilinear, cosine_similarity, pairwise_distance, pdist

from ._checks import check_reduction, legacy_reduction, reduced

__all__ = [
    "bilinear", "cosine_embedding_loss", "cosine_similarity", "hinge_embedding_loss", "margin_ranking_loss",
    "pairwise_distance", "pdist", "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``max(0, -t * (x1 - x2) + margin)``: ``x1`` is to be the greater where the target is 1, the smaller where it is
    -1.

    Raises:
        RuntimeError: the numbers of dimensions differ.
        ValueError: an unknown ``reduction``.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.margin_ranking_loss(tocha.tensor([1.0]), tocha.tensor([3.0]), tocha.tensor([1.0]))
        tensor(2.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    if input1.ndim != input2.ndim or input1.ndim != target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    loss: Any = -target * (input1 - input2) + margin
    return reduced(loss.clamp(min=0.0), reduction)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``x`` where the target is 1, ``max(0, margin - x)`` where it is -1.

    Raises:
        ValueError: an unknown ``reduction``.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.hinge_embedding_loss(tocha.tensor([0.5, 0.2]), tocha.tensor([1.0, -1.0]))
        tensor(0.6500)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    lacking: Any = (margin - input).clamp(min=0.0)
    loss = tocha.where(target != 1, lacking, 0.0) + tocha.where(target != -1, input, 0.0)
    return reduced(loss, reduction)


_EPSILON = 1e-12  # PyTorch's, added to the squared norms


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``1 - cos(x1, x2)`` where the target is 1, ``max(0, cos(x1, x2) - margin)`` where it is -1.

    Args:
        input1, input2: (N, D), with a target (N); or (D), with a target ().

    Raises:
        RuntimeError: the shapes do not fit.
        ValueError: an unknown ``reduction``.

    Example:
        >>> import tocha
        >>> x = tocha.tensor([[1.0, 0.0]])
        >>> tocha.nn.functional.cosine_embedding_loss(x, tocha.tensor([[0.0, 1.0]]), tocha.tensor([1.0]))
        tensor(1.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    ndim = target.ndim
    if ndim > 1:
        raise RuntimeError(f"0D or 1D target tensor expected, multi-target not supported, got {ndim}D")
    if input1.ndim != ndim + 1 or input2.ndim != ndim + 1:
        raise RuntimeError(
            f"{ndim}D target tensor expects {ndim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    a: Any = input1
    b: Any = input2
    product, first, second = (a * b).sum(-1), (a * a).sum(-1) + _EPSILON, (b * b).sum(-1) + _EPSILON
    cosine = product / (first * second).sqrt()
    apart = (cosine - margin).clamp(min=0.0)
    loss = tocha.where(target == 1, 1 - cosine, 0.0) + tocha.where(target == -1, apart, 0.0)
    return reduced(loss, reduction)


def _check_triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, reduction: str) -> None:
    check_reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` for the p-norm distance d.

    Args:
        eps: added to differences, see ``pairwise_distance``.
        swap: use the distance of positive and negative where it is smaller than that of anchor and negative.

    Raises:
        ValueError: ``margin`` is not positive, or an unknown ``reduction``.
        RuntimeError: the numbers of dimensions differ.

    Example:
        >>> import tocha
        >>> anchor = tocha.zeros(1, 2)
        >>> tocha.nn.functional.triplet_margin_loss(anchor, anchor + 1, anchor + 1)
        tensor(1.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    _check_triplet(anchor, positive, negative, margin, reduction)

    def distance(x: Tensor, y: Tensor) -> Tensor:
        return pairwise_distance(x, y, p, eps)

    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor],
                                                                                       Tensor] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``triplet_margin_loss`` with a distance of the user's (default: ``pairwise_distance``).

    Raises:
        ValueError: ``margin`` is not positive, or an unknown ``reduction``.
        RuntimeError: the numbers of dimensions differ.

    Example:
        >>> import tocha
        >>> anchor = tocha.zeros(1, 2)
        >>> tocha.nn.functional.triplet_margin_with_distance_loss(anchor, anchor + 1, anchor + 1)
        tensor(1.)
    """
    _check_triplet(anchor, positive, negative, margin, reduction)
    return _triplet(anchor, positive, negative, distance_function or pairwise_distance, margin, swap, reduction)


def _triplet(
    anchor: Tensor, positive: Tensor, negative: Tensor, distance: Callable, margin: float, swap: bool, reduction: str
) -> Tensor:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = tocha.minimum(far, distance(positive, negative))
    return reduced((near - far + margin).clamp(min=0.0), reduction)
