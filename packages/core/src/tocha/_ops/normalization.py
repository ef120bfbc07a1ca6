"""Normalisation: batch, instance, layer, group, RMS and local response norm."""

from __future__ import annotations

from typing import Any

from .._core import arrays, dtypes
from .._core.broadcast import operators
from .._core.grad_mode import no_grad, recording
from .._core.templates import expected_tensor, scalar_type_name
from .._core.tensor import Tensor
from .._core.views import bump_version
from .batch_norm import batch_norm_inference, batch_norm_train
from .dims import product
from .group_norm import group_norm_op
from .layer_norm import layer_norm_op, rms_norm_op

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"]


def _check_floating(name: str, input: Any) -> None:
    if not isinstance(input, Tensor):
        raise expected_tensor(name.lower(), 1, input)
    if input._data.dtype.kind not in "fV":
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar_type_name(input._data.dtype)}'")


def _check_parameter_dtypes(input: Tensor, others: tuple) -> None:
    """All dtypes equal, or the input in half precision and the others in float32."""
    dtype = input._data.dtype
    present = [t for t in others if t is not None and t._data.dtype != dtype]
    if not present:
        return
    half = dtype.itemsize == 2
    if not half or any([t._data.dtype != dtypes.NP_FLOAT32 for t in present]):
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    training: bool, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """Batch normalisation over ``(N, C, *)``: each channel less its mean, over its standard deviation, then affine.

    Args:
        input: ``(N, C, *)``, floating.
        weight, bias: ``(C,)``, or None.
        running_mean, running_var: ``(C,)``: the statistics where ``training`` is False; else they are updated in place,
            the variance with the unbiased estimate.
        momentum: the weight of the new statistics in the update.
        eps: added to the variance.

    Raises:
        RuntimeError: a vector has another length than the channels, or is missing.

    Source: https://arxiv.org/abs/1502.03167 and https://docs.pytorch.org/docs/2.13/generated/torch.nn.BatchNorm2d.html
    """
    _check_floating("batch_norm", input)
    shape = input._data.shape
    channels = shape[1] if len(shape) > 1 else 0
    if not training:
        for name, t in (("running_mean", running_mean), ("running_var", running_var)):
            if t is None:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
    for name, t in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if t is not None and (len(t._data.shape) != 1 or t._data.shape[0] != channels):
            raise RuntimeError(f"{name} should contain {channels} elements not {t._data.size}")
    _check_parameter_dtypes(input, (weight, bias, running_mean, running_var))
    if len(shape) < 2:  # no channels: nothing to normalise
        return input * 1
    for name, t in (("running_mean", running_mean), ("running_var", running_var)):
        if t is not None and t._flags & 1 and recording():
            raise RuntimeError(
                f"The function 'batch_norm' is not differentiable with respect to argument '{name}'. This input cannot "
                "have requires_grad True."
            )
    if not training:
        return batch_norm_inference(input, weight, bias, running_mean, running_var, float(eps))
    result, mean, variance = batch_norm_train(input, weight, bias, float(eps))
    if running_mean is not None or running_var is not None:
        _update(running_mean, running_var, mean, variance, momentum, product(shape) // max(1, channels))
    return result


def _update(running_mean: Any, running_var: Any, mean: Tensor, variance: Tensor, momentum: float, count: Any) -> None:
    if running_mean is not None:
        _move(running_mean, mean, momentum, momentum)
    if running_var is not None:
        _move(running_var, variance, momentum, momentum * count / (count - 1) if count != 1 else float("nan"))


def _move(running: Tensor, new: Tensor, momentum: float, share: float) -> None:
    """``running = (1 - momentum) running + share new``, in place and unrecorded."""
    raw, found = running._data, new._data
    if arrays.for_array(raw) is None or arrays.for_array(found) is None:  # on the meta device, or in a trace
        with no_grad():
            running.mul_(1 - momentum).add_(new * share)
        return
    raw *= 1 - momentum
    raw += (found * share).astype(raw.dtype, copy=False)
    bump_version(running)


def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """Normalisation of each channel of each sample of ``(N, C, *)``.

    Arguments as in :func:`batch_norm`. With ``use_input_stats`` False the running statistics are used; else they are
    updated with the mean over the batch of the samples' statistics.

    Source: https://arxiv.org/abs/1607.08022 and https://docs.pytorch.org/docs/2.13/generated/torch.nn.InstanceNorm2d.html
    """
    _check_floating("instance_norm", input)
    shape = input._data.shape
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    batch, channels = shape[0], shape[1]
    for name, t in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if t is not None and (len(t._data.shape) != 1 or t._data.shape[0] != channels):
            raise RuntimeError(f"{name} should contain {batch * channels} elements not {batch * t._data.size}")
    _check_parameter_dtypes(input, (weight, bias, running_mean, running_var))
    if not use_input_stats:
        return batch_norm_inference(input, weight, bias, running_mean, running_var, float(eps))
    if running_mean is not None or running_var is not None:
        _update_from_samples(running_mean, running_var, input, momentum)
    return group_norm_op(input, weight, bias, channels, float(eps))


@no_grad()
def _update_from_samples(running_mean: Any, running_var: Any, input: Tensor, momentum: float) -> None:
    dims = tuple(range(2, len(input._data.shape)))
    count = product(input._data.shape[2:])
    mean = input.mean(dims, keepdim=True)
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(mean.flatten(1).mean(0) * momentum)
    if running_var is not None:
        centred = input - mean
        variance = (centred * centred).sum(dims) / (count - 1)
        running_var.mul_(1 - momentum).add_(variance.mean(0) * momentum)


def _check_normalized(name: str, input: Any, normalized_shape: Any, weight: Any, bias: Any, star: str) -> int:
    """The number of dimensions to normalise."""
    if not isinstance(normalized_shape, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not "
            f"{type(normalized_shape).__name__}"
        )
    if not isinstance(input, Tensor):
        raise expected_tensor(name, 1, input)
    ndim = len(normalized_shape)
    normal = list(normalized_shape)
    if not ndim:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            f"normalized_shape = {normal}"
        )
    for what, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t._data.shape) != tuple(normalized_shape):
            raise RuntimeError(
                f"Expected {what} to be of same shape as normalized_shape, but got {what} of shape "
                f"{list(t._data.shape)} and normalized_shape = {normal}"
            )
    shape = input._data.shape
    if len(shape) < ndim or any([a is not b and a != b for a, b in zip(shape[len(shape) - ndim :], normalized_shape)]):
        inside = ", ".join(map(str, normal))
        raise RuntimeError(
            f"Given normalized_shape={normal}, expected input with shape [*{star}{inside}], but got input of "
            f"size{list(shape)}"
        )
    return ndim


def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Tensor:  # fmt: skip
    """Normalisation over the last dimensions, whose sizes are ``normalized_shape``.

    Args:
        input: ``(*, *normalized_shape)``, floating.
        weight, bias: of ``normalized_shape``, or None.
        eps: added to the (biased) variance.

    Raises:
        RuntimeError: shapes or dtypes do not fit.

    Source: https://arxiv.org/abs/1607.06450 and https://docs.pytorch.org/docs/2.13/generated/torch.nn.LayerNorm.html

    Example:
        >>> import tocha
        >>> tocha.layer_norm(tocha.tensor([[1.0, 3.0]]), (2,), eps=0.0).tolist()
        [[-1.0, 1.0]]
    """
    ndim = _check_normalized("layer_norm", input, normalized_shape, weight, bias, ", ")
    _check_floating("LayerNormKernelImpl", input)
    try:
        _check_parameter_dtypes(input, (weight, bias))
    except RuntimeError:
        raise RuntimeError(
            f"mixed dtype (CPU): expect parameter to have scalar type of {scalar_type_name(dtypes.NP_FLOAT32)}"
        ) from None
    return layer_norm_op(input, weight, bias, ndim, float(eps))


def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """``input / sqrt(mean(input**2) + eps) * weight`` over the last dimensions, whose sizes are ``normalized_shape``.

    Args:
        input: ``(*, *normalized_shape)``, floating.
        weight: of ``normalized_shape``, or None.
        eps: default: the spacing at 1 of the dtype (of float32 for half precision).

    Source: https://arxiv.org/abs/1910.07467 and https://docs.pytorch.org/docs/2.13/generated/torch.nn.RMSNorm.html
    """
    ndim = _check_normalized("rms_norm", input, normalized_shape, weight, None, "")
    if input._data.dtype.kind != "c":
        _check_floating("rms_norm", input)
    if eps is None:
        eps = dtypes.finfo(dtypes.float32 if input._data.dtype.itemsize == 2 else input.dtype).eps
    if weight is not None and weight._data.dtype != input._data.dtype and input._data.dtype.itemsize != 2:
        return operators["cast"](rms_norm_op(input, None, ndim, float(eps)) * weight, input._data.dtype)
    return rms_norm_op(input, weight, ndim, float(eps))


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Normalisation of ``(N, C, *)`` over groups of ``C / num_groups`` channels of each sample, then affine by channel.

    Raises:
        RuntimeError: the channels are not divisible by ``num_groups``, or the vectors do not fit.

    Source: https://arxiv.org/abs/1803.08494 and https://docs.pytorch.org/docs/2.13/generated/torch.nn.GroupNorm.html
    """
    if not isinstance(input, Tensor):
        raise expected_tensor("group_norm", 1, input)
    shape = input._data.shape
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    channels = shape[1]
    if channels % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(shape)} "
            f"and num_groups={num_groups}"
        )
    for what, t in (("weight", weight), ("bias", bias)):
        if t is not None and (len(t._data.shape) != 1 or t._data.shape[0] != channels):
            raise RuntimeError(
                f"Expected {what} to be a vector of size equal to the number of channels in input, but got {what} of "
                f"shape {list(t._data.shape)} and input of shape {list(shape)}"
            )
    _check_floating("GroupNormKernelImpl", input)
    _check_parameter_dtypes(input, (weight, bias))
    return group_norm_op(input, weight, bias, int(num_groups), float(eps))
