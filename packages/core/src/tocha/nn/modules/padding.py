"""Padding layers."""

from __future__ import annotations

from typing import Any

from tocha._core.tensor import Tensor
from tocha.nn import functional as F

from ._sizes import ntuple
from .module import Module

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
    "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _Pad(Module):
    """``padding``: a number for all sides, or ``(low, high)`` of the last dimension, then of the one before …"""

    nd: int
    mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = ntuple(padding, 2 * self.nd)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPad(_Pad):
    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (self.nd + 1, self.nd + 2):
            raise ValueError(f"expected {self.nd + 1}D or {self.nd + 2}D input (got {input.dim()}D input)")
        return F.pad(input, self.padding, self.mode)


class CircularPad1d(_CircularPad):
    """The other end around ``(N, C, L)`` or ``(C, L)``. See :func:`tocha.nn.functional.pad`."""

    nd = 1


class CircularPad2d(_CircularPad):
    """The other end around ``(N, C, H, W)`` or ``(C, H, W)``. See :func:`tocha.nn.functional.pad`."""

    nd = 2


class CircularPad3d(_CircularPad):
    """The other end around ``(N, C, D, H, W)`` or ``(C, D, H, W)``. See :func:`tocha.nn.functional.pad`."""

    nd = 3


class _ConstantPad(_Pad):
    mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """``value`` around the last dimension.

    >>> import tocha
    >>> tocha.nn.ConstantPad1d((1, 0), 9.0)(tocha.ones(1, 2)).tolist()
    [[9.0, 1.0, 1.0]]
    """

    nd = 1


class ConstantPad2d(_ConstantPad):
    """``value`` around the last two dimensions. See :class:`ConstantPad1d`."""

    nd = 2


class ConstantPad3d(_ConstantPad):
    """``value`` around the last three dimensions. See :class:`ConstantPad1d`."""

    nd = 3


class _ReflectionPad(_Pad):
    mode = "reflect"


class ReflectionPad1d(_ReflectionPad):
    """The mirror image around ``(N, C, L)`` or ``(C, L)``, without the edge. See :func:`tocha.nn.functional.pad`."""

    nd = 1


class ReflectionPad2d(_ReflectionPad):
    """The mirror image around ``(N, C, H, W)`` or ``(C, H, W)``, without the edge. See
    :func:`tocha.nn.functional.pad`."""

    nd = 2


class ReflectionPad3d(_ReflectionPad):
    """The mirror image around ``(N, C, D, H, W)`` or ``(C, D, H, W)``, without the edge. See
    :func:`tocha.nn.functional.pad`."""

    nd = 3


class _ReplicationPad(_Pad):
    mode = "replicate"


class ReplicationPad1d(_ReplicationPad):
    """The edge repeated around ``(N, C, L)`` or ``(C, L)``. See :func:`tocha.nn.functional.pad`."""

    nd = 1


class ReplicationPad2d(_ReplicationPad):
    """The edge repeated around ``(N, C, H, W)`` or ``(C, H, W)``. See :func:`tocha.nn.functional.pad`."""

    nd = 2


class ReplicationPad3d(_ReplicationPad):
    """The edge repeated around ``(N, C, D, H, W)`` or ``(C, D, H, W)``. See :func:`tocha.nn.functional.pad`."""

    nd = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad):
    """Zeros around the last dimension. See :class:`ConstantPad1d`."""

    nd = 1


class ZeroPad2d(_ZeroPad):
    """Zeros around the last two dimensions. See :class:`ConstantPad1d`."""

    nd = 2


class ZeroPad3d(_ZeroPad):
    """Zeros around the last three dimensions. See :class:`ConstantPad1d`."""

    nd = 3
