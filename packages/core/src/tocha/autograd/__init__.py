"""Automatic differentiation: ``backward``, ``grad``, custom functions, modes, checks. As ``torch.autograd``."""

from __future__ import annotations

from .._core.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from . import function, graph
from ._backward import backward, grad
from .anomaly import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from .function import Function
from .gradcheck import gradcheck, gradgradcheck

__all__ = ["Function", "backward", "detect_anomaly", "enable_grad", "function", "grad", "gradcheck", "gradgradcheck", "graph",
           "inference_mode", "is_anomaly_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled"]  # fmt: skip
