"""What the loss functions check and decide alike."""

from __future__ import annotations

import warnings
from typing import Any

from tocha._core.broadcast import broadcast_shapes, same_shape
from tocha._core.tensor import Tensor

REDUCTIONS = ("none", "mean", "sum")


def legacy_reduction(size_average: bool | None, reduce: bool | None, reduction: str, stacklevel: int = 4) -> str:
    """The reduction that the old flags ``size_average`` and ``reduce`` mean."""
    if size_average is None and reduce is None:
        return reduction
    result = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{result}' instead.",
        stacklevel=stacklevel,
    )
    return result


def check_reduction(reduction: str) -> None:
    """Raises ValueError where ``reduction`` is not "none", "mean" or "sum"."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """``loss`` by its reduction."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    check_reduction(reduction)
    return loss


def warn_of_sizes(input: Tensor, target: Tensor, stacklevel: int = 3) -> None:
    """PyTorch's warning where the sizes of a regression's input and target differ."""
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). "
        "This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=stacklevel,
    )


def paired(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """``input`` and ``target`` in their common dtype and shape."""
    from tocha._core.templates import common_dtype

    x, t = input._data, target._data
    if x.dtype is not t.dtype:
        dtype = common_dtype((input, target))
        input, target = cast(input, dtype), cast(target, dtype)
    if not same_shape(x.shape, t.shape):
        shape: Any = broadcast_shapes(x.shape, t.shape)
        input, target = input.expand(shape), target.expand(shape)
    return input, target


def cast(t: Tensor, dtype: Any) -> Tensor:
    """``t`` in the NumPy dtype ``dtype``."""
    from tocha._core.casting import cast as operator

    return t if t._data.dtype == dtype else operator(t, dtype)
