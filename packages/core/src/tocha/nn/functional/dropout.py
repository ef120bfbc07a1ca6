"""Dropout: zero elements, or whole channels, at random while training (https://arxiv.org/abs/1207.0580)."""

from __future__ import annotations

import warnings
from typing import Any

from tocha._core.tensor import Tensor
from tocha._ops import dropout as ops

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def _check(p: Any) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """While ``training``: zero elements with chance ``p`` and scale the others by ``1 / (1 - p)``.

    Raises:
        ValueError: ``p`` is outside of [0, 1].
        RuntimeError: ``input`` is not floating.

    Example:
        >>> import tocha
        >>> _ = tocha.manual_seed(0)
        >>> tocha.nn.functional.dropout(tocha.ones(4), 0.5)
        tensor([0., 0., 2., 0.])
    """
    if p < 0.0 or p > 1.0:
        _check(p)
    return ops.dropout_(input, p, training) if inplace else ops.dropout(input, p, training)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for self-normalizing networks: dropped elements become selu's lower limit, and mean and variance stay.

    Raises:
        ValueError: ``p`` is outside of [0, 1].

    Source: https://arxiv.org/abs/1706.02515
    """
    _check(p)
    return ops.alpha_dropout_(input, p, training) if inplace else ops.alpha_dropout(input, p, training)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """``alpha_dropout`` of whole channels: ``input`` is (N, C, *).

    Raises:
        ValueError: ``p`` is outside of [0, 1].
    """
    _check(p)
    return ops.feature_alpha_dropout_(input, p, training) if inplace else ops.feature_alpha_dropout(input, p, training)


def _channels(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    """Channel dropout; an input without batch dimension gets one meanwhile."""
    whole = input if batched else input.unsqueeze(0)
    if inplace:
        ops.feature_dropout_(whole, p, training)
        return input
    result = ops.feature_dropout(whole, p, training)
    return result if batched else result.squeeze(0)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of ``input`` (N, C, L) or (C, L).

    Raises:
        ValueError: ``p`` is outside of [0, 1].
        RuntimeError: ``input`` has another number of dimensions.
    """
    _check(p)
    ndim = input.ndim
    if ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that dropout1d exists to provide "
            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch "
            "dimension (i.e. 2D or 3D inputs)."
        )
    return _channels(input, p, training, inplace, ndim == 3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of ``input`` (N, C, H, W); a 3-d input counts as (N, C, L), with a warning.

    Raises:
        ValueError: ``p`` is outside of [0, 1].
    """
    _check(p)
    ndim = input.ndim
    if ndim not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {ndim}-D input to dropout2d, which is deprecated and will result in an error in a "
            "future release. To retain the behavior and silence this warning, please use dropout instead. Note that "
            "dropout2d exists to provide channel-wise dropout on inputs with 2 spatial dimensions, a channel "
            "dimension, and an optional batch dimension (i.e. 3D or 4D inputs).",
            stacklevel=2,
        )
    if ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _channels(input, p, training, inplace, True)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of ``input`` (N, C, D, H, W) or (C, D, H, W).

    Raises:
        ValueError: ``p`` is outside of [0, 1].
    """
    _check(p)
    ndim = input.ndim
    if ndim not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {ndim}-D input to dropout3d, which is deprecated and will result in an error in a "
            "future release. To retain the behavior and silence this warning, please use dropout instead. Note that "
            "dropout3d exists to provide channel-wise dropout on inputs with 3 spatial dimensions, a channel "
            "dimension, and an optional batch dimension (i.e. 4D or 5D inputs).",
            stacklevel=2,
        )
    return _channels(input, p, training, inplace, ndim == 5)
