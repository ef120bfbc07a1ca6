"""Functions of the ``torch`` namespace beside those of ``nn.functional``, with arguments in another order.

A reduction is a number here: 0 none (the default, as PyTorch's bindings have it), 1 mean, 2 sum.
"""

from __future__ import annotations

from typing import Any

from .._core.tensor import Tensor

__all__ = ["binary_cross_entropy_with_logits", "cosine_embedding_loss", "ctc_loss", "embedding", "embedding_bag",
           "hinge_embedding_loss",
           "kl_div", "margin_ranking_loss", "poisson_nll_loss", "rrelu", "rrelu_", "slice_copy", "triplet_margin_loss",
           "vander"]  # fmt: skip

_REDUCTIONS = ("none", "mean", "sum")


def _functional() -> Any:
    from ..nn import functional

    return functional


def _name(reduction: int) -> str:
    if reduction not in (0, 1, 2):
        raise ValueError(f"{reduction} is not a valid value for reduction: 0 is none, 1 mean, 2 sum")
    return _REDUCTIONS[reduction]


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """Rows of ``weight`` (V, D) for ``indices`` (*): (*, D). See ``nn.functional.embedding``; -1 is no padding row."""
    return _functional().embedding(
        indices, weight, None if padding_idx < 0 else padding_idx, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse
    )


def embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0,
    sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Bags of rows of ``weight`` (mode 0 sum, 1 mean, 2 max), with the bag of each index, and the size of each bag.

    Returns ``(output, offset2bag, bag_size, max_indices)``; the last is empty, as nothing needs it here.
    """
    import tocha

    if not 0 <= mode <= 2:
        raise ValueError(f"embedding_bag: mode has to be 0 (sum), 1 (mean) or 2 (max), got {mode}")
    kind = ("sum", "mean", "max")[mode]
    output = _functional().embedding_bag(
        indices, weight, offsets, scale_grad_by_freq=scale_grad_by_freq, mode=kind, sparse=sparse,
        per_sample_weights=per_sample_weights, include_last_offset=include_last_offset, padding_idx=padding_idx,
    )  # fmt: skip
    ends = tocha.cat([offsets[1:], offsets.new_tensor([len(indices)])]) if not include_last_offset else offsets[1:]
    sizes = ends - offsets[: len(ends)]
    bags = tocha.repeat_interleave(tocha.arange(len(sizes), dtype=indices.dtype), sizes)
    return output, bags, sizes, indices.new_empty(0)


def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """See ``nn.functional.kl_div``."""
    import warnings

    with warnings.catch_warnings():  # "mean" is what was asked for
        warnings.simplefilter("ignore", UserWarning)
        return _functional().kl_div(input, target, reduction=_name(reduction), log_target=log_target)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0
) -> Tensor:
    """See ``nn.functional.binary_cross_entropy_with_logits``."""
    return _functional().binary_cross_entropy_with_logits(
        input, target, weight, reduction=_name(reduction), pos_weight=pos_weight
    )


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """See ``nn.functional.poisson_nll_loss``."""
    return _functional().poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_name(reduction))


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """See ``nn.functional.margin_ranking_loss``."""
    return _functional().margin_ranking_loss(input1, input2, target, margin, reduction=_name(reduction))


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """See ``nn.functional.hinge_embedding_loss``."""
    return _functional().hinge_embedding_loss(input, target, margin, reduction=_name(reduction))


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """See ``nn.functional.cosine_embedding_loss``."""
    return _functional().cosine_embedding_loss(input1, input2, target, margin, reduction=_name(reduction))


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6,
    swap: bool = False, reduction: int = 0,
) -> Tensor:  # fmt: skip
    """See ``nn.functional.triplet_margin_loss``."""
    return _functional().triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=_name(reduction)
    )


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """See ``nn.functional.ctc_loss``."""
    return _functional().ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _name(reduction), zero_infinity
    )


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """See ``nn.functional.rrelu``."""
    return _functional().rrelu(input, lower, upper, training)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """``rrelu`` in place."""
    return _functional().rrelu(input, lower, upper, training, inplace=True)


def slice_copy(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """A copy of the slice ``start:end:step`` along ``dim``."""
    from .dims import wrap_dim

    d = wrap_dim(dim, input.ndim)
    return input[(slice(None),) * d + (slice(start, end, step),)].clone()


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The Vandermonde matrix of a vector: powers N - 1 … 0 of each element in the columns (``increasing``: 0 … N - 1).

    Raises:
        RuntimeError: ``x`` is no vector, or N is negative.

    Example:
        >>> import tocha
        >>> tocha.vander(tocha.tensor([1, 2]), 3)
        tensor([[1, 1, 1],
                [4, 2, 1]])
    """
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = len(x) if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    from ..linalg import vander as powers

    if n < 2:
        return x.new_ones((len(x), n))
    columns = powers(x, n)
    return columns if increasing else columns.flip(1)
