"""Instance normalisation layers."""

from __future__ import annotations

import warnings
from typing import Any

from tocha._core.tensor import Tensor
from tocha.nn import functional as F

from .batchnorm import LazyNorm, Norm

__all__ = [
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]  # fmt: skip


class InstanceNorm(Norm):
    """What all instance norm layers share."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        single = input.dim() == self.dims[0]  # without a batch dimension
        channels = input.shape[0 if single else 1]
        if channels != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={0 if single else 1} to match num_features ({self.num_features}), "
                    f"but got: {channels}."
                )
            warnings.warn(
                f"input's size at dim={0 if single else 1} does not match num_features. You can silence this warning "
                "by not passing in num_features, which is not used because affine=False",
                stacklevel=2,
            )
        result = F.instance_norm(
            input.unsqueeze(0) if single else input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )  # fmt: skip
        return result.squeeze(0) if single else result


class InstanceNorm1d(InstanceNorm):
    """Instance normalisation of ``(N, C, L)`` or ``(C, L)``. See :class:`InstanceNorm2d`."""

    dims = (2, 3)


class InstanceNorm2d(InstanceNorm):
    """Instance normalisation of ``(N, C, H, W)`` or ``(C, H, W)``: each channel of each sample on its own.

    Args:
        num_features: ``C``.
        eps: added to the variance.
        momentum: the weight of the new statistics in the running ones.
        affine: whether there are ``weight`` and ``bias``.
        track_running_stats: whether running statistics are kept, and used in evaluation.
        bias: whether an affine layer has a ``bias``.

    Source: https://arxiv.org/abs/1607.08022 and https://docs.pytorch.org/docs/2.13/generated/torch.nn.InstanceNorm2d.html

    >>> import tocha
    >>> tocha.nn.InstanceNorm2d(3)(tocha.zeros(2, 3, 4, 4)).shape
    tocha.Size([2, 3, 4, 4])
    """

    dims = (3, 4)


class InstanceNorm3d(InstanceNorm):
    """Instance normalisation of ``(N, C, D, H, W)`` or ``(C, D, H, W)``. See :class:`InstanceNorm2d`."""

    dims = (4, 5)


class _LazyInstanceNorm(LazyNorm, InstanceNorm):
    def __init__(
        self, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True, track_running_stats: bool = True,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _channel_dim(self, input: Tensor) -> int:
        return 0 if input.dim() == self.dims[0] else 1


class LazyInstanceNorm1d(_LazyInstanceNorm):
    """An :class:`InstanceNorm1d` that takes ``num_features`` from its first input."""

    dims = (2, 3)
    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm):
    """An :class:`InstanceNorm2d` that takes ``num_features`` from its first input."""

    dims = (3, 4)
    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm):
    """An :class:`InstanceNorm3d` that takes ``num_features`` from its first input."""

    dims = (4, 5)
    cls_to_become = InstanceNorm3d
