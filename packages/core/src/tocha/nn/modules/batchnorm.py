"""Batch normalisation layers."""

from __future__ import annotations

from typing import Any

import tocha
from tocha._core.tensor import Tensor
from tocha.nn import functional as F
from tocha.nn import init
from tocha.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter

from .lazy import LazyModuleMixin
from .module import Module

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
    "SyncBatchNorm",
]  # fmt: skip


class Norm(Module):
    """What batch and instance norm layers share: parameters, running statistics and their state."""

    _version = 2
    dims: tuple[int, ...] = ()
    num_features: int
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        bias: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        lazy = isinstance(self, LazyModuleMixin)

        def parameter() -> Parameter:
            if lazy:
                return UninitializedParameter(device=device, dtype=dtype)
            return Parameter(tocha.empty(num_features, device=device, dtype=dtype))

        self.register_parameter("weight", parameter() if affine else None)
        self.register_parameter("bias", parameter() if affine and bias else None)
        if not track_running_stats:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        else:
            for name, make in (("running_mean", tocha.zeros), ("running_var", tocha.ones)):
                buffer = (
                    UninitializedBuffer(device=device, dtype=dtype)
                    if lazy
                    else make(num_features, device=device, dtype=dtype)
                )
                self.register_buffer(name, buffer)
            self.register_buffer("num_batches_tracked", tocha.tensor(0, dtype=tocha.int64, device=device))
        if not lazy:
            self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the running statistics: mean 0, variance 1, no batches."""
        if self.track_running_stats:
            self.running_mean.zero_()  # type: ignore[union-attr]
            self.running_var.fill_(1)  # type: ignore[union-attr]
            self.num_batches_tracked.zero_()  # type: ignore[union-attr]

    def reset_parameters(self) -> None:
        """Forget the running statistics; weights become 1, biases 0."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in self.dims:
            wanted = " or ".join([f"{d}D" for d in self.dims])
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: Any,
        unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:
        version = local_metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            tracked = self.num_batches_tracked  # older files do not count the batches
            state_dict[key] = tocha.tensor(0, dtype=tocha.int64) if tracked is None or tracked.is_meta else tracked
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class BatchNorm(Norm):
    """What all batch norm layers share."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        training, mean, var = self.training, self.running_mean, self.running_var
        momentum = 0.0 if self.momentum is None else self.momentum
        if training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the cumulative mean of all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        tracked = not training or self.track_running_stats
        return F.batch_norm(
            input, mean if tracked else None, var if tracked else None, self.weight, self.bias,
            training or (mean is None and var is None), momentum, self.eps,
        )  # fmt: skip


class BatchNorm1d(BatchNorm):
    """Batch normalisation of ``(N, C)`` or ``(N, C, L)``. See :class:`BatchNorm2d`."""

    dims = (2, 3)


class BatchNorm2d(BatchNorm):
    """Batch normalisation of ``(N, C, H, W)``: each channel less its mean, over its standard deviation, then affine.

    Args:
        num_features: ``C``.
        eps: added to the variance.
        momentum: the weight of the new statistics in the running ones; None: their cumulative mean.
        affine: whether there are ``weight`` and ``bias``.
        track_running_stats: whether running statistics are kept, and used in evaluation.
        bias: whether an affine layer has a ``bias``.

    Source: https://arxiv.org/abs/1502.03167 and https://docs.pytorch.org/docs/2.13/generated/torch.nn.BatchNorm2d.html

    >>> import tocha
    >>> layer = tocha.nn.BatchNorm2d(3)
    >>> layer(tocha.zeros(2, 3, 4, 4)).shape
    tocha.Size([2, 3, 4, 4])
    """

    dims = (4,)


class BatchNorm3d(BatchNorm):
    """Batch normalisation of ``(N, C, D, H, W)``. See :class:`BatchNorm2d`."""

    dims = (5,)


class SyncBatchNorm(BatchNorm):
    """Batch normalisation of ``(N, C, *)``, at least 2-D, with the statistics of one process.

    PyTorch's layer joins the statistics of several processes; this one is the layer that PyTorch's is with one process.
    With a process group it raises an error.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.SyncBatchNorm.html
    """

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:  # fmt: skip
        if process_group is not None:
            raise NotImplementedError(
                "SyncBatchNorm does not join statistics over a process group: leave process_group out"
            )
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """``module`` with every batch norm layer in it replaced by this class, parameters and statistics shared."""
        converted: Any = module
        if isinstance(module, BatchNorm):
            converted = cls(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                process_group, bias=module.bias is not None,
            )  # fmt: skip
            converted.weight, converted.bias = module.weight, module.bias
            converted.running_mean, converted.running_var = module.running_mean, module.running_var
            converted.num_batches_tracked, converted.training = module.num_batches_tracked, module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


# ---------------------------------------------------------------- lazy


class LazyNorm(LazyModuleMixin):
    """Takes the number of channels from the first input."""

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features:  # type: ignore[attr-defined]
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor) -> None:
        """Give the parameters and statistics the shapes that fit ``input``, and their initial values."""
        module: Any = self
        module._check_input_dim(input)
        module.num_features = input.shape[self._channel_dim(input)]
        if not self.has_uninitialized_params():  # loaded before the first call
            return
        for member in (module.weight, module.bias, module.running_mean, module.running_var):
            if member is not None:
                member.materialize((module.num_features,))
        self.reset_parameters()

    def _channel_dim(self, input: Tensor) -> int:
        return 1


class _LazyBatchNorm(LazyNorm, BatchNorm):
    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)


class LazyBatchNorm1d(_LazyBatchNorm):
    """A :class:`BatchNorm1d` that takes ``num_features`` from its first input."""

    dims = (2, 3)
    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyBatchNorm):
    """A :class:`BatchNorm2d` that takes ``num_features`` from its first input."""

    dims = (4,)
    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyBatchNorm):
    """A :class:`BatchNorm3d` that takes ``num_features`` from its first input."""

    dims = (5,)
    cls_to_become = BatchNorm3d
