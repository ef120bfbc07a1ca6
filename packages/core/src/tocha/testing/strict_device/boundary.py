"""The border between host and device: what an operation may take, and how its result comes back.

The stand-in's arrays lie in host memory, but nothing may use that: every operation passes here, where NumPy arrays,
lists of numbers, and arrays of a device that is not current are refused.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .array import ndarray
from .cuda import current_device

__all__ = ["check_bound", "host", "on_host", "wrap"]

# Parameters that stand for an array: a number or a list is not one.
_ARRAYS = set(
    "a b x y x1 x2 arr ary ar ar1 ar2 array m v values value A B p indices ind condition element test_elements weights "
    "xp fp".split()
)
_NUMBERS_TOO = set("b y x2 v values value indices ind test_elements".split())
_ANYTHING = {"isscalar", "ndim", "shape", "iscomplexobj", "isrealobj", "min_scalar_type", "iterable"}


def host(value: Any) -> Any:
    """The NumPy arrays behind device arrays, in nests of lists and tuples too.

    Raises:
        TypeError: a NumPy array was passed.
        ValueError: an array lies on a device that is not current.
    """
    if isinstance(value, ndarray):
        if value._device != current_device():
            raise ValueError(
                f"The device where the array resides ({value._device}) is different from the current device "
                f"({current_device()}). Run the operation inside `with cuda.Device({value._device}):`"
            )
        return value._host
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>: copy it to the device with xp.asarray first")
    if type(value) in (tuple, list):
        return type(value)(map(host, value))
    return value


def on_host(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a NumPy or SciPy function on the host arrays; as on a GPU, no numerical trouble is reported."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(*map(host, args), **{name: host(value) for name, value in kwargs.items()})


def wrap(result: Any, *sources: Any) -> Any:
    """Device arrays for NumPy's results (scalars become 0-d); one that aliases a source becomes its view."""
    if isinstance(result, np.ndarray | np.generic):
        for source in sources:
            if isinstance(source, ndarray) and isinstance(result, np.ndarray):
                if result is source._host:
                    return source
                if np.may_share_memory(result, source._host):
                    return ndarray._of(result, source._device, source)
        return ndarray._of(np.asarray(result), current_device())
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*(wrap(item, *sources) for item in result))
    if isinstance(result, tuple | list):
        return type(result)(wrap(item, *sources) for item in result)
    return result


def check_bound(name: str, bound: inspect.BoundArguments) -> None:
    """Refuse numbers and lists where CuPy takes arrays only."""
    if name in _ANYTHING:
        return
    for parameter, value in bound.arguments.items():
        if parameter not in _ARRAYS or isinstance(value, ndarray) or value is None:
            continue
        number = isinstance(value, bool | int | float | complex | np.generic)
        if number and name == "where":  # a ufunc behind a function: its choices may be numbers
            continue
        if isinstance(value, list | tuple) or (number and parameter not in _NUMBERS_TOO):
            raise TypeError(f"cupy.{name}: expected {parameter!r} to be a cupy.ndarray, got {type(value).__name__}")
