"""Dropout layers: each drops while training and passes its input on in evaluation."""

from __future__ import annotations

from tocha._core.tensor import Tensor
from tocha.nn import functional as F

from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _Dropout(Module):
    """What the dropout layers share: the chance, and whether they overwrite their input.

    Raises:
        ValueError: ``p`` is outside of [0, 1].
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Zeros elements with chance ``p`` and scales the others by ``1 / (1 - p)``.

    Source: https://arxiv.org/abs/1207.0580

    >>> import tocha
    >>> layer = tocha.nn.Dropout(0.2)
    >>> layer
    Dropout(p=0.2, inplace=False)
    >>> layer.eval()(tocha.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace) if self.training else input


class Dropout1d(_Dropout):
    """Zeros whole channels of (N, C, L) or (C, L).

    >>> import tocha
    >>> tocha.nn.Dropout1d(0.2).eval()(tocha.ones(1, 2)).tolist()
    [[1.0, 1.0]]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """Zeros whole channels of (N, C, H, W) (https://arxiv.org/abs/1411.4280).

    >>> import tocha
    >>> tocha.nn.Dropout2d(0.2)(tocha.ones(1, 2, 3, 3)).shape
    tocha.Size([1, 2, 3, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """Zeros whole channels of (N, C, D, H, W) or (C, D, H, W).

    >>> import tocha
    >>> tocha.nn.Dropout3d(0.2)(tocha.ones(1, 2, 3, 3, 3)).shape
    tocha.Size([1, 2, 3, 3, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """Dropout that keeps mean and variance of self-normalizing networks (https://arxiv.org/abs/1706.02515).

    >>> import tocha
    >>> tocha.nn.AlphaDropout(0.2)(tocha.ones(2)).shape
    tocha.Size([2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_Dropout):
    """``AlphaDropout`` of whole channels of (N, C, *).

    >>> import tocha
    >>> tocha.nn.FeatureAlphaDropout(0.2)(tocha.ones(1, 2, 3, 3, 3)).shape
    tocha.Size([1, 2, 3, 3, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
