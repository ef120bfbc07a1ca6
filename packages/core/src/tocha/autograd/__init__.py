"""Automatic differentiation: ``backward``, ``grad``, custom functions, modes, checks. As ``torch.autograd``."""

from __future__ import annotations

from .._core.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from . import forward_ad, function, functional, graph, variable
from ._backward import backward, grad
from ._legacy import NestedIOFunction, Variable, enforce_grad_layout_policy, set_multithreading_enabled
from .anomaly import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from .function import Function
from .gradcheck import gradcheck, gradgradcheck

__all__ = [
    "Function", "NestedIOFunction", "Variable", "backward", "detect_anomaly", "enable_grad",
    "enforce_grad_layout_policy", "forward_ad", "function", "functional", "grad", "gradcheck", "gradgradcheck", "graph",
    "inference_mode", "is_anomaly_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled",
    "set_multithreading_enabled", "variable",
]  # fmt: skip
