"""`cupy.random`: NumPy's streams behind the methods that CuPy's `RandomState` and `Generator` have."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .boundary import check_bound, on_host, wrap
from .table import class_table, module_table, signature

__all__ = ["special"]


def _drawing(owner: str, name: str, parameters: str, draw: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """A function that draws; CuPy's `dtype` is applied to the result where NumPy's function has none."""
    expected = signature(parameters)

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = expected.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{owner}.{name}({parameters}): {error}") from None
        check_bound(name, bound)
        function = draw()
        dtype = None
        if "dtype" in expected.parameters and not _takes_dtype(function):
            dtype = bound.arguments.pop("dtype", None)
        result = on_host(function, *bound.args, **bound.kwargs)
        if result is None:
            return None
        return wrap(np.asarray(result) if dtype is None else np.asarray(result).astype(dtype))

    call.__name__ = name
    return call


def _takes_dtype(function: Callable[..., Any]) -> bool:
    try:
        return "dtype" in inspect.signature(function).parameters
    except ValueError:
        return "dtype=" in (function.__doc__ or "").partition("\n\n")[0]


def _make_class(name: str, make_host: Callable[[Any], Any]) -> type:
    methods = class_table(name)["methods"]

    class Source:
        def __init__(self, seed: Any = None) -> None:
            self._source = make_host(seed)

        def __getattr__(self, method: str) -> Any:
            if method.startswith("_") or method not in methods:
                raise AttributeError(f"cupy.random.{name} has no method {method!r}")
            return _drawing(name, method, methods[method], lambda: getattr(self._source, method))

    Source.__name__ = Source.__qualname__ = name
    return Source


RandomState = _make_class("RandomState", np.random.RandomState)
Generator = _make_class("Generator", np.random.default_rng)
_state = RandomState()


def _of_state(method: str) -> Any:
    return getattr(_state._source, method)


def _module_functions() -> dict[str, Any]:
    table = module_table("cupy.random")["functions"]
    same = set(class_table("RandomState")["methods"]) & set(table)
    functions = {name: _drawing("cupy.random", name, table[name], functools.partial(_of_state, name)) for name in same}
    for alias in ("random", "sample", "ranf"):
        functions[alias] = _drawing("cupy.random", alias, table[alias], functools.partial(_of_state, "random_sample"))
    return functions


special: dict[str, Any] = {
    **_module_functions(),
    "Generator": Generator,
    "RandomState": RandomState,
    "default_rng": Generator,
    "get_random_state": lambda: _state,
}
