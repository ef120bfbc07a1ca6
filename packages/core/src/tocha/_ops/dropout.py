"""Random masks on tensors: the family of dropout, and the slopes of rrelu.

The numbers are drawn on the host from PyTorch's stream, in its order, and copied where the input is elsewhere.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _random as streams
from .._core import arrays
from .._core.generator import default_generator
from .._core.inplace import twin
from .._core.record import ABSTRACT
from .._core.templates import scalar_type_name
from .._core.tensor import Tensor, wrap
from .random import draw

__all__ = ["alpha_dropout", "alpha_dropout_", "dropout", "dropout_", "feature_alpha_dropout", "feature_alpha_dropout_",
           "feature_dropout", "feature_dropout_"]  # fmt: skip

_ALPHA = 1.7580993408473766  # scale * alpha of selu: minus its lower limit


def _like_on_host(raw: Any) -> np.ndarray:
    """An array of the shape, dtype and strides of ``raw``; only these count for the draws."""
    return raw if type(raw) is np.ndarray else np.empty(raw.shape, raw.dtype)


def _beside(raw: np.ndarray, input: Tensor) -> Tensor:
    return wrap(raw if type(input._data) is np.ndarray else arrays.to_device(raw, input.device))


def _traced_mask(input: Tensor, p: float, feature: bool) -> Any:
    """The mask where there are no values yet: it is drawn when the graph runs."""
    x = input._data
    shape = tuple(x.shape)
    if feature:
        shape = (*shape[:2], *[1] * (len(shape) - 2))
    return draw(shape, x.dtype, "bernoulli", None, 1 - p, device=input.device)


def _nothing_to_drop(input: Tensor, p: float, train: bool) -> bool:
    if not isinstance(input, Tensor):
        raise TypeError(f"dropout(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    size = input._data.size
    return not train or p == 0 or (type(size) is int and size == 0)


def _refuse_integers(input: Tensor) -> None:
    dtype = input._data.dtype
    if dtype.kind in "biu":
        raise RuntimeError(f"result type Float can't be cast to the desired output type {scalar_type_name(dtype)}")


def _dropped(input: Tensor, p: float, train: bool, feature: bool) -> Tensor:
    if _nothing_to_drop(input, p, train):
        return input
    if p == 1:
        return input * 0
    _refuse_integers(input)
    raw = input._data
    if type(raw) in ABSTRACT:
        return input * (_traced_mask(input, p, feature) / (1 - p))
    mask = streams.dropout_mask(default_generator, _like_on_host(raw), p, feature)
    return input * _beside(mask * streams.dropout_scale(p, raw.dtype), input)


def _alpha_dropped(input: Tensor, p: float, train: bool, feature: bool) -> Tensor:
    if _nothing_to_drop(input, p, train):
        return input
    if p == 1:
        return input * 0
    _refuse_integers(input)
    raw = input._data
    if type(raw) in ABSTRACT:
        a = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
        mask = _traced_mask(input, p, feature)
        return input * (mask * a) + ((mask - 1) * (_ALPHA * a) + _ALPHA * a * p)
    mask = streams.dropout_mask(default_generator, _like_on_host(raw), p, feature)
    scale, shift = streams.alpha_dropout_scale_shift(mask, p, raw.dtype)
    return input * _beside(scale, input) + _beside(shift, input)


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """While ``train``: zero elements with chance ``p`` and scale the others by ``1 / (1 - p)``.

    Raises:
        RuntimeError: ``p`` is outside of [0, 1], or ``input`` is not floating.
    """
    return _dropped(input, p, train, False)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``dropout`` of whole channels: ``input`` is (N, C, *)."""
    return _dropped(input, p, train, True)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout that keeps mean and variance of self-normalizing networks (https://arxiv.org/abs/1706.02515)."""
    return _alpha_dropped(input, p, train, False)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``alpha_dropout`` of whole channels: ``input`` is (N, C, *)."""
    return _alpha_dropped(input, p, train, True)


def rrelu_slopes(input: Tensor, lower: float, upper: float) -> Tensor:
    """What rrelu multiplies elements by while training: uniform where not positive, 1 elsewhere."""
    raw = input._data
    if type(raw) in ABSTRACT:
        from .ternary import where

        slopes = draw(tuple(raw.shape), raw.dtype, "uniform", None, lower, upper, device=input.device)
        return where(input > 0, slopes * 0 + 1, slopes)
    if raw.dtype.kind == "f" and raw.dtype.itemsize == 2:
        raise NotImplementedError("\"rrelu_with_noise_out_cpu\" not implemented for 'Half'")
    return _beside(streams.rrelu_slopes(default_generator, arrays.to_host(raw), lower, upper), input)


def _in_place(fn: Callable) -> Callable:
    """The in-place twin, which leaves the tensor alone where nothing is dropped."""
    write = twin(fn, fn.__name__ + "_")

    @functools.wraps(write)
    def method(input: Tensor, p: float, train: bool) -> Tensor:
        return input if _nothing_to_drop(input, p, train) else write(input, p, train)

    return method


dropout_, alpha_dropout_ = _in_place(dropout), _in_place(alpha_dropout)
feature_dropout_, feature_alpha_dropout_ = _in_place(feature_dropout), _in_place(feature_alpha_dropout)
