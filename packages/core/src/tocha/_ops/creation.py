"""New tensors, filled or ranges, on any device, under tracing too; ``from_data.py`` has those of given values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core import arrays, dtypes, layouts, tracing
from .._core.abstract import Meta
from .._core.broadcast import operators
from .._core.devices import as_device
from .._core.families import method
from .._core.inplace import check_writable, store, write_back
from .._core.record import ABSTRACT, Op
from .._core.tensor import Tensor
from .dims import sizes_of
from .from_data import finished, placed, python_dtype, tensor_like

__all__ = ["arange", "empty", "empty_like", "empty_permuted", "empty_strided", "eye", "full", "full_like", "linspace",
           "logspace", "ones", "ones_like", "scalar_tensor", "zeros", "zeros_like"]  # fmt: skip

# ---------------------------------------------------------------- primitives without tensor arguments

full_op = Op(
    "full",
    lambda xp, shape, value, dtype: xp.full(shape, value, dtype),
    None,
    lambda shape, value, dtype: (shape, dtype),
    arity=0,
)
_empty = Op(
    "empty", lambda xp, shape, dtype: xp.empty(shape, dtype), None, lambda shape, dtype: (shape, dtype), arity=0
)


def _arange_kernel(xp: Any, start: Any, step: Any, length: int, dtype: Any) -> Any:
    if dtype.kind in "iu":
        return (xp.arange(length, dtype=np.int64) * step + start).astype(dtype)
    return (xp.arange(length, dtype=np.float64) * step + start).astype(dtype)


_arange = Op("arange", _arange_kernel, None, lambda start, step, length, dtype: ((length,), dtype), arity=0)


def _eye_kernel(xp: Any, n: int, m: int, dtype: Any) -> Any:
    return xp.eye(n, m, dtype=dtype)


_eye = Op("eye", _eye_kernel, None, lambda n, m, dtype: ((n, m), dtype), arity=0)


def create(op: Op, attrs: tuple, device: Any, requires_grad: bool = False) -> Tensor:
    """Run a primitive without tensor arguments on a device (a traced value where a tracer is in charge)."""
    target = as_device(device)
    if tracing.active is not None and target.type == "cpu":
        raw = tracing.active.create(op, attrs)
    elif target.type == "cpu":
        raw = op.resolve(np.ndarray)(*attrs)
    elif target.type == "meta":
        raw = Meta(*op.infer(*attrs))  # type: ignore[misc]
    else:
        module = arrays.for_device_type(target.type)
        with module.xp.cuda.Device(target.index or 0):
            raw = op.resolve(module.array_type)(*attrs)
    return finished(raw, requires_grad)


def resolve_dtype(dtype: Any, default: Any = None) -> np.dtype:
    if dtype is None:
        return dtypes.default_np() if default is None else default
    return dtypes.as_numpy(dtype)


def _check_layout(layout: Any) -> None:
    if layout is not None and layout is not layouts.strided:
        raise RuntimeError(f"layout {layout!r} is not supported here: only tocha.strided is")


# ---------------------------------------------------------------- filled


def _sizes(size: tuple, name: str) -> tuple:
    shape = sizes_of(size, name)
    for s in shape:
        if type(s) is int and s < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {s}: {list(shape)}")
    return shape


def zeros(
    *size: Any,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of zeros of the given sizes."""
    _check_layout(layout)
    result = create(full_op, (_sizes(size, "zeros"), 0, resolve_dtype(dtype)), device, requires_grad)
    return result if out is None else store(out, result)


def ones(
    *size: Any,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of ones of the given sizes."""
    _check_layout(layout)
    result = create(full_op, (_sizes(size, "ones"), 1, resolve_dtype(dtype)), device, requires_grad)
    return result if out is None else store(out, result)


def empty(*size: Any, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
          requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None) -> Tensor:  # fmt: skip
    """A tensor of the given sizes whose values are undefined."""
    _check_layout(layout)
    result = create(_empty, (_sizes(size, "empty"), resolve_dtype(dtype)), device, requires_grad)
    if memory_format is not None:
        result = operators["contiguous"](result, memory_format)
    return result if out is None else store(out, result)


def full(size: Any, fill_value: Any, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
         requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A tensor filled with ``fill_value``; its dtype is inferred from the value."""
    _check_layout(layout)
    shape = _sizes((size,), "full") if not isinstance(size, int) else (size,)
    if isinstance(fill_value, Tensor):
        d = resolve_dtype(dtype, fill_value._data.dtype)
        if type(fill_value._data) in ABSTRACT:
            return operators["expand"](operators["cast"](fill_value, d), shape).clone()
        fill_value = fill_value.item()
    else:
        d = resolve_dtype(
            dtype, python_dtype(fill_value) if not hasattr(fill_value, "scalar_category") else dtypes.NP_INT64
        )
    result = create(full_op, (shape, fill_value, d), device, requires_grad)
    return result if out is None else store(out, result)


def scalar_tensor(
    s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A 0-d tensor of the default dtype (or ``dtype``)."""
    return full(
        (), s, dtype=dtypes.get_default_dtype() if dtype is None else dtype, device=device, requires_grad=requires_grad
    )


def _like(input: Tensor, dtype: Any, device: Any) -> tuple:
    if not isinstance(input, Tensor):
        raise TypeError(f"argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return tuple(input._data.shape), resolve_dtype(dtype, input._data.dtype), input.device if device is None else device


def _keep_strides(result: Tensor, input: Tensor, memory_format: Any) -> Tensor:
    """The result in the memory order of a dense ``input``, as ``preserve_format`` means."""
    raw = input._data
    if type(raw) is not np.ndarray or type(result._data) is not np.ndarray:
        return result
    if memory_format is not None and memory_format.name != "preserve_format":
        return operators["contiguous"](result, memory_format)
    if raw.ndim > 1 and not raw.flags.c_contiguous and raw.size:
        ordered = np.empty_like(raw, dtype=result._data.dtype)
        ordered[...] = result._data
        result._data = ordered
    return result


def zeros_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
               memory_format: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Zeros of the shape, dtype and device of ``input``."""
    shape, d, target = _like(input, dtype, device)
    return _keep_strides(create(full_op, (shape, 0, d), target, requires_grad), input, memory_format)


def ones_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
              memory_format: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Ones of the shape, dtype and device of ``input``."""
    shape, d, target = _like(input, dtype, device)
    return _keep_strides(create(full_op, (shape, 1, d), target, requires_grad), input, memory_format)


def empty_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
               memory_format: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A tensor with undefined values of the shape, dtype and device of ``input``."""
    shape, d, target = _like(input, dtype, device)
    return _keep_strides(create(_empty, (shape, d), target, requires_grad), input, memory_format)


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
              requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """``fill_value`` in the shape, dtype and on the device of ``input``."""
    shape, d, target = _like(input, dtype, device)
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    return _keep_strides(create(full_op, (shape, value, d), target, requires_grad), input, memory_format)


def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of the given sizes and strides (in elements) whose values are undefined."""
    d = resolve_dtype(dtype)
    shape, steps = tuple(size), tuple(stride)
    needed = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, steps))
    target = as_device(device)
    if target.type == "meta":  # whose arrays have no strides
        return finished(Meta(shape, d), requires_grad)
    buffer = np.empty(needed, d)
    raw = np.lib.stride_tricks.as_strided(buffer, shape, tuple(s * d.itemsize for s in steps))
    return finished(arrays.to_device(raw, target), requires_grad)


def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with undefined values whose dimensions lie in memory in the order ``physical_layout``, outermost
    first."""
    shape, order = tuple(size), tuple(physical_layout)
    if sorted(order) != list(range(len(shape))):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(shape)} is not equal to len(physical_layout) = {len(order)}"
            if len(order) != len(shape)
            else f"Duplicate dim not allowed in physical_layout {list(order)}"
        )
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d] = step
        step *= shape[d]
    return empty_strided(shape, strides, dtype=dtype, device=device, requires_grad=requires_grad)


# ---------------------------------------------------------------- ranges


def arange(*args: Any, start: Any = None, end: Any = None, step: Any = None, out: Any = None, dtype: Any = None,
           layout: Any = None,
           device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Values from ``start`` to ``end`` (excluded) by ``step``: ``arange(end)``, ``arange(start, end)``,
    ``arange(start, end, step)``.

    Raises:
        RuntimeError: ``step`` is 0 or leads away from ``end``.
    """
    values = [a.item() if isinstance(a, Tensor) else a for a in args]
    if len(values) == 1 and end is not None:
        start = values[0]
    elif len(values) == 1:
        start, end = 0 if start is None else start, values[0]
    elif len(values) >= 2:
        start, end = values[:2]
        step = values[2] if len(values) > 2 else step
    start, step = 0 if start is None else start, 1 if step is None else step
    if end is None:
        raise TypeError("arange() missing 1 required positional argument: 'end'")
    whole = not any(isinstance(v, float) for v in (start, end, step))
    d = resolve_dtype(dtype, dtypes.NP_INT64 if whole else None)
    symbolic = any(hasattr(v, "scalar_category") for v in (start, end, step))
    if not symbolic:
        if step == 0:
            raise RuntimeError("step must be nonzero")
        if not (math.isfinite(start) and math.isfinite(end)):
            raise RuntimeError(f"unsupported range: {start} -> {end}")
        if (end - start) * step < 0:
            raise RuntimeError("upper bound and lower bound inconsistent with step sign")
        length: Any = -((start - end) // step) if whole else math.ceil((end - start) / step)
        if d.kind in "iu" and not whole:
            start, step = int(start), int(step)
    else:
        length = end - start if type(step) is int and step == 1 else -((start - end) // step)
    result = create(_arange, (start, step, length, d), device, requires_grad)
    return result if out is None else store(out, result)


def linspace(start: Any, end: Any, steps: int, *, out: Any = None, dtype: Any = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """``steps`` values from ``start`` to ``end``, both included."""
    start, end = [v.item() if isinstance(v, Tensor) else v for v in (start, end)]
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    kind = dtypes.default_complex_np() if isinstance(start, complex) or isinstance(end, complex) else None
    d = resolve_dtype(dtype, kind)
    result = placed(_linspace_array(start, end, steps, d), device, requires_grad)
    return result if out is None else store(out, result)


def _linspace_array(start: Any, end: Any, steps: int, d: np.dtype) -> np.ndarray:
    """From both ends towards the middle, in the dtype itself, as PyTorch computes it."""
    if steps == 1:
        return np.full(1, start).astype(d)
    wide = d if d.kind in "fc" and d.itemsize > 2 else np.dtype(np.float32) if d.kind in "fV" else np.dtype(np.float64)
    i = np.arange(steps)
    if d.kind in "iu":
        step: Any = np.float32(end - start) / np.float32(steps - 1) if steps > 1 else 0
        low, high = start + step * i, end - step * (steps - i - 1)
        return np.where(i < steps // 2, low, high).astype(np.int64).astype(d)
    one = wide.type
    step = (one(end) - one(start)) / one(max(steps - 1, 1))
    low = one(start) + step * i.astype(wide)
    high = one(end) - step * (steps - i - 1).astype(wide)
    return np.where(i < steps // 2, low, high).astype(d)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, out: Any = None, dtype: Any = None,
             layout: Any = None,
             device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """``base`` to the powers ``linspace(start, end, steps)``."""
    start, end = [v.item() if isinstance(v, Tensor) else v for v in (start, end)]
    kind = dtypes.default_complex_np() if isinstance(start, complex) or isinstance(end, complex) else None
    d = resolve_dtype(dtype, kind)
    exponents = _linspace_array(start, end, steps, d if d.kind in "fc" else np.dtype(np.float64))
    result = placed(np.power(base, exponents).astype(d), device, requires_grad)
    return result if out is None else store(out, result)


def eye(n: int, m: int | None = None, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """The ``n`` × ``m`` identity (``m`` is ``n`` by default)."""
    if not hasattr(n, "scalar_category") and n < 0:
        raise RuntimeError(f"n must be greater or equal to 0, got {n}")
    result = create(_eye, (n, n if m is None else m, resolve_dtype(dtype)), device, requires_grad)
    return result if out is None else store(out, result)


# ---------------------------------------------------------------- methods


def _new(name: str, fn: Any) -> None:
    def method_(
        self: Tensor,
        *size: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: Any = None,
        pin_memory: bool = False,
    ) -> Tensor:
        size = (size[0],) if len(size) == 1 else (size,)
        return fn(
            *size,
            dtype=self.dtype if dtype is None else dtype,
            device=self.device if device is None else device,
            requires_grad=requires_grad,
        )

    method_.__name__, method_.__qualname__ = name, f"Tensor.{name}"
    method_.__doc__ = f"``{name[4:]}`` with this tensor's dtype and device by default."
    setattr(Tensor, name, method_)


for _name, _fn in (("new_zeros", zeros), ("new_ones", ones), ("new_empty", empty)):
    _new(_name, _fn)


def new_full(
    self: Tensor,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """``full`` with this tensor's dtype and device by default."""
    return full(size, fill_value, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


def new_empty_strided(
    self: Tensor,
    size: Any,
    stride: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """``empty_strided`` with this tensor's dtype and device by default."""
    return empty_strided(
        size, stride, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad
    )


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write ``value`` (a number or a 0-d tensor) everywhere; returns the tensor."""
    check_writable(self)
    if isinstance(value, Tensor):
        if value._data.shape:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {len(value._data.shape)} dimensions."
            )
    else:
        value = tensor_like(value, self)
    return write_back(self, value, broadcast=True)


def zero_(self: Tensor) -> Tensor:
    """Write zeros everywhere; returns the tensor."""
    return fill_(self, 0)


operators["arange"] = arange
for _method in (new_full, new_empty_strided, fill_, zero_):
    method(_method)
