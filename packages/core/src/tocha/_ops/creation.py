"""New tensors: from data, filled, ranges; on any device, under tracing too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core import arrays, dtypes, layouts, tracing
from .._core.abstract import Meta
from .._core.broadcast import operators
from .._core.devices import as_device
from .._core.families import method
from .._core.grad_mode import inference_enabled
from .._core.inplace import check_writable, store, write_back
from .._core.record import ABSTRACT, Op
from .._core.tensor import INFERENCE, Tensor, initialise, new, wrap
from .dims import sizes_of

__all__ = ["arange", "as_tensor", "asarray", "empty", "empty_like", "empty_permuted", "empty_strided", "eye", "from_numpy", "full", "full_like",
           "linspace", "logspace", "ones", "ones_like", "scalar_tensor", "tensor", "zeros", "zeros_like"]  # fmt: skip

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


def finished(raw: Any, requires_grad: bool = False) -> Tensor:
    t = wrap(raw)
    if inference_enabled():
        t._flags |= INFERENCE
    if requires_grad:
        t.requires_grad_(True)
    return t


def resolve_dtype(dtype: Any, default: Any = None) -> np.dtype:
    if dtype is None:
        return dtypes.default_np() if default is None else default
    return dtypes.as_numpy(dtype)


def _check_layout(layout: Any) -> None:
    if layout is not None and layout is not layouts.strided:
        raise RuntimeError(f"layout {layout!r} is not supported here: only tocha.strided is")


# ---------------------------------------------------------------- from data


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A tensor with a copy of ``data``: a number, nested sequences, a NumPy array, or a tensor.

    Python floats get the default dtype, integers int64, as in PyTorch; NumPy arrays keep theirs.

    Example:
        >>> import tocha
        >>> tocha.tensor([[1.0, 2.0], [3.0, 4.0]])
        tensor([[1., 2.],
                [3., 4.]])
    """
    if isinstance(data, Tensor):
        if type(data._data) in ABSTRACT:
            return finished(operators["clone"](data)._data, requires_grad)
        raw = data._data.copy()
        return _placed(
            raw if dtype is None else _cast_raw(raw, dtypes.as_numpy(dtype)), device or data.device, requires_grad
        )
    return _placed(array_of(data, dtype), device, requires_grad)


def _placed(raw: Any, device: Any, requires_grad: bool) -> Tensor:
    target = as_device(device)
    if target.type == "meta":
        raw = Meta(raw.shape, raw.dtype)
    elif tracing.active is not None and target.type == "cpu":
        raw = tracing.active.constant(raw)
    else:
        raw = arrays.to_device(raw, target)
    return finished(raw, requires_grad)


def _cast_raw(raw: Any, d: np.dtype) -> Any:
    return raw if raw.dtype == d else operators["cast"].op.resolve(type(raw))(raw, d)[0]


def array_of(data: Any, dtype: Any = None) -> np.ndarray:
    """A new NumPy array of Python data, with PyTorch's inferred dtype."""
    want = None if dtype is None else dtypes.as_numpy(dtype)
    if isinstance(data, np.ndarray):
        dtypes.of(data.dtype)
        return (
            data.astype(want)
            if want is not None
            else data.copy()
            if data.dtype.isnative
            else data.astype(data.dtype.newbyteorder("="))
        )
    if isinstance(data, np.generic):
        return np.asarray(data).astype(want or data.dtype)
    if isinstance(data, (bool, int, float, complex)):
        return np.asarray(data).astype(want or _python_dtype(data))
    if hasattr(data, "__array__") and not isinstance(data, (list, tuple)):
        return array_of(np.asarray(data), dtype)
    if isinstance(data, (list, tuple, range)) or (
        hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (str, bytes))
    ):
        return _array_of_sequence(data, want)
    if hasattr(data, "scalar_category"):
        return np.asarray(int(data) if data.scalar_category == dtypes.INTEGRAL else float(data))
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def _python_dtype(value: Any) -> np.dtype:
    if isinstance(value, bool):
        return dtypes.NP_BOOL
    if isinstance(value, int):
        return dtypes.NP_INT64
    return dtypes.default_np() if isinstance(value, float) else dtypes.default_complex_np()


def _array_of_sequence(data: Any, want: np.dtype | None) -> np.ndarray:
    try:
        raw = np.array(data)
        plain = raw.dtype.kind in "biufc" and not _has_array_like(data)
    except ValueError:
        plain = False
    if plain:
        if want is not None:
            return (
                np.array(data, want)
                if want.kind in "biu"
                and raw.dtype.kind in "biu"
                and raw.dtype != want
                and want.kind != "b"
                and _fits(raw, want)
                else raw.astype(want)
            )
        if not raw.size or raw.dtype.kind == "f":
            return raw.astype(dtypes.default_np())
        return (
            raw.astype(dtypes.default_complex_np())
            if raw.dtype.kind == "c"
            else raw.astype(np.int64)
            if raw.dtype.kind in "iu"
            else raw
        )
    return _ragged(data, want)


def _fits(raw: np.ndarray, want: np.dtype) -> bool:
    if not raw.size:
        return True
    info = np.iinfo(want)
    if raw.min() < info.min or raw.max() > info.max:
        raise RuntimeError(f"value cannot be converted to type {dtypes.of(want).name} without overflow")
    return True


def _has_array_like(data: Any) -> bool:
    while isinstance(data, (list, tuple)) and data:
        if any(isinstance(d, (Tensor, np.ndarray, np.generic)) for d in data):
            return True
        data = data[0]
    return False


def _ragged(data: Any, want: np.dtype | None) -> np.ndarray:
    """Sequences of tensors or arrays, and the error for sequences whose lengths differ."""
    items = [d._data if isinstance(d, Tensor) else d for d in data]
    if isinstance(items[0], (int, float)) and any(isinstance(i, (list, tuple)) for i in items):
        wrong = next(type(i).__name__ for i in items if isinstance(i, (list, tuple)))
        raise TypeError(
            f"'{wrong}' object cannot be interpreted as an integer"
            if isinstance(items[0], int)
            else f"must be real number, not {wrong}"
        )
    parts = [arrays.to_host(i) if not isinstance(i, (list, tuple)) else array_of(i) for i in items]
    parts = [p if isinstance(p, np.ndarray) else array_of(p) for p in parts]
    shapes = {p.shape for p in parts}
    if len(shapes) > 1:
        lengths = [len(p) if p.ndim else 0 for p in parts]
        at = next(i for i, n in enumerate(lengths) if n != lengths[0]) if len(set(lengths)) > 1 else 1
        raise ValueError(f"expected sequence of length {lengths[0]} at dim 1 (got {lengths[at]})")
    dtype = want
    if dtype is None:
        dtype = parts[0].dtype
        for p in parts[1:]:
            dtype = dtypes.promote_np(dtype, p.dtype)
    return np.stack([p.astype(dtype) for p in parts])


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """``data`` as a tensor, sharing memory with a NumPy array or tensor where dtype and device allow."""
    if isinstance(data, Tensor):
        return data.to(device=device if device is not None else data.device, dtype=dtype)  # type: ignore[attr-defined]
    if (
        isinstance(data, np.ndarray)
        and (dtype is None or dtypes.as_numpy(dtype) == data.dtype)
        and as_device(device).type == "cpu"
    ):
        return from_numpy(data)
    return tensor(data, dtype=dtype, device=device)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """``obj`` as a tensor; ``copy`` True always copies, False never (ValueError where it must)."""
    if copy:
        return tensor(obj, dtype=dtype, device=device, requires_grad=requires_grad)
    result = as_tensor(obj, dtype, device)
    if copy is False and not (
        isinstance(obj, Tensor) and result is obj or isinstance(obj, np.ndarray) and result._data is obj
    ):
        raise ValueError("can't alias the given object: a copy is needed for this dtype, device or type")
    return result.detach().requires_grad_() if requires_grad else result


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor that shares memory with a NumPy array.

    Raises:
        TypeError: not a NumPy array, or a dtype without counterpart.
        ValueError: negative strides (copy the array first).
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dtypes.of(ndarray.dtype)
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
            "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
        )
    if not ndarray.flags.writeable:
        import warnings

        warnings.warn(
            "The given NumPy array is not writable, and tocha does not support non-writable tensors: in-place operations on it "
            "raise an error. Copy the array to write to it.",
            stacklevel=2,
        )
    return wrap(ndarray.view(np.ndarray) if type(ndarray) is not np.ndarray else ndarray)


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


def empty(*size: Any, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
          pin_memory: bool = False, memory_format: Any = None) -> Tensor:  # fmt: skip
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
        fill_value = fill_value.item()  # type: ignore[attr-defined]
    else:
        d = resolve_dtype(
            dtype, _python_dtype(fill_value) if not hasattr(fill_value, "scalar_category") else dtypes.NP_INT64
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
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value  # type: ignore[attr-defined]
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
    buffer = np.empty(needed, d)
    raw = np.lib.stride_tricks.as_strided(buffer, shape, tuple(s * d.itemsize for s in steps))
    return finished(arrays.to_device(raw, as_device(device)), requires_grad)


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
    """A tensor with undefined values whose dimensions lie in memory in the order ``physical_layout``, outermost first."""
    shape, order = tuple(size), tuple(physical_layout)
    if sorted(order) != list(range(len(shape))):
        raise RuntimeError(
            f"Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = {len(shape)} is not equal to len(physical_layout) = {len(order)}"
            if len(order) != len(shape)
            else f"Duplicate dim not allowed in physical_layout {list(order)}"
        )
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d] = step
        step *= shape[d]
    return empty_strided(shape, strides, dtype=dtype, device=device, requires_grad=requires_grad)


# ---------------------------------------------------------------- ranges


def arange(*args: Any, start: Any = None, end: Any = None, step: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
           device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """Values from ``start`` to ``end`` (excluded) by ``step``: ``arange(end)``, ``arange(start, end)``, ``arange(start, end, step)``.

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


def linspace(start: Any, end: Any, steps: int, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """``steps`` values from ``start`` to ``end``, both included."""
    start, end = [v.item() if isinstance(v, Tensor) else v for v in (start, end)]
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    kind = dtypes.default_complex_np() if isinstance(start, complex) or isinstance(end, complex) else None
    d = resolve_dtype(dtype, kind)
    result = _placed(_linspace_array(start, end, steps, d), device, requires_grad)
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


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, out: Any = None, dtype: Any = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """``base`` to the powers ``linspace(start, end, steps)``."""
    start, end = [v.item() if isinstance(v, Tensor) else v for v in (start, end)]
    kind = dtypes.default_complex_np() if isinstance(start, complex) or isinstance(end, complex) else None
    d = resolve_dtype(dtype, kind)
    exponents = _linspace_array(start, end, steps, d if d.kind in "fc" else np.dtype(np.float64))
    result = _placed(np.power(base, exponents).astype(d), device, requires_grad)
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


def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """``tensor(data)`` with this tensor's dtype and device by default."""
    return tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


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


def tensor_like(value: Any, like: Tensor) -> Tensor:
    """Python data as a tensor of the dtype and on the device of ``like``."""
    raw = np.asarray(value) if isinstance(value, (bool, int, float, complex)) else array_of(value)
    raw = raw.astype(like._data.dtype)
    if type(like._data) is np.ndarray or type(like._data) in ABSTRACT:
        return wrap(raw)
    return wrap(arrays.to_device(raw, like.device))


operators["tensor_like"], operators["arange"] = tensor_like, arange
for _fn in (new_full, new_tensor, new_empty_strided, fill_, zero_):
    method(_fn)


def legacy_constructor(cls: type, *args: Any, device: Any = None, dtype: Any = None) -> Tensor:
    """``tocha.Tensor(2, 3)``, ``tocha.Tensor([1, 2])``, ``tocha.Tensor(tensor)``: always the default dtype."""
    d = dtypes.default_np()
    if len(args) == 1 and isinstance(args[0], Tensor):
        raw = args[0]._data
    elif len(args) == 1 and not isinstance(args[0], int):
        raw = (
            array_of(args[0], dtypes.of(d))
            if not isinstance(args[0], tuple) or not all(isinstance(a, int) for a in args[0])
            else array_of(args[0], dtypes.of(d))
        )
    else:
        raw = np.empty(args or (0,), d)
    return initialise(new(cls), arrays.to_device(raw, as_device(device)) if device is not None else raw)
