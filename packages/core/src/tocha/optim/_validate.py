"""Checks of options that several optimizers share, with PyTorch's messages."""

from __future__ import annotations

from typing import Any

from tocha._core.tensor import Tensor

_LABELS = {"lr": "learning rate", "eps": "epsilon value"}


def at_least_zero(**options: Any) -> None:
    """Raise ``ValueError`` for the first option below 0 (or nan)."""
    for name, value in options.items():
        if not 0.0 <= value:
            raise ValueError(f"Invalid {_LABELS.get(name, name + ' value')}: {value}")


def learning_rate(lr: Any, foreach: bool | None = None, capturable: bool = False) -> None:
    """``lr`` is a number or a tensor of one element, at least 0."""
    if isinstance(lr, Tensor):
        if foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        if lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
    at_least_zero(lr=lr)


def two_betas(betas: Any) -> None:
    """Both in [0, 1)."""
    for i, beta in enumerate(betas[:2]):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def implementation(foreach: bool | None, fused: bool | None, differentiable: bool) -> None:
    """``foreach`` and ``fused`` name PyTorch's implementations; they are accepted, and change nothing here."""
    if fused:
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
