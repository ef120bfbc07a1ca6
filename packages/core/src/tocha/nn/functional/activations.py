"""Activation functions."""

from __future__ import annotations

from typing import Any

from tocha._core.tensor import Tensor
from tocha._ops import activation, unary

__all__ = ["gelu", "log_softmax", "relu", "relu_", "sigmoid", "silu", "softmax", "tanh"]


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(0, x)`` of each element.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.relu(tocha.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    return input.relu_() if inplace else input.relu()  # type: ignore[attr-defined]


def relu_(input: Tensor) -> Tensor:
    """In-place ``relu``."""
    return input.relu_()  # type: ignore[attr-defined]


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """``x * Phi(x)`` with the normal distribution's Phi, or its tanh approximation (https://arxiv.org/abs/1606.08415).

    Raises:
        RuntimeError: ``approximate`` is neither "none" nor "tanh".
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return activation.gelu_op(input, approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``, also called swish."""
    result = activation.silu(input)
    return input.copy_(result) if inplace else result  # type: ignore[attr-defined]


def softmax(input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along ``dim``; ``dtype`` casts first."""
    return activation.softmax(input, dim, dtype)


def log_softmax(input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of ``softmax``, computed without overflow."""
    return activation.log_softmax(input, dim, dtype)


def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))`` of each element."""
    return unary.sigmoid(input)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element."""
    return unary.tanh(input)
