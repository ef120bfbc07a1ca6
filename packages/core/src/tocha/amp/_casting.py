"""How autocast reaches the functions: wrappers that take their place everywhere, the first time that autocast is used.

Until then nothing is wrapped, so that programs without autocast pay nothing for it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import tocha

from ._lists import kinds
from ._state import state

_KINDS = {device_type: kinds(device_type) for device_type in ("cpu", "cuda")}
_installed: list[bool] = []


def _tensors(values: Any) -> list:
    found = []
    for value in values:
        if isinstance(value, tocha.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [v for v in value if isinstance(v, tocha.Tensor)]
    return found


def _eligible(t: Any, device_type: str) -> bool:
    return t.is_floating_point() and t.dtype is not tocha.float64 and t.device.type == device_type


def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    if isinstance(value, tocha.Tensor):
        if value.dtype is dtype or not _eligible(value, device_type):
            return value
        weight = state.cache_enabled and value.is_leaf and value.requires_grad and tocha.is_grad_enabled()
        if not (weight and value.dtype is tocha.float32):
            return value.to(dtype)
        kept = state.cache.get(id(value))
        if kept is None or kept[1].dtype is not dtype:
            kept = state.cache[id(value)] = (value, value.to(dtype))
        return kept[1]
    if type(value) in (list, tuple):
        return type(value)([_cast(v, device_type, dtype) for v in value])
    return value


def _run(fn: Callable, name: str, args: tuple, kwargs: dict) -> Any:
    tensors = _tensors((*args, *kwargs.values()))
    types = {t.device.type for t in tensors}
    device_type = "cuda" if "cuda" in types else "cpu" if "cpu" in types else ""
    kind = _KINDS[device_type].get(name) if device_type and state.enabled[device_type] else None
    if kind is None or kwargs.get("out") is not None:
        return fn(*args, **kwargs)
    if kind == "refused":
        raise RuntimeError(
            f"tocha.nn.functional.{name} and tocha.nn.BCELoss are unsafe to autocast.\nMany models use a sigmoid layer "
            "right before the binary cross entropy layer.\nIn this case, combine the two layers using "
            "tocha.nn.functional.binary_cross_entropy_with_logits\nor tocha.nn.BCEWithLogitsLoss.  "
            "binary_cross_entropy_with_logits and BCEWithLogits are\nsafe to autocast."
        )
    dtype = state.dtypes[device_type] if kind == "lower" else tocha.float32
    if kind == "widest":
        dtypes = {t.dtype for t in tensors if _eligible(t, device_type)}
        if len(dtypes) < 2:
            return fn(*args, **kwargs)
        dtype = functools.reduce(tocha.promote_types, dtypes)
    if kind != "kept":
        args = tuple([_cast(a, device_type, dtype) for a in args])
        kwargs = {k: _cast(v, device_type, dtype) for k, v in kwargs.items()}
    state.on = False  # what the function calls is part of it
    enabled, state.enabled = state.enabled, dict.fromkeys(state.enabled, False)
    try:
        return fn(*args, **kwargs)
    finally:
        state.on, state.enabled = True, enabled


def _wrap(fn: Callable, name: str) -> Callable:
    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return _run(fn, name, args, kwargs) if state.on else fn(*args, **kwargs)

    return wrapper


def install() -> None:
    """Put the wrappers in the place of the functions: in every module that has one of them, and on Tensor."""
    if _installed:
        return
    _installed.append(True)
    import tocha.fft
    import tocha.linalg
    import tocha.nn

    places = {"": (tocha, tocha.nn.functional), "linalg_": (tocha.linalg,), "fft_": (tocha.fft,)}
    wrappers: dict[int, tuple[Callable, Callable]] = {}
    for name in sorted({*_KINDS["cpu"], *_KINDS["cuda"]}):
        prefix = next((p for p in ("linalg_", "fft_") if name.startswith(p)), "")
        for place in places[prefix]:
            fn = getattr(place, name[len(prefix) :], None)
            if callable(fn) and id(fn) not in wrappers:
                wrappers[id(fn)] = fn, _wrap(fn, name)
        method = None if prefix else tocha.Tensor.__dict__.get(name)
        if method is not None:
            setattr(tocha.Tensor, name, wrappers[id(method)][1] if id(method) in wrappers else _wrap(method, name))
    for module in list(sys.modules.values()):
        contents = getattr(module, "__dict__", None)
        if type(contents) is not dict or module.__name__.startswith("tocha._core"):
            continue
        for key, value in list(contents.items()):
            pair = wrappers.get(id(value))
            if pair is not None and pair[0] is value:
                contents[key] = pair[1]
