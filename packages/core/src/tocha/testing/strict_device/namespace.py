"""The modules of the stand-in, `cupy` and `cupyx`: NumPy's and SciPy's functions behind CuPy's names and parameters."""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from . import cuda, indexing
from .array import ndarray
from .boundary import check_bound, host, on_host, wrap
from .counters import synchronised, uploaded
from .table import VERSION, module_table, signature
from .ufuncs import ufunc

__all__ = ["MODULES", "xp"]

# The size of the result is on the device, so the host has to wait for it.
_WAITING = set(
    "nonzero argwhere flatnonzero unique unique_all unique_counts unique_inverse unique_values extract compress "
    "setdiff1d setxor1d intersect1d union1d trim_zeros bincount".split()
)
# Facts about arrays, known to the host; every other result is an array.
_FACTS = set(
    "ndim size shape result_type can_cast promote_types common_type min_scalar_type isscalar iscomplexobj isrealobj "
    "issubdtype isdtype isfortran iterable broadcast_shapes may_share_memory shares_memory base_repr binary_repr "
    "array_repr array_str array2string format_float_positional format_float_scientific".split()
)
_PRINTING = {"array_repr", "array_str", "array2string"}
# These would hand host arrays to a callback, or read and write files.
_HOST_ONLY = set(
    "apply_along_axis apply_over_axes fromfunction piecewise from_dlpack load loadtxt genfromtxt fromfile frombuffer "
    "fromstring fromiter save savetxt savez savez_compressed generic_filter generic_filter1d "
    "generic_gradient_magnitude generic_laplace labeled_comprehension testing".split()
)
_CONTRACTIONS = {"matmul", "dot", "vdot", "inner", "outer", "tensordot", "einsum"}


class Module(types.ModuleType):
    """A module whose attributes are made when they are asked for, and which has only those that CuPy's module has."""

    def __init__(self, name: str, library: str, special: dict[str, Any]) -> None:
        super().__init__(name)
        self.__dict__.update(_name=name, _library=library, _special=special, __path__=[])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        special = self.__dict__["_special"]
        value = special[name] if name in special else self._make(name)
        setattr(self, name, value)
        return value

    def _make(self, name: str) -> Any:
        table = module_table(self._name)
        library = importlib.import_module(self._library)
        if name in table["ufuncs"]:
            loops = table["ufuncs"][name]
            return ufunc(name, self._of(library, name), loops["types"], "at" in loops)
        if name in table["functions"]:
            return _function(self.__name__, name, self._of(library, name), table["functions"][name])
        if name in table["others"].split() and _is_plain(getattr(library, name, library)):
            return getattr(library, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r} in CuPy {VERSION}")

    def _of(self, library: Any, name: str) -> Any:
        found = getattr(library, name, None)
        if found is None or name in _HOST_ONLY:
            raise AttributeError(f"the stand-in for CuPy does not imitate {self.__name__}.{name}")
        return found

    def __dir__(self) -> list[str]:
        table = module_table(self._name)
        return sorted({*table["functions"], *table["ufuncs"], *table["others"].split(), *self.__dict__["_special"]})


def _is_plain(value: Any) -> bool:
    """Whether NumPy's own object will do: dtypes, constants, exceptions, index helpers."""
    if isinstance(value, type):
        return issubclass(value, np.generic | np.dtype | np.iinfo | np.finfo | np.ndindex | Exception)
    return value is None or isinstance(value, float | type(np.s_))


def _function(module: str, name: str, function: Callable[..., Any], parameters: str) -> Callable[..., Any]:
    expected = signature(parameters)

    def contract(*args: Any, **kwargs: Any) -> Any:
        """CuPy multiplies bfloat16 into bfloat16; NumPy does not, or gives float32."""
        dtype = next((value.dtype for value in args if isinstance(value, np.ndarray) and value.dtype.kind == "V"), None)
        if dtype is None:
            return function(*args, **kwargs)
        wide = [v.astype(np.float32) if isinstance(v, np.ndarray) and v.dtype == dtype else v for v in args]
        same = all(value.dtype == dtype for value in args if isinstance(value, np.ndarray))
        return np.asarray(function(*wide, **kwargs)).astype(dtype if same else np.float32)

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = expected.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{module}.{name}({parameters}): {error}") from None
        check_bound(name, bound)
        if name in _WAITING or name in _PRINTING:
            synchronised()
        result = on_host(contract if name in _CONTRACTIONS else function, *args, **kwargs)
        if name in _FACTS:
            return result
        if isinstance(result, bool | int | float | complex):
            result = np.asarray(result)
        return wrap(result, *args, *kwargs.values())

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{module}.{name}({parameters})"
    return call


# -- functions of `cupy` that are not NumPy's ----------------------------------------------------------------------


def array(
    obj: Any, dtype: Any = None, copy: bool | None = True, order: Any = "K", subok: bool = False, ndmin: int = 0,
    *, blocking: bool = False,
) -> ndarray:  # fmt: skip
    """A device array of a device array, of a NumPy array (an upload), or of nested lists of numbers (likewise)."""
    if isinstance(obj, ndarray):
        source = obj if obj._device == cuda.current_device() else ndarray._of(obj._host.copy(), cuda.current_device())
        made = source._host if dtype is None else source.astype(dtype, copy=False)._host
        made = np.array(made, copy=copy, order=order, ndmin=ndmin)
        return source if made is source._host else wrap(made, source)
    if isinstance(obj, list | tuple) and _holds_arrays(obj):
        return ndarray._of(np.array(_host_nest(obj), dtype, order=order, ndmin=ndmin), cuda.current_device())
    made = np.array(obj, dtype, order=order, ndmin=ndmin)
    if made.dtype.kind not in "biufcV":
        raise ValueError(f"Unsupported dtype {made.dtype}")
    uploaded()
    return ndarray._of(made, cuda.current_device())


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, blocking: bool = False, copy: bool | None = None
) -> ndarray:
    """As `array`, without a copy where the device array is there already."""
    return array(a, dtype, copy, order or "K")


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    return _laid_out(a, dtype, "C")


def asfortranarray(a: Any, dtype: Any = None) -> ndarray:
    return _laid_out(a, dtype, "F")


def _laid_out(a: Any, dtype: Any, order: str) -> ndarray:
    made = array(a, dtype, None, order)
    return made[None] if made.ndim == 0 else made


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> np.ndarray:
    """A NumPy array with the values of `a`."""
    if isinstance(a, ndarray):
        return a.get(stream, order, out, blocking)
    return np.asarray(a, order=order)  # type: ignore[call-overload]


def empty(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    return ndarray(shape, dtype, order=order)


def empty_like(prototype: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> ndarray:
    made = wrap(on_host(np.empty_like, prototype, dtype, order, True, shape))
    made._host[...] = ndarray(made.shape, made.dtype)._host
    return made


class broadcast:
    """The shape to which arrays broadcast, and the arrays broadcast to it."""

    def __init__(self, *arrays: Any) -> None:
        hosts = np.broadcast_arrays(*map(host, arrays))
        self.shape: tuple[int, ...] = hosts[0].shape
        self.nd, self.size = hosts[0].ndim, hosts[0].size
        self.values = tuple(wrap(value, *arrays) for value in hosts)


def get_array_module(*args: Any) -> Any:
    return xp if any(isinstance(value, ndarray) for value in args) else np


def take(a: ndarray, indices: Any, axis: int | None = None, out: ndarray | None = None) -> ndarray:
    return a.take(indices, axis, out)  # type: ignore[attr-defined]


def take_along_axis(a: ndarray, indices: ndarray, axis: int | None) -> ndarray:
    source = host(a).reshape(-1) if axis is None else host(a)
    axis = 0 if axis is None else axis
    return wrap(np.take_along_axis(source, np.mod(host(indices), max(source.shape[axis], 1)), axis))


def put_along_axis(arr: ndarray, indices: ndarray, values: Any, axis: int) -> None:
    np.put_along_axis(host(arr), np.mod(host(indices), max(arr.shape[axis], 1)), host(values), axis)


def astype(x: ndarray, dtype: Any, *, copy: bool = True) -> ndarray:
    return x.astype(dtype, copy=copy)


def _holds_arrays(nest: Any) -> bool:
    return any(isinstance(item, ndarray) or (isinstance(item, list | tuple) and _holds_arrays(item)) for item in nest)


def _host_nest(nest: Any) -> Any:
    return [_host_nest(item) if isinstance(item, list | tuple) else host(item) for item in nest]


_OWN = (
    array, asarray, ascontiguousarray, asfortranarray, asnumpy, astype, empty, empty_like, get_array_module,
    put_along_axis, take, take_along_axis,
)  # fmt: skip


def _make_modules() -> dict[str, types.ModuleType]:
    from .random import special as random_names

    linalg = Module("cupy.linalg", "numpy.linalg", {})
    fft = Module("cupy.fft", "numpy.fft", {})
    random = Module("cupy.random", "numpy.random", random_names)
    stride_tricks = Module("cupy.lib.stride_tricks", "numpy.lib.stride_tricks", {})
    lib = types.ModuleType("cupy.lib")
    lib.__dict__.update(stride_tricks=stride_tricks)
    exceptions = types.ModuleType("cupy.exceptions")
    exceptions.__dict__.update({name: getattr(np.exceptions, name) for name in ("AxisError", "ComplexWarning")})
    cupy = Module(
        "cupy",
        "numpy",
        {
            **{function.__name__: function for function in _OWN},
            "asanyarray": asarray,
            "broadcast": broadcast,
            "cuda": cuda.make_module(),
            "exceptions": exceptions,
            "fft": fft,
            "get_default_memory_pool": cuda.MemoryPool,
            "is_available": lambda: True,
            "lib": lib,
            "linalg": linalg,
            "ndarray": ndarray,
            "random": random,
            "ufunc": ufunc,
        },
    )
    special = Module("cupyx.scipy.special", "scipy.special", {})
    scipy_linalg = Module("cupyx.scipy.linalg", "scipy.linalg", {})
    ndimage = Module("cupyx.scipy.ndimage", "scipy.ndimage", {})
    scipy = types.ModuleType("cupyx.scipy")
    scipy.__dict__.update(special=special, linalg=scipy_linalg, ndimage=ndimage, get_array_module=get_array_module)
    rsqrt = module_table("cupyx")["ufuncs"]["rsqrt"]
    cupyx = Module(
        "cupyx",
        "numpy",
        {
            "rsqrt": ufunc("rsqrt", lambda x: 1 / np.sqrt(x), rsqrt["types"], False),
            "scatter_add": lambda a, slices, value: indexing.scatter("add", a, slices, value),
            "scatter_max": lambda a, slices, value: indexing.scatter("maximum", a, slices, value),
            "scatter_min": lambda a, slices, value: indexing.scatter("minimum", a, slices, value),
            "scipy": scipy,
        },
    )
    plain = [cupy.cuda, cupy.cuda.runtime, exceptions, lib, scipy]
    imitated = [cupy, linalg, fft, random, stride_tricks, cupyx, special, scipy_linalg, ndimage]
    return {module.__name__: module for module in (*imitated, *plain)}


MODULES = _make_modules()
"""Every module of the stand-in by the name under which a program would import it."""
xp = MODULES["cupy"]
