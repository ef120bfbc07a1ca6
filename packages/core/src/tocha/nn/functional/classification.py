"""Losses of class scores: negative log-likelihood, cross entropy, margins between classes."""

from __future__ import annotations

from typing import Any

import numpy as np

import tocha
from tocha._core.broadcast import operators, same_shape
from tocha._core.templates import scalar_type_name
from tocha._core.tensor import Tensor
from tocha._ops.activation import logsigmoid_op, not_implemented
from tocha._ops.dims import product
from tocha._ops.nll import cross_entropy_op, nll_op
from tocha._ops.softmax import log_softmax

from ._checks import REDUCTIONS, cast, check_reduction, legacy_reduction, reduced

__all__ = ["cross_entropy", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss"]

ndarray = np.ndarray


def _check_weight(weight: Tensor, input: Tensor, classes: Any, prefix: str = "") -> None:
    if tuple(weight._data.shape) != (classes,):
        raise RuntimeError(
            f"{prefix}weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {list(weight._data.shape)}"
        )
    if weight._data.dtype != input._data.dtype:
        names = [scalar_type_name(t._data.dtype) for t in (input, weight)]
        raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")


def _check_shapes(shape: tuple, wanted: tuple) -> None:
    if not shape:
        raise ValueError(f"Expected 1 or more dimensions (got {len(shape)})")
    if len(shape) == 1:
        if len(wanted) > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if wanted and not wanted[0] == 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {wanted[0]}")
        return
    if wanted and not shape[0] == wanted[0]:
        raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({wanted[0]}).")
    if len(shape) == 2:
        if len(wanted) != 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    elif len(shape) == 4:
        if len(wanted) != 3:
            raise RuntimeError(
                f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {len(wanted)}"
            )
        if not same_shape(shape[2:], wanted[1:]):
            raise RuntimeError(f"size mismatch (got input: {list(shape)} , target: {list(wanted)}")
    elif not same_shape((shape[0], *shape[2:]), wanted):
        raise RuntimeError(f"Expected target size {[shape[0], *shape[2:]]}, got {list(wanted)}")


def _check_classes(target: Tensor, classes: Any, ignore_index: int) -> None:
    raw = target._data
    if type(raw) is not ndarray or not raw.size:
        return
    # as unsigned numbers the negative ones are large
    if raw.dtype == np.int64 and raw.view(np.uint64).max() < classes:
        return
    wrong = raw[((raw < 0) | (raw >= classes)) & (raw != ignore_index)]
    if wrong.size:
        raise IndexError(f"Target {int(wrong.flat[0])} is out of bounds.")


def _check_indices(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> Any:
    """Check class indices against scores; returns the number of classes."""
    shape, wanted = input._data.shape, target._data.shape
    if len(shape) != 2 or len(wanted) != 1 or not (shape[0] is wanted[0] or shape[0] == wanted[0]):
        _check_shapes(tuple(shape), tuple(wanted))
    kind = target._data.dtype
    if not (kind == np.int64 or kind == np.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {scalar_type_name(kind)}")
    classes = shape[0] if len(shape) == 1 else shape[1]
    if weight is not None:
        _check_weight(weight, input, classes)
    _check_classes(target, classes, ignore_index)
    return classes


def _by_rows(
    op: Any, input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str
) -> Tensor:
    """Run ``op``, which wants scores (M, C) and classes (M,), for any number of dimensions."""
    shape, wanted = input._data.shape, target._data.shape
    if len(shape) == 2:
        return op(input, target, weight, ignore_index, reduction)
    view = operators["view"]
    if len(shape) == 1:
        rows, labels = view(input, (1, shape[0])), view(target, (1,))
        wanted = ()
    else:
        rows = view(operators["permute"](input, (0, *range(2, len(shape)), 1)), (product(wanted), shape[1]))
        labels = view(target, (product(wanted),))
    loss = op(rows, labels, weight, ignore_index, reduction)
    return view(loss, tuple(wanted)) if reduction == "none" else loss


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The negative log-likelihood of ``target`` classes under log-probabilities ``input``.

    Args:
        input: (C), (N, C) or (N, C, d1, …).
        target: classes of [0, C), int64, of ``input``'s shape without the C.
        weight: (C), the weight of each class; a mean is weighted by it.
        ignore_index: a target that counts for nothing.

    Raises:
        IndexError: a class is outside of [0, C).
        ValueError, RuntimeError: the shapes or dtypes do not fit.

    Example:
        >>> import tocha
        >>> logp = tocha.tensor([[0.5, 0.5], [0.2, 0.8]]).log()
        >>> tocha.nn.functional.nll_loss(logp, tocha.tensor([0, 1]))
        tensor(0.4581)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    _check_indices(input, target, weight, ignore_index)
    if input._data.dtype.kind not in "fV":
        raise not_implemented("nll_loss_out_frame", input._data.dtype)
    return _by_rows(nll_op, input, target, weight, ignore_index, reduction)


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """Cross entropy of unnormalised scores ``input`` against classes, or class probabilities, ``target``.

    Args:
        input: (C), (N, C) or (N, C, d1, …).
        target: classes without the C, int64; or probabilities of ``input``'s shape.
        weight: (C), the weight of each class; a mean over classes is weighted by it.
        ignore_index: a target class that counts for nothing.
        label_smoothing: the share of a uniform distribution in the target (https://arxiv.org/abs/1512.00567).

    Raises:
        IndexError: a class is outside of [0, C).
        ValueError, RuntimeError: the shapes or dtypes do not fit, or ``label_smoothing`` is outside of [0, 1].

    Example:
        >>> import tocha
        >>> tocha.nn.functional.cross_entropy(tocha.tensor([[2.0, 0.0], [0.0, 2.0]]), tocha.tensor([0, 0]))
        tensor(1.1269)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction not in REDUCTIONS:
        check_reduction(reduction)
    x, t = input._data, target._data
    if same_shape(x.shape, t.shape):
        return _with_probabilities(input, target, weight, ignore_index, reduction, label_smoothing)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if x.dtype.kind not in "fV":
        raise not_implemented("log_softmax_lastdim_kernel_impl", x.dtype)
    _check_indices(input, target, weight, ignore_index)
    if not label_smoothing:
        return _by_rows(cross_entropy_op, input, target, weight, ignore_index, reduction)
    dim = 0 if len(x.shape) == 1 else 1
    logp = log_softmax(input, dim)
    loss = _by_rows(nll_op, logp, target, weight, ignore_index, reduction)
    return _smoothed(logp, loss, target, weight, ignore_index, reduction, label_smoothing, dim)


def _weight_view(weight: Tensor, ndim: int, dim: int) -> Tensor:
    return weight.view(*[-1 if d == dim else 1 for d in range(ndim)])


def _with_probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, smoothing: float
) -> Tensor:
    if target._data.dtype.kind not in "fV":
        raise RuntimeError(
            "Expected floating point type for target with class probabilities, got "
            f"{scalar_type_name(target._data.dtype)}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    if not 0.0 <= smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {smoothing:g}")
    shape = input._data.shape
    dim = 0 if len(shape) <= 1 else 1
    logp: Any = log_softmax(input, dim)
    classes = shape[dim] if shape else 1
    if weight is not None:
        _check_weight(weight, input, classes, "cross_entropy: ")
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    loss = logp * target
    if weight is not None:
        loss = loss * _weight_view(weight, len(shape), dim)
    if reduction == "mean":
        count = product(shape) / classes if classes else 0
        return -(loss.sum() / count)
    return -loss.sum() if reduction == "sum" else -loss.sum(dim)


def _smoothed(
    logp: Any, loss: Any, target: Any, weight: Any, ignore_index: int, reduction: str, smoothing: float, dim: int
) -> Tensor:
    """The loss of classes mixed with that of a uniform distribution."""
    ndim, dtype = len(logp._data.shape), logp._data.dtype
    smooth = -(logp if weight is None else logp * _weight_view(weight, ndim, dim)).sum(dim)
    kept = cast(target != ignore_index, dtype)
    if not target._data.shape or len(target._data.shape) != len(smooth._data.shape):
        kept = kept.view(smooth.shape)
    smooth = smooth * kept
    if reduction == "mean":
        if weight is None:
            total = kept.sum()
        else:
            total = (weight[target * cast(target != ignore_index, target._data.dtype)].view(kept.shape) * kept).sum()
        smooth = smooth.sum() / total
    else:
        smooth = reduced(smooth, reduction)
    return loss * (1 - smoothing) + smooth * (smoothing / logp._data.shape[dim])


# ---------------------------------------------------------------- margins


def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``sum over i of max(0, margin - x[t] + x[i])**p / C``, without ``i = t``.

    Args:
        input: scores (N, C) or (C).
        target: classes (N) or (), int64.
        p: 1 or 2.
        weight: (C), the weight of each class.

    Raises:
        ValueError: ``p`` is neither 1 nor 2, or an unknown ``reduction``.
        RuntimeError: the shapes do not fit, or a class is outside of [0, C).

    Example:
        >>> import tocha
        >>> tocha.nn.functional.multi_margin_loss(tocha.tensor([[0.1, 0.2, 0.4, 0.8]]), tocha.tensor([3]))
        tensor(0.3250)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and len(weight._data.shape) != 1:
        raise ValueError("weight must be one-dimensional")
    x, y, rows = _matrix(input, target)
    classes = x._data.shape[1]
    if len(y._data.shape) > 1 or y._data.size != rows:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{rows}], but got {list(y._data.shape)}. Input has shape "
            f"{list(input._data.shape)}."
        )
    if weight is not None and tuple(weight._data.shape) != (classes,):
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight._data.shape)}")
    if x._data.dtype.kind not in "fV":
        raise not_implemented("multi_margin_loss_cpu_kernel", x._data.dtype)
    labels: Any = y.view(rows)
    if (
        type(labels._data) is ndarray
        and labels._data.size
        and not 0 <= labels._data.min() <= labels._data.max() < classes
    ):
        raise RuntimeError("target out of range")
    index = tocha.arange(rows, device=x.device)
    others = labels.unsqueeze(1) != tocha.arange(classes, device=x.device)
    z = (x - x[index, labels].unsqueeze(1) + margin).clamp(min=0.0)
    if p == 2:
        z = z * z
    if weight is not None:
        z = z * weight[labels].unsqueeze(1)
    loss = (z * cast(others, x._data.dtype)).sum(1) / classes
    if reduction == "none" and len(input._data.shape) < 2:
        loss = loss.view(())
    return reduced(loss, reduction)


def _matrix(input: Tensor, target: Tensor) -> tuple[Any, Any, Any]:
    """Scores as (N, C), the target, and N."""
    shape = input._data.shape
    if len(shape) > 2 or (len(shape) and shape[-1] == 0):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(shape)}"
        )
    if len(shape) == 2:
        return input, target, shape[0]
    return input.view(1, -1), target, 1


def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """``sum of max(0, 1 - (x[t] - x[i])) / C`` over the target classes t and the other classes i.

    Args:
        input: scores (N, C) or (C).
        target: classes in ``input``'s shape, int64, each row ended by -1 where it has fewer than C.

    Raises:
        ValueError: an unknown ``reduction``.
        RuntimeError: the shapes do not fit, or a class is outside of [-1, C).

    Example:
        >>> import tocha
        >>> x, y = tocha.tensor([[0.1, 0.2, 0.4, 0.8]]), tocha.tensor([[3, 0, -1, 1]])
        >>> tocha.nn.functional.multilabel_margin_loss(x, y)
        tensor(0.8500)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    if target._data.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {scalar_type_name(target._data.dtype)}")
    x, _, rows = _matrix(input, target)
    if not same_shape(input._data.shape, target._data.shape):
        raise RuntimeError(
            f"inconsistent target size: {list(target._data.shape)} for input of size: {list(input._data.shape)}"
        )
    classes = x._data.shape[1]
    y: Any = target.view(rows, classes)
    if type(y._data) is ndarray and y._data.size and not -1 <= y._data.min() <= y._data.max() < classes:
        raise RuntimeError("argument #2 'target' is out of range")
    dtype = x._data.dtype
    present = ((y < 0).cumsum(1) == 0).to(tocha.int64)  # what comes before the first -1
    wanted = cast(present, dtype)
    safe = y * present
    is_target = tocha.zeros_like(x).scatter_add(1, safe, wanted) > 0
    picked = x.gather(1, safe)
    z = (x.unsqueeze(1) - picked.unsqueeze(2) + 1).clamp(min=0.0)
    z = z * wanted.unsqueeze(2) * cast(~is_target, dtype).unsqueeze(1)
    loss = z.sum((1, 2)) / classes
    if reduction == "none" and len(input._data.shape) < 2:
        loss = loss.view(())
    return reduced(loss, reduction)


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Binary cross entropy of scores (N, C) against labels (N, C) of 0 and 1, averaged over the classes.

    Raises:
        ValueError: an unknown ``reduction``.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.multilabel_soft_margin_loss(tocha.zeros(1, 2), tocha.tensor([[0.0, 1.0]]))
        tensor(0.6931)
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    loss: Any = -(target * logsigmoid_op(input) + (1 - target) * logsigmoid_op(-input))
    if weight is not None:
        loss = loss * weight
    loss = loss.sum(-1) / input._data.shape[-1]
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")
    return reduced(loss, reduction)
