"""Batch norms folded into the layer before them, for inference."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import tocha
from tocha._core.tensor import Tensor

from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

M = TypeVar("M")


def fuse_conv_bn_eval(conv: M, bn: Any, transpose: bool = False) -> M:
    """A copy of a convolution that computes what it and the batch norm after it compute.

    Args:
        conv, bn: both in evaluation mode. transpose: ``conv`` is a transposed convolution.

    Raises:
        AssertionError: one is in training mode, or the norm keeps no statistics.

    >>> import tocha
    >>> conv, bn = tocha.nn.Conv2d(1, 2, 3).eval(), tocha.nn.BatchNorm2d(2).eval()
    >>> type(tocha.nn.utils.fuse_conv_bn_eval(conv, bn)).__name__
    'Conv2d'
    """
    fused: Any = _copied(conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: M, bn: Any) -> M:
    """A copy of a linear layer that computes what it and the batch norm after it compute.

    Args:
        linear, bn: both in evaluation mode; the norm has as many features as the layer has outputs, or one.

    Raises:
        AssertionError: one is in training mode, the norm keeps no statistics, or the features do not fit.
    """
    fused: Any = _copied(linear, bn)
    if fused.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got linear.out_features="
            f"{fused.out_features} and bn.num_features={bn.num_features}"
        )
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def _copied(layer: Any, bn: Any) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    return copy.deepcopy(layer)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the convolution that computes a convolution and the batch norm after it.

    Args:
        conv_w: ``(out, in, *kernel)``, or ``(in, out, *kernel)`` with ``transpose``. conv_b: ``(out,)`` or None.
        bn_rm, bn_rv: running mean and variance. bn_eps: added to the variance. bn_w, bn_b: ``(out,)`` or None.
    """
    shape = [1, -1] if transpose else [-1, 1]
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape + [1] * (conv_w.dim() - 2))


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the linear layer that computes a linear layer and the batch norm after it.

    Args:
        linear_w: ``(out, in)``. linear_b: ``(out,)`` or None. The others: see ``fuse_conv_bn_weights``.
    """
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _fused(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    eps: float,
    scale: Any,
    shift: Any,
    shape: list[int],
) -> tuple[Parameter, Parameter]:
    with tocha.no_grad():
        factor = tocha.rsqrt(variance + eps)
        if scale is not None:
            factor = factor * scale
        new_weight = (weight * factor.reshape(shape)).to(weight.dtype)
        new_bias = (-mean if bias is None else bias - mean) * factor
        if shift is not None:
            new_bias = new_bias + shift
        new_bias = new_bias.to(weight.dtype if bias is None else bias.dtype)
    return Parameter(new_weight, weight.requires_grad), Parameter(new_bias, bias is not None and bias.requires_grad)
