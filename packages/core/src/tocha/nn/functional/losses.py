"""Losses of an input against a target of its shape: regression, probabilities, likelihoods."""

from __future__ import annotations

import math
import warnings
from typing import Any

import tocha
from tocha._core.broadcast import broadcast_shapes, same_shape
from tocha._core.record import ABSTRACT
from tocha._core.templates import scalar_type_name
from tocha._core.tensor import Tensor
from tocha._ops.activation import logsigmoid_op, not_implemented
from tocha._ops.distance import at_least
from tocha._ops.losses import bce_op, bce_with_logits_op, huber_op, mse_op, smooth_l1_op

from ._checks import REDUCTIONS, cast, check_reduction, legacy_reduction, paired, reduced, warn_of_sizes

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "gaussian_nll_loss", "huber_loss", "kl_div", "l1_loss",
    "mse_loss", "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss",
]  # fmt: skip

# ---------------------------------------------------------------- regression


def _weighed(loss: Tensor, weight: Tensor, input: Tensor, reduction: str, by_weight: bool) -> Tensor:
    """A loss of each element times its weight, reduced; a mean is over the weights where ``by_weight``."""
    if not same_shape(weight._data.shape, input._data.shape):
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    if reduction not in REDUCTIONS:
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    if reduction == "mean" and by_weight:
        return loss.sum() / weight.sum()
    return reduced(loss, reduction)


def mse_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The squared difference of each element, averaged, summed, or as it is.

    Args:
        reduction: "mean", "sum" or "none".
        weight: of ``input``'s shape; a mean is then weighted by it.

    Raises:
        ValueError: an unknown ``reduction``, or ``weight`` of another shape.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.mse_loss(tocha.tensor([1.0, 2.0]), tocha.tensor([1.0, 4.0]))
        tensor(2.)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    x, t = input._data, target._data
    if x.shape != t.shape or x.dtype is not t.dtype:
        if not same_shape(x.shape, t.shape):
            warn_of_sizes(input, target)
        input, target = paired(input, target)
    if weight is not None:
        return _weighed(mse_op(input, target, "none"), weight, input, reduction, True)
    if reduction not in REDUCTIONS:
        check_reduction(reduction)
    return mse_op(input, target, reduction)


def l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The absolute difference of each element, averaged, summed, or as it is; arguments as those of ``mse_loss``.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.l1_loss(tocha.tensor([1.0, 2.0]), tocha.tensor([1.0, 4.0]))
        tensor(1.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not same_shape(input._data.shape, target._data.shape):
        warn_of_sizes(input, target)
    loss = (input - target).abs()
    return reduced(loss, reduction) if weight is None else _weighed(loss, weight, input, reduction, True)


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", beta: float = 1.0,
) -> Tensor:  # fmt: skip
    """``0.5 * d**2 / beta`` where ``|d| < beta`` and ``|d| - 0.5 * beta`` elsewhere, for the difference ``d``.

    Raises:
        RuntimeError: ``beta`` is negative.
        ValueError: an unknown ``reduction``.

    Source: https://arxiv.org/abs/1504.08083

    Example:
        >>> import tocha
        >>> tocha.nn.functional.smooth_l1_loss(tocha.tensor([1.0, 2.0]), tocha.tensor([1.0, 4.0]))
        tensor(0.7500)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not same_shape(input._data.shape, target._data.shape):
        warn_of_sizes(input, target)
    check_reduction(reduction)
    if beta == 0:
        return reduced((input - target).abs(), reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return smooth_l1_op(*paired(input, target), reduction, float(beta))


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """``0.5 * d**2`` where ``|d| < delta`` and ``delta * (|d| - 0.5 * delta)`` elsewhere, for the difference ``d``.

    Raises:
        RuntimeError: ``delta`` is not positive.
        ValueError: an unknown ``reduction``, or ``weight`` of another shape than ``input``.

    Source: https://doi.org/10.1214/aoms/1177703732

    Example:
        >>> import tocha
        >>> tocha.nn.functional.huber_loss(tocha.tensor([1.0, 2.0]), tocha.tensor([1.0, 4.0]))
        tensor(0.7500)
    """
    if not same_shape(input._data.shape, target._data.shape):
        warn_of_sizes(input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is None:
        check_reduction(reduction)
    pair = paired(input, cast(target, input._data.dtype))
    if weight is not None:
        return _weighed(huber_op(*pair, "none", float(delta)), weight, input, reduction, False)
    return huber_op(*pair, reduction, float(delta))


# ---------------------------------------------------------------- binary


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``-(t * log(x) + (1 - t) * log(1 - x))`` for probabilities ``x``; logarithms are at least -100.

    Args:
        weight: broadcast to the shape of ``input``, multiplies each element's loss.

    Raises:
        ValueError: the shapes differ, or an unknown ``reduction``.
        RuntimeError: an element of ``input`` is outside of [0, 1], or the dtypes differ.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.binary_cross_entropy(tocha.tensor([0.5, 0.9]), tocha.tensor([0.0, 1.0]))
        tensor(0.3993)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    x, t = input._data, target._data
    if not same_shape(x.shape, t.shape):
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if x.dtype != t.dtype:
        raise RuntimeError(f"Found dtype {scalar_type_name(t.dtype)} but expected {scalar_type_name(x.dtype)}")
    if weight is None:
        return bce_op(input, target, reduction)
    weight = weight.expand(broadcast_shapes(t.shape, weight._data.shape))
    return reduced(bce_op(input, target, "none") * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """``binary_cross_entropy`` of ``sigmoid(input)``, computed without overflow.

    Args:
        weight: broadcast to the shape of ``input``, multiplies each element's loss.
        pos_weight: broadcast likewise, multiplies the loss of positive targets.

    Raises:
        ValueError: the shapes differ, or an unknown ``reduction``.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.binary_cross_entropy_with_logits(tocha.tensor([0.0, 2.0]), tocha.tensor([0.0, 1.0]))
        tensor(0.4100)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    x, t = input._data, target._data
    if not same_shape(x.shape, t.shape):
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    if x.dtype.kind not in "fV":
        raise not_implemented("log_sigmoid_cpu", x.dtype)
    if t.dtype.kind not in "fV":
        raise RuntimeError(f"result type Float can't be cast to the desired output type {scalar_type_name(t.dtype)}")
    input, target = paired(input, target)
    if weight is None and pos_weight is None:
        return bce_with_logits_op(input, target, reduction)
    if pos_weight is None:
        loss = bce_with_logits_op(input, target, "none")
    else:
        positive = (pos_weight - 1) * target + 1
        loss = (1 - target) * input - positive * logsigmoid_op(input)
    return reduced(loss if weight is None else loss * weight, reduction)


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """``log(1 + exp(-t * x))`` for targets ``t`` of 1 and -1.

    Raises:
        ValueError: an unknown ``reduction``.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.soft_margin_loss(tocha.tensor([0.0, 2.0]), tocha.tensor([1.0, -1.0]))
        tensor(1.4100)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    product: Any = input * target
    if product._data.dtype.kind in "biu":
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {scalar_type_name(product._data.dtype)}"
        )
    return reduced(-logsigmoid_op(product), reduction)


# ---------------------------------------------------------------- distributions


def kl_div(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", log_target: bool = False,
) -> Tensor:  # fmt: skip
    """The divergence of Kullback and Leibler, ``t * (log(t) - x)`` for log-probabilities ``x``.

    Args:
        reduction: "batchmean" divides the sum by the first size, as the definition wants it; "mean", "sum", "none".
        log_target: ``target`` holds log-probabilities too.

    Raises:
        ValueError: an unknown ``reduction``.

    Example:
        >>> import tocha
        >>> x = tocha.tensor([[0.5, 0.5]]).log()
        >>> tocha.nn.functional.kl_div(x, tocha.tensor([[0.9, 0.1]]), reduction="batchmean")
        tensor(0.3681)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    elif reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    by_batch = reduction == "batchmean"
    if by_batch:
        reduction = "sum"
    check_reduction(reduction)
    if log_target:
        loss = target.exp() * (target - input)
    else:
        loss = tocha.xlogy(target, target) - target * input
    result = reduced(loss, reduction)
    return result / input._data.shape[0] if by_batch and input._data.shape else result


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None,
    eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The negative log-likelihood of counts ``target`` under Poisson distributions of rates ``exp(input)``.

    Args:
        log_input: whether ``input`` is the logarithm of the rate or, where False, the rate.
        full: add Stirling's approximation of the constant term, for targets above 1.
        eps: added to the rate before its logarithm.

    Raises:
        ValueError: an unknown ``reduction``.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.poisson_nll_loss(tocha.zeros(2), tocha.tensor([1.0, 3.0]))
        tensor(1.)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    x: Any = input
    loss = x.exp() - target * x if log_input else x - target * (x + eps).log()
    if full:
        t: Any = target
        stirling = t * t.log() - t + (t * (2 * math.pi)).log() * 0.5
        loss = loss + tocha.where(t <= 1, tocha.zeros_like(stirling), stirling)
    return reduced(loss, reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """The negative log-likelihood of ``target`` under normal distributions of mean ``input`` and variance ``var``.

    Args:
        var: of ``input``'s shape, or with its last size 1 or missing, or a number; at least ``eps`` is used.
        full: add the constant ``0.5 * log(2π)``.

    Raises:
        ValueError: a negative variance, one of a wrong shape, or an unknown ``reduction``.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.gaussian_nll_loss(tocha.zeros(2), tocha.ones(2), tocha.ones(2))
        tensor(0.5000)
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * tocha.ones_like(input)
    elif type(var._data) not in ABSTRACT and bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    size, have = tuple(input._data.shape), tuple(var._data.shape)
    if have != size:
        if size[:-1] == have:
            var = var.unsqueeze(-1)
        elif len(size) != len(have) or sum([v for s, v in zip(size, have) if s != v]) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")
    variance: Any = at_least(var, eps)
    difference: Any = input - target
    loss = (variance.log() + difference * difference / variance) * 0.5
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)

