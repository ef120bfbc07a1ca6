"""Whether operations are recorded: ``no_grad``, ``enable_grad``, ``set_grad_enabled``, ``inference_mode``.

The state is one context variable read once an operation. It holds False (do not record), True, or an
``Instruments`` object: recording with extras (anomaly mode, saved-tensor hooks) that templates hand new nodes to.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable)

_mode: contextvars.ContextVar[Any] = contextvars.ContextVar("grad", default=True)
_inference: contextvars.ContextVar[bool] = contextvars.ContextVar("inference", default=False)
recording = _mode.get
set_mode, reset_mode = _mode.set, _mode.reset
inference_enabled = _inference.get


class Instruments:
    """What to do with a new node beside recording it: keep the forward stack, pack its saved arrays."""

    def __init__(
        self,
        anomaly: bool = False,
        check_nan: bool = True,
        pack: Callable | None = None,
        unpack: Callable | None = None,
    ) -> None:
        self.anomaly, self.check_nan, self.pack, self.unpack = anomaly, check_nan, pack, unpack


def instruments() -> Instruments | None:
    mode = _mode.get()
    return mode if isinstance(mode, Instruments) else _suspended.get()


# no_grad inside anomaly mode: what enable_grad comes back to
_suspended: contextvars.ContextVar[Instruments | None] = contextvars.ContextVar("suspended", default=None)


class _Context:
    """A context manager that is a decorator too; on a generator function it holds while the generator runs."""

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *error: object) -> None:
        raise NotImplementedError

    def _again(self) -> _Context:
        return type(self)()

    def __call__(self, fn: F) -> F:
        again = self._again
        if inspect.isgeneratorfunction(fn):

            @functools.wraps(fn)
            def generator(*args: Any, **kwargs: Any) -> Any:
                with again():
                    running = fn(*args, **kwargs)
                value = None
                while True:
                    try:
                        with again():
                            item = running.send(value)
                    except StopIteration as stop:
                        return stop.value
                    value = yield item

            return generator  # type: ignore[return-value]

        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with again():
                return fn(*args, **kwargs)

        return wrapped  # type: ignore[return-value]


class no_grad(_Context):
    """Operations inside are not recorded. A context manager and a decorator, as ``torch.no_grad``.

    Example:
        >>> import tocha
        >>> x = tocha.ones(2, requires_grad=True)
        >>> with tocha.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    def __new__(cls, fn: Callable | None = None) -> Any:
        self = super().__new__(cls)
        return self if fn is None else _Context.__call__(self, fn)

    def __enter__(self) -> None:
        self._token = _mode.set(False)

    def __exit__(self, *error: object) -> None:
        _mode.reset(self._token)


class enable_grad(_Context):
    """Operations inside are recorded, also within ``no_grad``."""

    def __new__(cls, fn: Callable | None = None) -> Any:
        self = super().__new__(cls)
        return self if fn is None else _Context.__call__(self, fn)

    def __enter__(self) -> None:
        self._token = _mode.set(_suspended.get() or _mode.get() or True)

    def __exit__(self, *error: object) -> None:
        _mode.reset(self._token)


class set_grad_enabled(_Context):
    """Record or not, from now on or inside a ``with`` block: ``set_grad_enabled(is_training)``."""

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled(): argument 'enabled' must be bool, not {type(mode).__name__}")
        self.mode, self.previous = mode, _mode.get()
        _mode.set((_suspended.get() or self.previous or True) if mode else False)

    def _again(self) -> _Context:
        return set_grad_enabled(self.mode)

    def __call__(self, fn: F) -> F:
        _mode.set(self.previous)
        return super().__call__(fn)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        _mode.set(self.previous)


class inference_mode(_Context):
    """``no_grad`` whose tensors can never take part in autograd (see ``Tensor.is_inference``)."""

    def __new__(cls, mode: Any = True) -> Any:
        self = super().__new__(cls)
        if callable(mode):
            self.mode = True
            return _Context.__call__(self, mode)
        return self

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def _again(self) -> _Context:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self._tokens = _inference.set(self.mode), _mode.set(False if self.mode else (_mode.get() or True))

    def __exit__(self, *error: object) -> None:
        _inference.reset(self._tokens[0])
        _mode.reset(self._tokens[1])


class instrumented:
    """Record with extras inside: anomaly mode and saved-tensor hooks are built on it."""

    def __init__(self, value: Instruments) -> None:
        self.value = value

    def __enter__(self) -> None:
        self._tokens = _mode.set(self.value if _mode.get() else False), _suspended.set(self.value)

    def __exit__(self, *error: object) -> None:
        _mode.reset(self._tokens[0])
        _suspended.reset(self._tokens[1])


def is_grad_enabled() -> bool:
    """Whether operations are recorded now."""
    return bool(_mode.get())


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on now."""
    return _inference.get()
