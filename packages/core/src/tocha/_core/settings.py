"""Settings of the process: threads, determinism, precision, warnings. The names are PyTorch's."""

from __future__ import annotations

import ctypes
import functools
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import dtypes
from .devices import set_default_device

# ---------------------------------------------------------------- threads


@functools.cache
def _openblas() -> tuple[Callable, Callable] | None:
    """The functions that set and get the number of threads of the OpenBLAS inside NumPy, where there is one."""
    folder = Path(np.__file__).parent
    for path in [*folder.parent.glob("numpy.libs/*openblas*"), *folder.glob(".dylibs/*openblas*")]:
        library = ctypes.CDLL(str(path))
        for prefix in ("scipy_openblas", "openblas"):
            for suffix in ("64_", ""):
                try:
                    return getattr(library, f"{prefix}_set_num_threads{suffix}"), getattr(
                        library, f"{prefix}_get_num_threads{suffix}"
                    )
                except AttributeError:
                    continue
    return None


_threads: int | None = None
_interop_threads: int | None = None


def get_num_threads() -> int:
    """The number of threads that matrix products use (other operators use one)."""
    found = _openblas()
    if found is not None:
        return int(found[1]())
    return _threads or int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)


def set_num_threads(num: int) -> None:
    """Set the number of threads that matrix products use.

    Raises:
        TypeError, RuntimeError: ``num`` is no positive integer.
    """
    global _threads
    if not isinstance(num, int):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    if num <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    _threads = num
    found = _openblas()
    if found is None:
        warnings.warn(
            "NumPy's BLAS is not OpenBLAS: set OMP_NUM_THREADS before the program starts to limit its threads",
            stacklevel=2,
        )
        return
    found[0](num)


def get_num_interop_threads() -> int:
    """The number of operators that run at once: 1, or what was set."""
    return _interop_threads or 1


def set_num_interop_threads(num: int) -> None:
    """Kept for ``get_num_interop_threads``; operators run one after the other here.

    Raises:
        RuntimeError: ``num`` is no positive integer.
    """
    global _interop_threads
    if not isinstance(num, int):
        raise RuntimeError(f"set_num_interop_threads expects an int, but got {type(num).__name__}")
    if num <= 0:
        raise RuntimeError("Expected num_interop_threads to be positive")
    _interop_threads = num


# ---------------------------------------------------------------- determinism

_deterministic = {"mode": False, "warn_only": False}
_DEBUG_MODES = ("default", "warn", "error")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for deterministic algorithms. Those of the CPU are so always; on CUDA, sums by ``scatter`` and its like are
    not.

    Raises:
        TypeError: ``mode`` is no bool.
    """
    if not isinstance(mode, bool):
        raise TypeError(
            f"_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not {type(mode).__name__}"
        )
    _deterministic.update(mode=mode, warn_only=bool(warn_only))


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic algorithms were asked for."""
    return _deterministic["mode"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether a lack of them is only to be warned of."""
    return _deterministic["warn_only"]


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """0 or "default", 1 or "warn", 2 or "error": ``use_deterministic_algorithms`` in one number.

    Raises:
        TypeError, RuntimeError: something else.
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = _DEBUG_MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 (warn) or 2 (error)."""
    return 0 if not _deterministic["mode"] else 1 if _deterministic["warn_only"] else 2


# ---------------------------------------------------------------- precision, warnings, defaults

_precision = "highest"
_warn_always = False


def get_float32_matmul_precision() -> str:
    """What ``set_float32_matmul_precision`` was given, "highest" at first."""
    return _precision


def set_float32_matmul_precision(precision: str) -> None:
    """Allow float32 matrix products to round to fewer bits: "highest", "high" or "medium".

    A permission that is not used: products are computed in float32.

    Raises:
        RuntimeError: another value.
    """
    global _precision
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"invalid value of precision, expected one of `highest`, `high`, `medium`, but got {precision}"
        )
    _precision = precision


def set_warn_always(b: bool) -> None:
    """Kept for ``is_warn_always_enabled``: how often a warning shows is for Python's ``warnings`` filters to say.

    Raises:
        RuntimeError: ``b`` is no bool.
    """
    global _warn_always
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _warn_always = b


def is_warn_always_enabled() -> bool:
    """What ``set_warn_always`` was given, False at first."""
    return _warn_always


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by a tensor class or its name, such as ``"tocha.DoubleTensor"`` or
    ``"torch.cuda.FloatTensor"``.

    Raises:
        TypeError: it is not the class of a floating-point dtype. AttributeError: there is no such class.
    """
    import tocha

    found, kind = t, "cpu"
    if isinstance(t, str):
        parts = t.split(".")
        kind = "cuda" if "cuda" in parts else "cpu"
        found = getattr(tocha, parts[-1])
    dtype = getattr(found, "dtype", None)
    if not isinstance(dtype, dtypes.dtype) or not dtype.is_floating_point:
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    dtypes.set_default_dtype(dtype)
    set_default_device(kind)


def get_device_module(device: Any = None) -> Any:
    """The module of a device type: ``tocha.cpu`` or ``tocha.cuda``.

    Raises:
        RuntimeError: not a device.
    """
    import tocha

    from .devices import device as Device

    if device is not None and not isinstance(device, (str, Device)):
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    kind = (tocha.get_default_device() if device is None else Device(device)).type
    module = getattr(tocha, kind, None)
    if module is None:
        raise RuntimeError(f"Device '{device}' does not have a corresponding module registered as 'tocha.{kind}'.")
    return module
