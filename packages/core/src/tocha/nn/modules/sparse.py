"""Tables of learned vectors."""

from __future__ import annotations

from typing import Any

import tocha
from tocha._core.tensor import Tensor
from tocha.nn import functional as F
from tocha.nn import init
from tocha.nn.parameter import Parameter

from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """What both share: the weight and its first values."""

    weight: Parameter
    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None

    def _configure(self, rows: int, columns: int, padding_idx: int | None, message: str) -> None:
        self.num_embeddings, self.embedding_dim = rows, columns
        if padding_idx is not None:
            if not -rows <= padding_idx < max(rows, 1):
                raise AssertionError(message)
            padding_idx = padding_idx % rows if padding_idx < 0 else padding_idx
        self.padding_idx = padding_idx

    def _make_weight(self, given: Tensor | None, freeze: bool, device: Any, dtype: Any) -> None:
        size = (self.num_embeddings, self.embedding_dim)
        if given is None:
            self.weight = Parameter(tocha.empty(size, device=device, dtype=dtype), requires_grad=not freeze)
            self.reset_parameters()
        else:
            if tuple(given.shape) != size:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(given, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draw the table from the standard normal distribution; the padding row is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with tocha.no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """A table of ``num_embeddings`` vectors of ``embedding_dim`` numbers, looked up by index.

    Args:
        padding_idx: a row that starts as 0 and gets no gradient.
        max_norm: rows that are looked up are first scaled to a norm of at most this.
        norm_type: the p of that norm.
        scale_grad_by_freq: divide each row's gradient by how often the batch has it.
        sparse: not supported: gradients are dense.

    Raises:
        AssertionError: ``padding_idx`` is outside of the table, or ``_weight`` of another shape.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Embedding.html

    >>> import tocha
    >>> layer = tocha.nn.Embedding(10, 3)
    >>> layer(tocha.tensor([[1, 2], [4, 3]])).shape
    tocha.Size([2, 2, 3])
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Tensor | None = None,
        _freeze: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._configure(num_embeddings, embedding_dim, padding_idx, "Padding_idx must be within num_embeddings")
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._make_weight(_weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        return text + (", sparse=True" if self.sparse is not False else "")

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
    ) -> Embedding:  # fmt: skip
        """A layer around the table ``embeddings`` (V, D), which is not trained where ``freeze``.

        >>> import tocha
        >>> tocha.nn.Embedding.from_pretrained(tocha.eye(3))(tocha.tensor([1]))
        tensor([[0., 1., 0.]])
        """
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """Sums, means or maxima of rows of a table by bags of indices; see ``functional.embedding_bag``.

    Args:
        mode: "sum", "mean" or "max".
        include_last_offset: offsets have one more element, the end of the last bag.
        padding_idx: a row that counts for nothing.
        max_norm, norm_type, scale_grad_by_freq, sparse: as in ``Embedding``.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.EmbeddingBag.html

    >>> import tocha
    >>> layer = tocha.nn.EmbeddingBag(10, 3, mode="sum")
    >>> layer(tocha.tensor([1, 2, 4, 5]), tocha.tensor([0, 3])).shape
    tocha.Size([2, 3])
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Tensor | None = None,
        include_last_offset: bool = False, padding_idx: int | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._configure(num_embeddings, embedding_dim, padding_idx, "padding_idx must be within num_embeddings")
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self._make_weight(_weight, False, device, dtype)
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
            per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm!r}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type!r}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq!r}"
        text += f", mode={self.mode!r}"
        return text + (f", padding_idx={self.padding_idx!r}" if self.padding_idx is not None else "")

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:  # fmt: skip
        """A layer around the table ``embeddings`` (V, D), which is not trained where ``freeze``.

        >>> import tocha
        >>> layer = tocha.nn.EmbeddingBag.from_pretrained(tocha.tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> layer(tocha.tensor([[1, 0]]))
        tensor([[2., 3.]])
        """
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        layer = cls(
            rows,
            columns,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        layer.weight.requires_grad_(not freeze)
        return layer
