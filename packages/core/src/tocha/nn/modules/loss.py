"""Losses as layers. Each computes the function of its name in ``tocha.nn.functional`` and keeps its arguments.

Their argument ``reduction`` is "mean", "sum" or "none"; ``size_average`` and ``reduce`` are PyTorch's old flags for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tocha._core.tensor import Tensor
from tocha.nn import functional as F
from tocha.nn.functional._checks import legacy_reduction

from .distance import PairwiseDistance
from .module import Module

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "MarginRankingLoss", "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "NLLLoss2d", "PoissonNLLLoss", "SmoothL1Loss",
    "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]  # fmt: skip


class _Loss(Module):
    """What the losses share: the reduction."""

    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = legacy_reduction(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    """A loss with a weight for each class or element: a buffer."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


# ---------------------------------------------------------------- regression


class L1Loss(_Loss):
    """The absolute difference.

    >>> import tocha
    >>> tocha.nn.L1Loss()(tocha.tensor([1.0, 2.0]), tocha.tensor([1.0, 4.0]))
    tensor(1.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The squared difference.

    >>> import tocha
    >>> tocha.nn.MSELoss()(tocha.tensor([1.0, 2.0]), tocha.tensor([1.0, 4.0]))
    tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, None, None, self.reduction)


class SmoothL1Loss(_Loss):
    """Squared below a difference of ``beta``, absolute above (https://arxiv.org/abs/1504.08083).

    >>> import tocha
    >>> tocha.nn.SmoothL1Loss()(tocha.tensor([1.0, 2.0]), tocha.tensor([1.0, 4.0]))
    tensor(0.7500)
    """

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean", beta: float = 1.0
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Squared below a difference of ``delta``, linear above (https://doi.org/10.1214/aoms/1177703732).

    >>> import tocha
    >>> tocha.nn.HuberLoss()(tocha.tensor([1.0, 2.0]), tocha.tensor([1.0, 4.0]))
    tensor(0.7500)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


# ---------------------------------------------------------------- likelihoods and distributions


class PoissonNLLLoss(_Loss):
    """The negative log-likelihood of counts under Poisson distributions; see ``functional.poisson_nll_loss``.

    >>> import tocha
    >>> tocha.nn.PoissonNLLLoss()(tocha.zeros(2), tocha.tensor([1.0, 3.0]))
    tensor(1.)
    """

    def __init__(
        self, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-8,
        reduce: bool | None = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """The negative log-likelihood under normal distributions; see ``functional.gaussian_nll_loss``.

    >>> import tocha
    >>> tocha.nn.GaussianNLLLoss()(tocha.zeros(2), tocha.ones(2), tocha.ones(2))
    tensor(0.5000)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class KLDivLoss(_Loss):
    """The divergence of Kullback and Leibler; see ``functional.kl_div``.

    >>> import tocha
    >>> x = tocha.tensor([[0.5, 0.5]]).log()
    >>> tocha.nn.KLDivLoss(reduction="batchmean")(x, tocha.tensor([[0.9, 0.1]]))
    tensor(0.3681)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(_WeightedLoss):
    """Binary cross entropy of probabilities; ``weight`` multiplies each element's loss.

    >>> import tocha
    >>> tocha.nn.BCELoss()(tocha.tensor([0.5, 0.9]), tocha.tensor([0.0, 1.0]))
    tensor(0.3993)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """Binary cross entropy of scores, computed without overflow.

    Args:
        weight: multiplies each element's loss.
        pos_weight: multiplies the loss of positive targets.

    >>> import tocha
    >>> tocha.nn.BCEWithLogitsLoss()(tocha.tensor([0.0, 2.0]), tocha.tensor([0.0, 1.0]))
    tensor(0.4100)
    """

    pos_weight: Tensor | None

    def __init__(
        self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None,
        reduction: str = "mean", pos_weight: Tensor | None = None,
    ) -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


# ---------------------------------------------------------------- classes


class NLLLoss(_WeightedLoss):
    """The negative log-likelihood of classes under log-probabilities; see ``functional.nll_loss``.

    Args:
        weight: (C), the weight of each class.
        ignore_index: a target that counts for nothing.

    >>> import tocha
    >>> tocha.nn.NLLLoss()(tocha.tensor([[0.5, 0.5]]).log(), tocha.tensor([0]))
    tensor(0.6931)
    """

    def __init__(
        self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
        reduce: bool | None = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """``NLLLoss`` under its old name for images."""


class CrossEntropyLoss(_WeightedLoss):
    """Cross entropy of scores against classes or class probabilities; see ``functional.cross_entropy``.

    Args:
        weight: (C), the weight of each class.
        ignore_index: a target class that counts for nothing.
        label_smoothing: the share of a uniform distribution in the target.

    >>> import tocha
    >>> loss = tocha.nn.CrossEntropyLoss()
    >>> loss(tocha.tensor([[2.0, 0.0], [0.0, 2.0]]), tocha.tensor([0, 0]))
    tensor(1.1269)
    """

    def __init__(
        self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
        reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class MultiMarginLoss(_WeightedLoss):
    """A margin between the score of the target class and the others; see ``functional.multi_margin_loss``.

    Raises:
        ValueError: ``p`` is neither 1 nor 2, or ``weight`` is not 1-d.

    >>> import tocha
    >>> tocha.nn.MultiMarginLoss()(tocha.tensor([[0.1, 0.2, 0.4, 0.8]]), tocha.tensor([3]))
    tensor(0.3250)
    """

    def __init__(
        self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None,
        reduce: bool | None = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        if p != 1 and p != 2:
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.ndim != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.ndim}D instead")
        self.p, self.margin = p, margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class MultiLabelMarginLoss(_Loss):
    """A margin between the scores of several target classes and the others; see ``functional.multilabel_margin_loss``.

    >>> import tocha
    >>> x, y = tocha.tensor([[0.1, 0.2, 0.4, 0.8]]), tocha.tensor([[3, 0, -1, 1]])
    >>> tocha.nn.MultiLabelMarginLoss()(x, y)
    tensor(0.8500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Binary cross entropy of scores averaged over the classes; see ``functional.multilabel_soft_margin_loss``.

    >>> import tocha
    >>> tocha.nn.MultiLabelSoftMarginLoss()(tocha.zeros(1, 2), tocha.tensor([[0.0, 1.0]]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-t * x))`` for targets of 1 and -1.

    >>> import tocha
    >>> tocha.nn.SoftMarginLoss()(tocha.tensor([0.0, 2.0]), tocha.tensor([1.0, -1.0]))
    tensor(1.4100)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


# ---------------------------------------------------------------- similarity and rank


class HingeEmbeddingLoss(_Loss):
    """The distance of similar pairs, and what dissimilar ones lack of a margin; see
    ``functional.hinge_embedding_loss``.

    >>> import tocha
    >>> tocha.nn.HingeEmbeddingLoss()(tocha.tensor([0.5, 0.2]), tocha.tensor([1.0, -1.0]))
    tensor(0.6500)
    """

    def __init__(
        self, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    """Cosine similarity of pairs pushed to 1 or below a margin; see ``functional.cosine_embedding_loss``.

    >>> import tocha
    >>> tocha.nn.CosineEmbeddingLoss()(tocha.ones(1, 2), tocha.ones(1, 2), tocha.tensor([1.0])).item() < 1e-6
    True
    """

    def __init__(
        self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """The first input above the second (target 1) or below it (-1), by a margin.

    >>> import tocha
    >>> tocha.nn.MarginRankingLoss()(tocha.tensor([1.0]), tocha.tensor([3.0]), tocha.tensor([1.0]))
    tensor(2.)
    """

    def __init__(
        self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """An anchor nearer to a positive than to a negative example, by a margin; see ``functional.triplet_margin_loss``.

    Raises:
        ValueError: ``margin`` is not positive.

    >>> import tocha
    >>> anchor = tocha.zeros(1, 2)
    >>> tocha.nn.TripletMarginLoss()(anchor, anchor, anchor + 3).item()
    0.0
    """

    def __init__(
        self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False,
        size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """``TripletMarginLoss`` with a distance of the user's (default: ``PairwiseDistance``).

    Raises:
        ValueError: ``margin`` is not positive.

    >>> import tocha
    >>> loss = tocha.nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().sum(-1))
    >>> loss(tocha.zeros(1, 2), tocha.zeros(1, 2), tocha.ones(1, 2))
    tensor(0.)
    """

    def __init__(
        self, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0,
        swap: bool = False, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(None, None, reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.distance_function: Any = distance_function if distance_function is not None else PairwiseDistance()
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap,
            reduction=self.reduction,
        )  # fmt: skip


# ---------------------------------------------------------------- sequences


class CTCLoss(_Loss):
    """Connectionist temporal classification; see ``functional.ctc_loss``.

    Args:
        blank: the class of the blank.
        zero_infinity: infinite losses, of inputs too short for their targets, count as 0.

    Source: https://www.cs.toronto.edu/~graves/icml_2006.pdf

    >>> import tocha
    >>> logp = tocha.zeros(3, 1, 4).log_softmax(2)
    >>> tocha.nn.CTCLoss()(logp, tocha.tensor([[1, 2]]), (3,), (2,))
    tensor(1.2747)
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )
