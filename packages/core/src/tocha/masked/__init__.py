"""Reductions of the elements that a mask keeps, as ``torch.masked``.

``mask`` is boolean and broadcasts to the input; masked-out elements do not count. A slice with nothing left gives the
operation's neutral element (NaN for means). Source: https://pytorch.org/docs/stable/masked.html
"""

from __future__ import annotations

from .normalizations import log_softmax, normalize, softmax, softmin
from .reductions import (
    amax, amin, argmax, argmin, cumprod, cumsum, logaddexp, logsumexp, mean, median, norm, prod, std, sum, var,
)  # fmt: skip

__all__ = ["amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean",
           "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var"]  # fmt: skip
