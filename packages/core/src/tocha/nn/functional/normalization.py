"""Normalisation of activations and of vectors."""

from __future__ import annotations

from typing import Any

from ..._core.tensor import Tensor
from ..._ops import normalization as _ops

__all__ = [
    "batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "normalize", "rms_norm",
]  # fmt: skip


def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
    bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05,
) -> Tensor:  # fmt: skip
    """Batch normalisation of ``(N, C, *)``: with the batch's statistics where ``training``, else with the running ones.

    In training the running statistics, where given, are updated in place:
    ``running = (1 - momentum) running + momentum new``, the variance with the unbiased estimate.

    Raises:
        ValueError: one value a channel in training, or an ``eps`` that cannot be. RuntimeError: vectors do not fit.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.batch_norm.html

    Example:
        >>> import tocha
        >>> x = tocha.tensor([[1.0], [3.0]])
        >>> tocha.nn.functional.batch_norm(x, None, None, training=True, eps=1e-12).tolist()
        [[-1.0], [1.0]]
    """
    if training:
        _check_many(input.shape)
        if eps <= 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return _ops.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _check_many(size: Any) -> None:
    count = size[0]
    for n in size[2:]:
        count = count * n
    if type(count) is int and count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05,
) -> Tensor:  # fmt: skip
    """Normalisation of each channel of each sample of ``(N, C, *)``.

    Raises:
        ValueError: one spatial element, or one running statistic without the other. RuntimeError: vectors do not fit.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.instance_norm.html
    """
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if use_input_stats:
        count: Any = 1
        for n in input.shape[2:]:
            count = count * n
        if type(count) is int and count == 1:
            raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return _ops.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps)


def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """Normalisation over the last dimensions, whose sizes are ``normalized_shape``. See :func:`tocha.layer_norm`."""
    return _ops.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Division by the root of the mean square over the last dimensions. See :func:`tocha.rms_norm`."""
    return _ops.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """Normalisation over groups of channels of each sample. See :func:`tocha.group_norm`.

    Raises:
        ValueError: there is one value a group.
    """
    shape = input.shape
    if len(shape) >= 2 and num_groups > 0:
        _check_many([shape[0] * shape[1] // num_groups, num_groups, *shape[2:]])
    return _ops.group_norm(input, num_groups, weight, bias, eps)


def local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Each element over a power of the mean square of the ``size`` channels around its own.

    ``input / (k + alpha * mean(input**2))**beta`` for ``(N, C, *)`` with at least one spatial dimension.

    Raises:
        ValueError: the input has fewer than three dimensions.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LocalResponseNorm.html
    """
    from ..._ops.average_pooling import avg_pool
    from ..._ops.padding import constant_pad

    shape = input.shape
    if len(shape) < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {len(shape)} dimensions)"
        )
    if input.numel() == 0:
        return input
    squares = input.mul(input).reshape(shape[0], 1, shape[1], -1)
    squares = constant_pad(squares, (0, 0, size // 2, (size - 1) // 2), 0.0)
    means = avg_pool(squares, (size, 1), (1, 1), (0, 0), False, True, None).reshape(shape)
    return input / means.mul(alpha).add(k).pow(beta)


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Vectors along ``dim`` over their p-norm, or over ``eps`` where that is larger.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.normalize.html
    """
    from ..._core.inplace import store

    result = input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return result if out is None else store(out, result)
