"""Losses of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

import tocha
from tocha._core import arrays
from tocha._core.tensor import Tensor, wrap
from tocha._ops.ctc import ctc_op

from ._checks import check_reduction

__all__ = ["ctc_loss"]

_WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"


def _lengths(lengths: Any, name: str) -> tuple[int, ...]:
    if isinstance(lengths, Tensor):
        raw = arrays.to_host(lengths._data)
        if raw.dtype.kind not in "iu":
            raise RuntimeError(f"{name} must be integral")
        return tuple(np.atleast_1d(raw).tolist())
    return tuple([int(n) for n in lengths])


def _padded(targets: np.ndarray, lengths: tuple[int, ...]) -> np.ndarray:
    """Targets (N, S) as wide as the longest; what lies behind a row's length does not count and is made 0."""
    width = max(lengths, default=0)
    if targets.ndim == 1:
        if targets.size != sum(lengths):
            raise RuntimeError(
                f"Expected tensor to have size {sum(lengths)} at dimension 0, but got size {targets.size} for argument "
                f"#2 'targets' {_WHERE}"
            )
        out = np.zeros((len(lengths), width), np.int64)
        inside = np.arange(width) < np.asarray(lengths)[:, None]
        out[inside] = targets
        return out
    if targets.ndim != 2:
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for argument #2 'targets' {_WHERE}"
        )
    if targets.shape[0] != len(lengths):
        raise RuntimeError(
            f"Expected tensor to have size {len(lengths)} at dimension 0, but got size {targets.shape[0]} for argument "
            f"#2 'targets' {_WHERE}"
        )
    if targets.shape[1] < width:
        raise RuntimeError(
            f"Expected tensor to have size at least {width} at dimension 1, but got size {targets.shape[1]} for "
            f"argument #2 'targets' {_WHERE}"
        )
    inside = np.arange(width) < np.asarray(lengths)[:, None]
    return np.where(inside, targets[:, :width], 0).astype(np.int64)


def _check_lengths(lengths: tuple[int, ...], name: str, count: int, most: Any = None) -> None:
    if len(lengths) != count:
        raise RuntimeError(f"{name} must be of size batch_size")
    for n in lengths:
        if n < 0:
            raise RuntimeError(f"Expected {name} to have value at least 0, but got value {n} {_WHERE}")
        if most is not None and n > most:
            raise RuntimeError(f"Expected {name} to have value at most {most}, but got value {n} {_WHERE}")


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """The negative log-likelihood of label sequences under all their alignments with the input.

    Args:
        log_probs: (T, N, C) or (T, C), log-probabilities (of ``log_softmax``: the gradient counts on it).
        targets: (N, S), or (S) for one sequence, or all targets one after the other (sum of lengths); no blanks.
        input_lengths, target_lengths: (N) tensors or sequences of ints.
        blank: the class of the blank.
        reduction: "mean" divides each loss by its target's length, then averages; "sum", "none".
        zero_infinity: infinite losses, of inputs too short for their targets, count as 0.

    Raises:
        RuntimeError: lengths, shapes or labels do not fit.
        ValueError: an unknown ``reduction``.

    Source: https://www.cs.toronto.edu/~graves/icml_2006.pdf

    Example:
        >>> import tocha
        >>> logp = tocha.zeros(3, 1, 4).log_softmax(2)
        >>> tocha.nn.functional.ctc_loss(logp, tocha.tensor([[1, 2]]), (3,), (2,))
        tensor(1.2747)
    """
    check_reduction(reduction)
    ndim = log_probs.ndim
    if ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {ndim}-dimensional tensor for argument #1 'log_probs' {_WHERE}"
        )
    batch: Any = log_probs if ndim == 3 else log_probs.unsqueeze(1)
    steps, count, classes = batch._data.shape
    inputs, wanted = _lengths(input_lengths, "input_lengths"), _lengths(target_lengths, "target_lengths")
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    _check_lengths(inputs, "input_lengths", count, steps)
    _check_lengths(wanted, "target_lengths", count)
    padded = _padded(arrays.to_host(targets._data), wanted)
    if padded.size and (padded.min() < 0 or padded.max() >= classes):
        raise RuntimeError(
            f"targets must be classes of [0, {classes}), but one is "
            f"{padded.min() if padded.min() < 0 else padded.max()}"
        )
    labels = wrap(padded if type(batch._data) is np.ndarray else arrays.to_device(padded, log_probs.device))
    loss: Any = ctc_op(batch, labels, inputs, wanted, blank, zero_infinity)
    if reduction == "mean":
        lengths = tocha.tensor([max(n, 1) for n in wanted], dtype=log_probs.dtype, device=log_probs.device)
        return (loss / lengths).mean()
    if reduction == "sum":
        return loss.sum()
    return loss if ndim == 3 else loss.squeeze(0)
