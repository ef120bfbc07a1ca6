"""The context manager and decorator ``autocast``, and the decorators for own autograd functions."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from .._core.dtypes import bfloat16, float16, float64
from . import _state

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def is_autocast_available(device_type: str) -> bool:
    """Does autocast know the device type? ("cpu" and "cuda")"""
    return device_type in _state.state.enabled


def _check_type(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


class autocast:
    """A region (``with``) or a function (decorator) whose operators run in the dtype that suits each.

    Matrix products and convolutions run in ``dtype``, losses and what needs range in float32; see ``amp._lists``.

    Args:
        device_type: "cpu" or "cuda".
        dtype: bfloat16 or float16; by default bfloat16 on the CPU and float16 on CUDA.
        enabled: False makes a region without autocast.
        cache_enabled: cast each weight once (default: yes).

    Raises:
        RuntimeError: the device type is unknown.

    Example:
        >>> import tocha
        >>> with tocha.autocast("cpu"):
        ...     print((tocha.ones(2, 2) @ tocha.ones(2, 2)).dtype)
        tocha.bfloat16
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        _check_type(device_type)
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        self.fast_dtype = _state.get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = _state.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and device_type == "cuda":
            from .. import cuda

            if not cuda.is_available():
                warnings.warn("CUDA is not available. Disabling autocast.", stacklevel=2)
                enabled = False
        if enabled and self.fast_dtype not in (bfloat16, float16):
            warnings.warn(
                f"In {device_type.upper()} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{device_type.upper()} Autocast only supports dtypes of tocha.bfloat16, tocha.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._before: list[tuple] = []

    def __enter__(self) -> autocast:
        d = self.device
        self._before.append(
            (_state.is_autocast_enabled(d), _state.get_autocast_dtype(d), _state.is_autocast_cache_enabled())
        )
        _state.set_autocast_enabled(d, self._enabled)
        _state.set_autocast_dtype(d, self.fast_dtype)
        _state.set_autocast_cache_enabled(self._cache_enabled)
        _state.autocast_increment_nesting()
        return self

    def __exit__(self, *exc: Any) -> None:
        if _state.autocast_decrement_nesting() == 0:
            _state.clear_autocast_cache()
        enabled, dtype, cache = self._before.pop()
        _state.set_autocast_enabled(self.device, enabled)
        _state.set_autocast_dtype(self.device, dtype)
        _state.set_autocast_cache_enabled(cache)

    def __call__(self, func: Callable) -> Callable:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. "
                "Did you mean to use autocast as a context manager? For example:\n"
                "    with tocha.autocast(device_type=...):\n"
                "        output = model(input)"
            )

        @functools.wraps(func)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return inside


def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    import tocha

    if isinstance(value, tocha.Tensor):
        eligible = value.is_floating_point() and value.device.type == device_type and value.dtype is not float64
        return value.to(dtype) if eligible else value
    if isinstance(value, dict):
        return {k: _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_cast(v, device_type, dtype) for v in value])
    return value


def custom_fwd(fwd: Callable | None = None, *, device_type: str, cast_inputs: Any = None) -> Callable:
    """Decorates ``forward`` of an autograd Function: remembers autocast for ``backward``.

    Args:
        cast_inputs: inside of an autocast region cast floating tensors to this dtype and run without autocast.
    """
    _check_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def inside(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        on = _state.is_autocast_enabled(device_type)
        ctx._dtype = _state.get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return inside


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Callable:
    """Decorates ``backward`` of an autograd Function whose ``forward`` has :func:`custom_fwd`: the same autocast."""
    _check_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def inside(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)

    return inside
