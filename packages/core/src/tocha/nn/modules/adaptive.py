"""Softmax over many classes, the rare ones in clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import tocha
from tocha._core.tensor import Tensor
from tocha.nn import functional as F

from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """An approximation of softmax for many classes of unlike frequency (https://arxiv.org/abs/1609.04309).

    Classes are sorted by frequency, the most frequent first. Those below the first cutoff are computed directly, the
    others in clusters between the cutoffs, each with a projection that is smaller the rarer its classes are.

    Args:
        in_features: the size of an input.
        n_classes: how many classes.
        cutoffs: where clusters start.
        div_value: by what the inner size of each next cluster is divided.
        head_bias: learn a bias of the first part.

    Raises:
        ValueError: ``cutoffs`` are not unique, increasing and between 1 and n_classes - 1.

    >>> import tocha
    >>> layer = tocha.nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs=[5, 10])
    >>> output, loss = layer(tocha.randn(3, 16), tocha.tensor([1, 7, 15]))
    >>> output.shape, loss.shape
    (tocha.Size([3]), tocha.Size([]))
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0, head_bias: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or cutoffs[0] <= 0
            or cutoffs[-1] > n_classes - 1
            or any([int(c) != c for c in cutoffs])
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        factory = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **factory)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            inner, size = int(in_features // div_value ** (i + 1)), self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, inner, bias=False, **factory), Linear(inner, size, bias=False, **factory)
                )
            )

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster:  # type: ignore[attr-defined]
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The log-probability (N) of each target class (N) for inputs (N, in_features), and the mean loss.

        Raises:
            RuntimeError: the shapes do not fit, or a class is outside of [0, n_classes).
        """
        batched = self._check(input_, target_)
        input: Any = input_ if batched else input_.unsqueeze(0)
        target: Any = target_ if batched else target_.unsqueeze(0)
        if target.numel() and not 0 <= int(target.min()) <= int(target.max()) < self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, "
                f"{target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(input), dim=1)
        in_head, within = target, tocha.zeros(target.shape, dtype=head.dtype, device=head.device)
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if not rows.numel():
                continue
            in_head = in_head.index_fill(0, rows, self.shortlist_size + i)
            logp: Any = F.log_softmax(self.tail[i](input[rows]), dim=1)
            within = within.index_put((rows,), logp.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1))
        output: Any = head.gather(1, in_head.unsqueeze(1)).squeeze(1) + within
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    @staticmethod
    def _check(input: Tensor, target: Tensor) -> bool:
        ndim = target.ndim
        if ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if ndim == 1 and input.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.ndim != ndim + 1:
            raise RuntimeError(
                f"{ndim}D target tensor expects {ndim + 1}D input tensors, but found inputs with size {input.shape}"
            )
        return ndim == 1

    def _full(self, input: Tensor, head_output: Tensor) -> Tensor:
        head: Any = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            parts.append(F.log_softmax(cluster(input), dim=1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return tocha.cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities (N, n_classes) of all classes for inputs (N, in_features)."""
        return self._full(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most likely class (N) for inputs (N, in_features); rare classes are computed only where they may be
        it."""
        head = self.head(input)
        result = head.argmax(1)
        rare = result >= self.shortlist_size
        if not rare.any():
            return result
        result[rare] = self._full(input[rare], head[rare]).argmax(1)
        return result
