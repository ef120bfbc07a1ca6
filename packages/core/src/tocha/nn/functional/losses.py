"""Loss functions."""

from __future__ import annotations

import warnings
from typing import Any

from tocha._core.broadcast import operators
from tocha._core.tensor import Tensor
from tocha._ops.activation import log_softmax
from tocha._ops.dims import product
from tocha._ops.losses import nll_op

__all__ = ["cross_entropy", "mse_loss", "nll_loss"]


def legacy_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that the old flags ``size_average`` and ``reduce`` mean."""
    if size_average is None and reduce is None:
        return reduction
    result = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{result}' instead.", stacklevel=4)
    return result


def check_reduction(reduction: str) -> None:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """``loss`` by its reduction: "mean", "sum" or "none"."""
    if reduction == "mean":
        return loss.mean()  # type: ignore[attr-defined]
    if reduction == "sum":
        return loss.sum()  # type: ignore[attr-defined]
    check_reduction(reduction)
    return loss


def mse_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The squared difference, averaged, summed, or as it is (``reduction``)."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if tuple(target._data.shape) != tuple(input._data.shape):
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). "
            "This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=2,
        )
    difference = input - target
    loss = difference * difference
    if weight is not None:
        loss = loss * weight
        if reduction == "mean":
            return loss.sum() / weight.expand_as(loss).sum()
    return reduced(loss, reduction)


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The negative log-likelihood of ``target`` classes under log-probabilities ``input``.

    Shapes: ``input`` (C), (N, C) or (N, C, d1, …); ``target`` without the C, int64. A mean is weighted by ``weight`` (C).

    Raises:
        IndexError: a class is outside of [0, C).
        ValueError: the shapes do not fit.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    shape, wanted = input._data.shape, target._data.shape
    if not shape:
        raise ValueError(f"Expected 1 or more dimensions (got {len(shape)})")
    if len(shape) != 1 and len(wanted) and not (shape[0] == wanted[0]):
        raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({wanted[0]}).")
    if target._data.dtype.kind not in "iu":
        raise RuntimeError(f"expected scalar type Long but found {_scalar_name(target)}")
    classes = shape[0] if len(shape) == 1 else shape[1]
    if len(shape) > 1 and len(wanted) != len(shape) - 1:
        raise ValueError(f"Expected target size {[shape[0], *shape[2:]]}, got {list(wanted)}")
    _check_classes(target, classes, ignore_index)
    if weight is not None and tuple(weight._data.shape) != (classes,):
        raise RuntimeError(f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: {list(weight._data.shape)}")
    if len(shape) == 1:
        rows, labels, result = input.view(1, classes), target.view(1), ()  # type: ignore[attr-defined]
    elif len(shape) == 2:
        rows, labels, result = input, target, wanted
    else:
        order = (0, *range(2, len(shape)), 1)
        rows = operators["view"](operators["permute"](input, order), (product(wanted), classes))
        labels, result = operators["view"](target, (product(wanted),)), wanted
    loss = nll_op(rows, labels, weight, ignore_index, reduction)
    if reduction == "none" and len(shape) != 2:
        loss = operators["view"](loss, tuple(result))
    return loss


def _scalar_name(t: Tensor) -> str:
    from tocha._core.templates import scalar_type_name

    return scalar_type_name(t._data.dtype)


def _check_classes(target: Tensor, classes: Any, ignore_index: int) -> None:
    import numpy as np

    raw = target._data
    if type(raw) is not np.ndarray or not raw.size:
        return
    low, high = raw.min(), raw.max()
    if low < 0 or high >= classes:
        bad = raw[((raw < 0) | (raw >= classes)) & (raw != ignore_index)]
        if bad.size:
            raise IndexError(f"Target {int(bad.flat[0])} is out of bounds.")


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
    reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """Cross entropy of unnormalised scores ``input`` against classes or class probabilities ``target``.

    Shapes: ``input`` (C), (N, C) or (N, C, d1, …); ``target`` classes without the C, or probabilities of ``input``'s shape.

    Raises:
        RuntimeError: ``label_smoothing`` is outside of [0, 1], or the shapes do not fit.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    dim = 0 if len(input._data.shape) == 1 else 1
    logp = log_softmax(input, dim)
    if tuple(input._data.shape) == tuple(target._data.shape):
        return _with_probabilities(logp, target, weight, reduction, label_smoothing, dim)
    loss = nll_loss(logp, target, weight, ignore_index=ignore_index, reduction=reduction)
    if not label_smoothing:
        return loss
    return _smoothed(logp, loss, target, weight, ignore_index, reduction, label_smoothing, dim)


def _weight_view(weight: Tensor, ndim: int, dim: int) -> Tensor:
    return weight.view(*[-1 if d == dim else 1 for d in range(ndim)])  # type: ignore[attr-defined]


def _with_probabilities(logp: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float, dim: int) -> Tensor:
    if target._data.dtype.kind not in "fV":
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {_scalar_name(target)}")
    if smoothing:
        target = target * (1 - smoothing) + smoothing / logp._data.shape[dim]
    loss = logp * target
    if weight is not None:
        loss = loss * _weight_view(weight, len(logp._data.shape), dim)
    loss = -loss.sum(dim)
    if reduction == "mean":
        count = 1 if not logp._data.shape[1:] else product(loss._data.shape)
        return loss.sum() / count
    return reduced(loss, reduction)


def _smoothed(
    logp: Tensor, loss: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, smoothing: float, dim: int
) -> Tensor:
    if weight is not None:
        smooth = -(logp * _weight_view(weight, len(logp._data.shape), dim)).sum(dim)
    else:
        smooth = -logp.sum(dim)  # type: ignore[attr-defined]
    kept = target != ignore_index
    smooth = smooth * kept.to(smooth.dtype)
    if reduction == "mean":
        if weight is None:
            smooth = smooth.sum() / kept.to(smooth.dtype).sum()
        else:
            safe = target * kept.to(target.dtype)  # type: ignore[operator]
            smooth = smooth.sum() / (weight[safe] * kept.to(weight.dtype)).sum()  # type: ignore[index]
    else:
        smooth = reduced(smooth, reduction)
    share = smoothing / logp._data.shape[dim]
    return loss * (1 - smoothing) + smooth * share
