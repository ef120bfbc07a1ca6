"""Data types: PyTorch's names and facts over NumPy's dtypes, and PyTorch's promotion rules.

Source of the rules: https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

BOOL, INTEGRAL, FLOATING, COMPLEX = 0, 1, 2, 3


class dtype:
    """The type of a tensor's elements, such as ``tocha.float32``.

    Example:
        >>> import tocha
        >>> tocha.float32.itemsize, tocha.int64.is_floating_point
        (4, False)
    """

    __slots__ = ("name", "_np", "itemsize", "category", "is_signed")

    def __init__(self, name: str, numpy_name: str | None, itemsize: int, category: int, is_signed: bool = True) -> None:
        self.name = name
        self._np = None if numpy_name is None else np.dtype(numpy_name)
        self.itemsize, self.category, self.is_signed = itemsize, category, is_signed

    @property
    def np(self) -> np.dtype:
        """NumPy's dtype; ``bfloat16`` and the 8-bit floats come from ml_dtypes, imported on first use."""
        if self._np is None:
            import ml_dtypes

            self._np = np.dtype(getattr(ml_dtypes, _ML_NAMES.get(self.name, self.name)))
            _OF[self._np] = self
        return self._np

    @property
    def is_floating_point(self) -> bool:
        """Whether it is one of the real floating-point types."""
        return self.category == FLOATING

    @property
    def is_complex(self) -> bool:
        """Whether it is ``complex64`` or ``complex128``."""
        return self.category == COMPLEX

    def to_complex(self) -> dtype:
        """The complex type of the same precision."""
        return {"float64": complex128, "complex128": complex128}.get(self.name, complex64)

    def to_real(self) -> dtype:
        """The real type of the same precision."""
        return {"complex128": float64, "complex64": float32}.get(self.name, self)

    def __repr__(self) -> str:
        return f"tocha.{self.name}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return _by_name, (self.name,)

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: dict) -> dtype:
        return self


_ML_NAMES = {"float8_e4m3fn": "float8_e4m3fn", "float8_e5m2": "float8_e5m2"}

bool_ = dtype("bool", "bool", 1, BOOL, False)
uint8 = dtype("uint8", "uint8", 1, INTEGRAL, False)
uint16 = dtype("uint16", "uint16", 2, INTEGRAL, False)
uint32 = dtype("uint32", "uint32", 4, INTEGRAL, False)
uint64 = dtype("uint64", "uint64", 8, INTEGRAL, False)
int8 = dtype("int8", "int8", 1, INTEGRAL)
int16 = dtype("int16", "int16", 2, INTEGRAL)
int32 = dtype("int32", "int32", 4, INTEGRAL)
int64 = dtype("int64", "int64", 8, INTEGRAL)
float16 = dtype("float16", "float16", 2, FLOATING)
bfloat16 = dtype("bfloat16", None, 2, FLOATING)
float32 = dtype("float32", "float32", 4, FLOATING)
float64 = dtype("float64", "float64", 8, FLOATING)
complex64 = dtype("complex64", "complex64", 8, COMPLEX)
complex128 = dtype("complex128", "complex128", 16, COMPLEX)

ALL = (bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64,
       float16, bfloat16, float32, float64, complex64, complex128)  # fmt: skip
_NAMES = {d.name: d for d in ALL}
_OF: dict[np.dtype, dtype] = {d._np: d for d in ALL if d._np is not None}
_PYTHON = {bool: bool_, int: int64, float: float32, complex: complex64}
# PyTorch's names of the Python scalar's category inside a promotion
_BY_CATEGORY: list[Any] = [bool_, int64, None, None]

NP_BOOL, NP_INT64 = np.dtype("bool"), np.dtype("int64")
NP_FLOAT16, NP_FLOAT32, NP_FLOAT64 = np.dtype("float16"), np.dtype("float32"), np.dtype("float64")


def _by_name(name: str) -> dtype:
    return _NAMES[name]


def of(np_dtype: np.dtype) -> dtype:
    """The dtype for NumPy's."""
    found = _OF.get(np_dtype)
    if found is not None:
        return found
    if np_dtype.name in _NAMES:
        own = _NAMES[np_dtype.name]
        if own.np == np_dtype or np_dtype.newbyteorder("=") == own.np:
            return own
    raise TypeError(
        f"can't convert np.ndarray of type {np_dtype}. The only supported types are: float64, float32, float16, "
        "complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
    )


def as_numpy(value: Any) -> np.dtype:
    """NumPy's dtype for a ``dtype``, a Python type (``float`` means the default dtype's float64 as in PyTorch) or a
    NumPy dtype."""
    if type(value) is dtype:
        return value.np
    if value is float:
        return NP_FLOAT64
    if value is int:
        return NP_INT64
    if value is bool:
        return NP_BOOL
    if value is complex:
        return complex128.np
    if isinstance(value, np.dtype):
        return value
    raise TypeError(f"dtype must be tocha.dtype, not {type(value).__name__}")


_default = NP_FLOAT32


def default_np() -> np.dtype:
    """NumPy's dtype of the default floating type."""
    return _default


def get_default_dtype() -> dtype:
    """The floating dtype that new tensors of Python floats get (float32 until it is set)."""
    return of(_default)


def set_default_dtype(d: dtype) -> None:
    """Set the default floating dtype.

    Raises:
        TypeError: ``d`` is not a floating-point dtype.
    """
    global _default
    if type(d) is not dtype or not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _default = d.np
    promote_np.cache_clear()
    result_np.cache_clear()


def category(np_dtype: np.dtype) -> int:
    kind = np_dtype.kind
    if kind == "f" or kind == "V":
        return FLOATING
    return BOOL if kind == "b" else COMPLEX if kind == "c" else INTEGRAL


def is_differentiable_np(np_dtype: np.dtype) -> bool:
    return np_dtype.kind in "fcV"


def default_complex_np() -> np.dtype:
    return complex128.np if _default is NP_FLOAT64 else complex64.np


@functools.lru_cache(maxsize=1024)
def promote_np(a: np.dtype, b: np.dtype) -> np.dtype:
    """PyTorch's ``promote_types`` on NumPy dtypes."""
    if a == b:
        return a
    ca, cb = category(a), category(b)
    if ca < cb:
        a, b, ca, cb = b, a, cb, ca
    if cb < FLOATING and ca >= FLOATING or cb == BOOL:
        return a
    if ca == COMPLEX:
        wide = a == complex128.np or b == complex128.np or b == NP_FLOAT64
        return complex128.np if wide else complex64.np
    if ca == FLOATING:
        if a.itemsize == b.itemsize:  # float16 with bfloat16
            return NP_FLOAT32
        return a if a.itemsize > b.itemsize else b
    if "uint" in a.name and "uint" not in b.name or "uint" in b.name and "uint" not in a.name:
        unsigned = a if "uint" in a.name else b
        if unsigned.itemsize > 1:
            raise RuntimeError(
                f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {of(a)} and {of(b)}"
            )
    return np.promote_types(a, b)


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that holds both, by PyTorch's rules.

    Example:
        >>> import tocha
        >>> tocha.promote_types(tocha.int32, tocha.float32)
        tocha.float32
    """
    return of(promote_np(type1.np, type2.np))


@functools.lru_cache(maxsize=4096)
def result_np(dim: np.dtype | None, zero: np.dtype | None, wrapped: int) -> np.dtype:
    """Result of promoting dimensioned tensors ``dim``, 0-d tensors ``zero`` and Python scalars of category ``wrapped``
    (-1: none).

    A lower tier counts only where its category is higher than that of the tiers above it.
    """
    scalar: np.dtype | None = None
    if wrapped >= 0:
        scalar = (NP_BOOL, NP_INT64, _default, default_complex_np())[wrapped]
    result = dim
    for lower in (zero, scalar):
        if lower is None:
            continue
        if result is None:
            result = lower
        elif category(lower) > category(result):
            if lower.kind == "c" and result.kind in "fV":
                result = of(result).to_complex().np
            else:
                result = promote_np(result, lower)
    assert result is not None
    return result


def scalar_category(value: Any) -> int:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INTEGRAL
    if isinstance(value, float):
        return FLOATING
    if isinstance(value, complex):
        return COMPLEX
    category_of = getattr(value, "scalar_category", None)  # symbolic sizes and scalars say theirs
    if category_of is not None:
        return category_of
    if isinstance(value, np.generic):
        return category(value.dtype)
    raise TypeError(f"expected a number, got {type(value).__name__}")


def can_cast_category(source: np.dtype, target: np.dtype) -> bool:
    """Whether an in-place or ``out=`` result may be stored: never to a lower category."""
    cs, ct = category(source), category(target)
    return cs <= ct or cs == ct


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether PyTorch's type promotion allows a cast of a result of type ``from_`` into ``to``.

    Example:
        >>> import tocha
        >>> tocha.can_cast(tocha.float64, tocha.int32)
        False
    """
    return can_cast_category(from_.np, to.np)


class finfo:
    """Limits of a floating-point type, as ``torch.finfo``: ``eps``, ``max``, ``min``, ``tiny``, ``bits``,
    ``resolution``.

    Example:
        >>> import tocha
        >>> tocha.finfo(tocha.float32).bits
        32
    """

    def __init__(self, type: dtype | None = None) -> None:
        d = get_default_dtype() if type is None else type
        if d.category < FLOATING:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        d = d.to_real()
        if d.name == "bfloat16":
            import ml_dtypes

            info: Any = ml_dtypes.finfo(d.np)
        else:
            info = np.finfo(d.np)
        self.bits, self.dtype = info.bits, d.name
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.resolution = 10.0 ** -math.floor(-math.log10(self.eps))

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")  # fmt: skip


class iinfo:
    """Limits of an integer type, as ``torch.iinfo``: ``max``, ``min``, ``bits``.

    Example:
        >>> import tocha
        >>> tocha.iinfo(tocha.int8).max
        127
    """

    def __init__(self, type: dtype) -> None:
        if type.category != INTEGRAL:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        info = np.iinfo(type.np)
        self.bits, self.max, self.min, self.dtype = info.bits, int(info.max), int(info.min), type.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
