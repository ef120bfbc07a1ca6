"""Ufuncs with CuPy's loops: the first that fits is chosen, which decides the result's dtype."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .array import ndarray
from .boundary import host, wrap
from .indexing import scatter

__all__ = ["ufunc"]

_WEAK = (int, float, complex)
_KINDS = {"b": 0, "i": 1, "u": 1}


class ufunc:
    """An elementwise function over arrays and numbers; `types` are CuPy's loops, `->` between inputs and outputs."""

    def __init__(self, name: str, function: Any, types: str, at: bool) -> None:
        self.name = f"cupy_{name}"
        self.__name__ = name
        self.types = types.split()
        self.nin, self.nout = map(len, self.types[0].split("->"))
        self.nargs = self.nin + self.nout
        self._function = function
        self._at = at
        self._compares = self.nin == 2 and all(loop.endswith("->?") for loop in self.types)
        self._loops = [_parse(loop) for loop in self.types]

    def __repr__(self) -> str:
        return f"<ufunc '{self.name}'>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        dtype = kwargs.pop("dtype", None)
        casting = kwargs.pop("casting", "same_kind")
        if kwargs:
            raise TypeError(f"Wrong arguments {kwargs}: cupy.{self.__name__} takes out, dtype and casting only")
        if not self.nin <= len(args) <= self.nargs:
            raise TypeError(f"Wrong number of arguments for {self.name!r}: {self.nin} to {self.nargs}, got {len(args)}")
        inputs = [self._input(value) for value in args[: self.nin]]
        outputs = args[self.nin :] or (out if isinstance(out, tuple) else () if out is None else (out,))
        in_dtypes, out_dtypes = self._loop(inputs, None if dtype is None else np.dtype(dtype))
        results = self._compute(inputs, in_dtypes, out_dtypes)
        if not outputs:
            return wrap(results[0] if self.nout == 1 else tuple(results))
        for result, target in zip(results, outputs, strict=True):
            if not isinstance(target, ndarray):
                raise TypeError(f"return arrays must be of cupy.ndarray, got {type(target).__name__}")
            if not np.can_cast(result.dtype, target.dtype, casting):
                raise TypeError(f"output (typecode {result.dtype.char!r}) could not be coerced to {target.dtype}")
            if np.broadcast_shapes(result.shape, target.shape) != target.shape:
                raise ValueError(f"non-broadcastable output operand with shape {target.shape} for {result.shape}")
            host(target)[...] = result
        return outputs[0] if self.nout == 1 else tuple(outputs)

    def _input(self, value: Any) -> Any:
        if isinstance(value, ndarray | np.ndarray):
            return host(value)
        if isinstance(value, bool | np.generic | int | float | complex):
            return value
        raise TypeError(f"Unsupported type {type(value)}")

    def _loop(self, inputs: list[Any], dtype: np.dtype | None) -> tuple[list[np.dtype], list[np.dtype]]:
        if dtype is not None:
            fitting = (loop for loop in self._loops if all(out == dtype for out in loop[1]))
        else:
            found, weak = self._operand_types(inputs)
            fitting = (
                loop for loop in self._loops if all(_fits(d, w, target) for d, w, target in zip(found, weak, loop[0]))
            )
        loop = next(fitting, None)
        if loop is None:
            given = dtype if dtype is not None else tuple(np.asarray(value).dtype.name for value in inputs)
            raise TypeError(f"Wrong type ({given}) of arguments for {self.name}")
        return loop

    def _operand_types(self, inputs: list[Any]) -> tuple[list[np.dtype], list[type | None]]:
        """Dtypes, and for Python numbers that adapt to the arrays their type."""
        weak = [type(value) if type(value) in _WEAK else None for value in inputs]
        found = [np.asarray(value).dtype for value in inputs]
        strong = [_kind(dtype) for dtype, number in zip(found, weak) if number is None]
        numbers = [_kind(dtype) for dtype, number in zip(found, weak) if number is not None]
        # A number of a higher kind than every array counts as int64, float64 or complex128, as in NumPy.
        adapts = bool(strong and numbers) and max(strong) >= max(numbers)
        # An integer compared with integers may lie outside their range.
        if adapts and self._compares and max(strong) == 1:
            adapts = False
        return found, weak if adapts else [None] * len(weak)

    def _compute(self, inputs: list[Any], in_dtypes: list[np.dtype], out_dtypes: list[np.dtype]) -> list[np.ndarray]:
        arrays = [np.asarray(value, target) if type(value) in _WEAK else np.asarray(value).astype(target, copy=False)
                  for value, target in zip(inputs, in_dtypes)]  # fmt: skip
        with np.errstate(all="ignore"):
            try:
                results = self._function(*arrays)
            except TypeError:
                # NumPy and SciPy lack some loops for 16-bit floats that CuPy has.
                results = self._function(*(a.astype(np.float32) if a.itemsize == 2 else a for a in arrays))
        results = results if self.nout > 1 else (results,)
        return [np.asarray(result).astype(target, copy=False) for result, target in zip(results, out_dtypes)]

    def at(self, a: ndarray, indices: Any, b: Any = None) -> None:
        if not self._at:
            raise NotImplementedError(f"`{self.name}.at` is not supported yet")
        scatter(self.__name__, a, indices, b)

    def reduce(self, array: ndarray, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        method = self._reduction("reduce", {"add": "sum", "multiply": "prod"})
        return getattr(array, method)(axis, dtype, out, keepdims)

    def accumulate(self, array: ndarray, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        return getattr(array, self._reduction("accumulate", {"add": "cumsum", "multiply": "cumprod"}))(axis, dtype, out)

    def reduceat(self, array: ndarray, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        self._reduction("reduceat", {"add": "reduceat"})
        return wrap(np.add.reduceat(host(array), host(indices), axis, dtype, None if out is None else host(out)), out)

    def outer(self, A: ndarray, B: ndarray, **kwargs: Any) -> Any:
        return self(A[(...,) + (None,) * B.ndim], B, **kwargs)

    def _reduction(self, kind: str, methods: dict[str, str]) -> str:
        if self.__name__ not in methods:
            raise NotImplementedError(f"`{self.name}.{kind}` is not supported yet")
        return methods[self.__name__]


def _parse(loop: str) -> tuple[list[np.dtype], list[np.dtype]]:
    inputs, outputs = loop.split("->")
    return _dtypes(inputs), _dtypes(outputs)


def _dtypes(characters: str) -> list[np.dtype]:
    return [_bfloat16() if character == "E" else np.dtype(character) for character in characters]


def _bfloat16() -> np.dtype:
    return np.dtype(importlib.import_module("ml_dtypes").bfloat16)


def _kind(dtype: np.dtype) -> int:
    return _KINDS.get(dtype.kind, 2)


def _fits(dtype: np.dtype, weak: type | None, target: np.dtype) -> bool:
    if np.can_cast(dtype, target):
        return True
    if weak is None:
        return False
    try:
        return np.result_type(weak(0), target) == target
    except TypeError:
        return False
