"""Automatic differentiation: ``backward``, ``grad``, custom functions, modes."""

from __future__ import annotations

from .._core.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from ._backward import backward, grad

__all__ = ["backward", "enable_grad", "grad", "inference_mode", "no_grad", "set_grad_enabled"]
