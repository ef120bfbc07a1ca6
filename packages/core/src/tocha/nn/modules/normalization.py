"""Layer, group, RMS and local response normalisation layers."""

from __future__ import annotations

from typing import Any

import tocha
from tocha._core.tensor import Tensor
from tocha.nn import functional as F
from tocha.nn import init
from tocha.nn.parameter import Parameter

from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class LayerNorm(Module):
    """Normalisation over the last dimensions.

    Args:
        normalized_shape: their sizes; a number is the last one.
        eps: added to the variance.
        elementwise_affine: whether there are ``weight`` and ``bias``, of ``normalized_shape``.
        bias: whether an affine layer has a ``bias``.

    Source: https://arxiv.org/abs/1607.06450 and https://docs.pytorch.org/docs/2.13/generated/torch.nn.LayerNorm.html

    >>> import tocha
    >>> tocha.nn.LayerNorm(4)(tocha.zeros(2, 3, 4)).shape
    tocha.Size([2, 3, 4])
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine

        def parameter() -> Parameter:
            return Parameter(tocha.empty(self.normalized_shape, device=device, dtype=dtype))

        self.register_parameter("weight", parameter() if elementwise_affine else None)
        self.register_parameter("bias", parameter() if elementwise_affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weights become 1, biases 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Division by the root of the mean square over the last dimensions.

    Args:
        normalized_shape: their sizes; a number is the last one.
        eps: added to the mean square; None: the spacing at 1 of the dtype.
        elementwise_affine: whether there is a ``weight``, of ``normalized_shape``.

    Source: https://arxiv.org/abs/1910.07467 and https://docs.pytorch.org/docs/2.13/generated/torch.nn.RMSNorm.html

    >>> import tocha
    >>> tocha.nn.RMSNorm(2, eps=0.0)(tocha.tensor([[3.0, 3.0]])).tolist()
    [[1.0, 1.0]]
    """

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = (
            Parameter(tocha.empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        )
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weights become 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalisation of ``(N, C, *)`` over groups of channels of each sample.

    Args:
        num_groups: how many groups the channels are cut into.
        num_channels: ``C``.
        eps: added to the variance.
        affine: whether there are ``weight`` and ``bias``, one number a channel.
        bias: whether an affine layer has a ``bias``.

    Raises:
        ValueError: the channels are not divisible by the groups.

    Source: https://arxiv.org/abs/1803.08494 and https://docs.pytorch.org/docs/2.13/generated/torch.nn.GroupNorm.html

    >>> import tocha
    >>> tocha.nn.GroupNorm(2, 6)(tocha.zeros(1, 6, 4)).shape
    tocha.Size([1, 6, 4])
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine

        def parameter() -> Parameter:
            return Parameter(tocha.empty(num_channels, device=device, dtype=dtype))

        self.register_parameter("weight", parameter() if affine else None)
        self.register_parameter("bias", parameter() if affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weights become 1, biases 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LocalResponseNorm(Module):
    """Each element over a power of the mean square of the ``size`` channels around its own.

    See :func:`tocha.nn.functional.local_response_norm`.

    >>> import tocha
    >>> tocha.nn.LocalResponseNorm(2)(tocha.zeros(1, 4, 3, 3)).shape
    tocha.Size([1, 4, 3, 3])
    """

    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """:class:`LocalResponseNorm` of ``(N, C, H, W)``, under the name of older models.

    Raises:
        ValueError: the input has another number of dimensions.
    """

    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        return super().forward(input)
