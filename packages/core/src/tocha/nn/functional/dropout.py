"""Dropout: zero elements at random while training."""

from __future__ import annotations

from typing import Any

import numpy as np

from tocha import _random as streams
from tocha._core.generator import default_generator
from tocha._core.record import ABSTRACT
from tocha._core.tensor import Tensor, wrap
from tocha._ops.random import draw

__all__ = ["dropout"]


def _check(p: Any) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """While ``training``: zero elements with chance ``p`` and scale the others by ``1 / (1 - p)``.

    Raises:
        ValueError: ``p`` is outside of [0, 1].
    """
    _check(p)
    if not training or p == 0.0 or not input._data.size:
        return input
    if p == 1.0:
        return input.mul_(0) if inplace else input * 0  # type: ignore[attr-defined]
    raw = input._data
    if type(raw) in ABSTRACT:
        noise: Any = draw(tuple(raw.shape), raw.dtype, "bernoulli", None, 1 - p, device=input.device) / (1 - p)
    else:
        noise = _noise(raw, p, input)
    return input.mul_(noise) if inplace else input * noise  # type: ignore[attr-defined]


def _noise(raw: Any, p: float, input: Tensor) -> Tensor:
    """The scaled mask; drawn on the host where the input is elsewhere."""
    like = raw if type(raw) is np.ndarray else np.empty(raw.shape, raw.dtype)
    mask = streams.dropout_mask(default_generator, like, p)
    noise = wrap(mask * streams.dropout_scale(p, raw.dtype))
    return noise if type(raw) is np.ndarray else noise.to(input.device)  # type: ignore[attr-defined]
