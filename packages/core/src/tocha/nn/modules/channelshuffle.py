"""The layer that mixes groups of channels."""

from __future__ import annotations

from tocha._core.tensor import Tensor
from tocha.nn import functional as F

from .module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """The channels of ``(N, C, *)`` taken from each of ``groups`` groups in turn. See :func:`tocha.channel_shuffle`.

    >>> import tocha
    >>> tocha.nn.ChannelShuffle(2)(tocha.arange(4.0).view(1, 4, 1)).flatten().tolist()
    [0.0, 2.0, 1.0, 3.0]
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
