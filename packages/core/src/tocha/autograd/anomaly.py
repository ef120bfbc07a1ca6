"""Anomaly mode: errors and NaN in backward name the forward line that they come from."""

from __future__ import annotations

from typing import Any

from .._core import grad_mode
from .._core.grad_mode import Instruments, instrumented

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly"]


def _with(anomaly: bool, check_nan: bool) -> Instruments:
    now = grad_mode.instruments()
    return Instruments(anomaly, check_nan, now.pack if now else None, now.unpack if now else None)


class detect_anomaly(instrumented):
    """Inside: nodes keep the forward stack, and a NaN in a gradient is an error that prints it. Slow: for debugging.

    Example:
        >>> import tocha
        >>> with tocha.autograd.detect_anomaly():
        ...     loss = (tocha.ones(2, requires_grad=True) * 2).sum()
        ...     loss.backward()
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(_with(True, check_nan))


class set_detect_anomaly:
    """Switch anomaly mode on or off, at once or for a ``with`` block."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._inner = instrumented(_with(mode, check_nan))
        self._inner.__enter__()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        self._inner.__exit__(*error)


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    now = grad_mode.instruments()
    return bool(now and now.anomaly)


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for NaN."""
    now = grad_mode.instruments()
    return bool(now and now.anomaly and now.check_nan)
