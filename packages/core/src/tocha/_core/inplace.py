"""In-place operations: writing to a tensor's memory, and rewriting its history.

An in-place operator is its out-of-place twin whose result is written into the first tensor. A tensor that is
not a view takes the result's history. Writing to a view rewrites the history of its base: the base becomes
``write_view(base, result, chain)``, and every alias follows on its next use (see ``views``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import dtypes
from .broadcast import operators
from .general_templates import build_generic
from .grad_mode import inference_enabled, recording
from .node import Node, next_sequence
from .record import ABSTRACT, Op
from .templates import instrument
from .tensor import INFERENCE, MULTI_VIEW, Tensor, wrap
from .views import bump_version, chain_of, counter, edge, replay, sync

ndarray = np.ndarray


def check_writable(a: Tensor) -> None:
    """Refuse what PyTorch refuses: leaves that require grad, views of them, inference tensors, overlapping memory."""
    if a._base is not None:
        sync(a)
    if a._flags & INFERENCE and not inference_enabled():
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a "
            "normal tensor before doing inplace update."
        )
    if recording():
        base = a._base
        if base is None:
            if a._flags & 1 and a._node is None:
                raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        elif base._flags & 1:
            if base._node is None:
                raise RuntimeError(
                    "a view of a leaf Variable that requires grad is being used in an in-place operation."
                )
            if a._flags & MULTI_VIEW:
                raise RuntimeError(
                    "Output 0 of a split is a view and is being modified inplace. This view is the output of a "
                    "function that returns multiple views. Such functions do not allow the output views to be modified "
                    "inplace. You should replace the inplace operation by an out-of-place one."
                )
    data = a._data
    if type(data) is ndarray and not data.flags.writeable:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def write_back(a: Tensor, t: Any, broadcast: bool = False) -> Tensor:
    """Write the tensor ``t`` into the memory of ``a`` and give ``a`` its history; returns ``a``."""
    x, y = a._data, t._data
    if not broadcast:
        if not dtypes.can_cast_category(y.dtype, x.dtype):
            raise RuntimeError(f"result type {_type_name(y)} can't be cast to the desired output type {_type_name(x)}")
        if tuple(y.shape) != tuple(x.shape):
            raise RuntimeError(f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(y.shape)}")
    history = bool(recording()) and ((t._flags & 1) or (a._flags & 1) or (a._base is not None and a._base._flags & 1))
    traced = getattr(type(x), "records", False) or getattr(type(y), "records", False)
    if history or traced:
        if y.dtype != x.dtype:
            t = operators["cast"](t, x.dtype)
        if tuple(y.shape) != tuple(x.shape):
            t = operators["expand"](t, tuple(x.shape))
    if traced:
        return _write_traced(a, t)
    if type(x) is ndarray:
        if y.dtype.kind == "c" and x.dtype.kind != "c":
            y = y.real
        x[...] = y
    elif type(x) not in ABSTRACT:
        x[...] = y
    c = counter(a)
    c[0] += 1
    if history:
        _rewrite_history(a, t, c)
    return a


def _type_name(raw: Any) -> str:
    from .templates import scalar_type_name

    return scalar_type_name(raw.dtype)


def _rewrite_history(a: Tensor, t: Tensor, c: list) -> None:
    base = a._base
    if base is None:
        node = t._node
        if node is None:  # a leaf, or a value without history: the gradient of what was there before is zero
            node = _link(_overwrite, (t if t._flags & 1 else edge(a),), (bool(t._flags & 1),))
        a._node = node
        a._flags |= 1
    else:
        base._node = _link(_write_view, (edge(base), edge(t)), (chain_of(a._view),))
        base._flags |= 1
    c[1] += 1
    if base is not None:
        sync(a)


def _link(op: Op, edges: tuple, attrs: tuple) -> Node:
    n = Node()
    n.op, n.edges, n.attrs, n.saved, n.aux, n.shape, n.counters = op, edges, attrs, (), None, None, None
    n.seq = next_sequence()
    mode = recording()
    if mode is not True:
        instrument(n, mode)
    return n


def _write_traced(a: Tensor, t: Tensor) -> Tensor:
    base = a._base
    if base is None:
        a._data, a._node = t._data, t._node
        if t._flags & 1:
            a._flags |= 1
    else:
        written = write_view(base, t, chain_of(a._view))
        base._data, base._node = written._data, written._node
        if written._flags & 1:
            base._flags |= 1
    c = counter(a)
    c[0] += 1
    c[1] += 1
    if base is not None:
        sync(a)
    return a


def _write_view_kernel(xp: Any, base: Any, value: Any, chain: tuple) -> Any:
    out = base.copy()
    replay(out, chain)[...] = value
    return out


def _write_view_rule(n: Node, g: Any) -> tuple:
    (chain,) = n.attrs
    to_base, to_value = n.edges
    gb: Any
    gv: Any
    if isinstance(g, ndarray):
        gb = g.copy()
        part = replay(gb, chain)
        gv = None if to_value is None else part.copy()
        part[...] = 0
        return None if to_base is None else gb, gv
    gv = _replay_tensors(g, chain) if isinstance(g, Tensor) else replay(g, chain)
    gb = None if to_base is None else write_view(g, operators["zeros_as"](gv), chain)
    return gb, None if to_value is None else gv


def _replay_tensors(t: Tensor, chain: tuple) -> Tensor:
    for op, attrs in chain:
        t = op.call(t, *attrs)
    return t


_write_view = Op(
    "write_view",
    _write_view_kernel,
    _write_view_rule,
    lambda base, value, chain: (base.shape, base.dtype),
    arity=2,
    linear=True,
)
_write_view.grad_name = "CopySlices"
write_view = _write_view.call = build_generic(_write_view)



_overwrite = Op(
    "overwrite",
    lambda xp, x, keeps: x.copy(),
    lambda n, g: (g if n.attrs[0] else operators["zeros_as"](g),),
    lambda x, keeps: (x.shape, x.dtype),
    linear=True,
)
_overwrite.grad_name = "CopyBackwards"


# ---------------------------------------------------------------- twins


def protected(a: Tensor) -> Tensor:
    """``a`` with memory of its own and the same history, for a rule that saves what is about to be overwritten."""
    if a._base is not None:
        sync(a)
    if not a._flags & 1:
        return a
    t = wrap(a._data.copy() if type(a._data) not in ABSTRACT else a._data)
    t._node = a._node
    t._flags = 1
    return t


def twin(fn: Callable, name: str) -> Callable:
    """The in-place method ``name`` of a function: ``x.name(...)`` writes ``fn(x, ...)`` into ``x``."""

    @functools.wraps(fn)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_writable(self)
        return write_back(self, fn(protected(self) if recording() else self, *args, **kwargs))

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"In-place version of :func:`{name.rstrip('_')}`; returns the tensor itself."
    return method


def unary_twin(op: Op, call: Callable, name: str, saves: str) -> Callable:
    """In-place method of a unary operator whose kernel takes ``out=``."""
    general = twin(call, name)

    def method(self: Tensor) -> Tensor:
        x = self._data
        if type(x) is not ndarray or x.dtype.kind != "f" or self._base is not None or "x" in saves:
            return general(self)
        check_writable(self)
        e = self._node if recording() else None
        op.kern(x, out=x)
        bump_version(self)
        if e is not None:
            n = _link(op, (e,), ())
            if saves:
                n.saved, n.counters, n.version = (x,), self._counter, self._counter[0]
            self._node = n
            self._counter[1] += 1
        return self

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", general.__doc__
    return method


def binary_twin(op: Op, call: Callable, name: str) -> Callable:
    """In-place method of a binary operator whose kernel takes ``out=``: no temporary where nothing is recorded."""
    general = twin(call, name)

    def method(self: Tensor, other: Any) -> Tensor:
        x = self._data
        if type(x) is ndarray and (not self._flags or not recording()) and x.dtype.kind == "f":
            y: Any = None
            if isinstance(other, Tensor):
                if not (other._flags and recording()) and other._data.dtype is x.dtype and type(other._data) is ndarray:
                    y = other._data
            elif type(other) is float or type(other) is int:
                y = other
            if y is not None:
                check_writable(self)
                try:
                    op.kern(x, y, out=x)
                except ValueError:
                    return general(self, other)
                bump_version(self)
                return self
        return general(self, other)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", general.__doc__
    return method


def store(out: Any, result: Any) -> Any:
    """Write a result into an ``out=`` tensor (or a tuple of them), resizing one that is empty; returns ``out``."""
    if isinstance(out, (tuple, list)):
        return (
            type(result)(*[store(o, r) for o, r in zip(out, result)])
            if hasattr(result, "_fields")
            else tuple([store(o, r) for o, r in zip(out, result)])
        )
    if not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    if recording() and (out._flags & 1 or result._flags & 1):
        raise RuntimeError(
            "functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad."
        )
    if type(out._data) is not type(result._data):
        raise RuntimeError(f"Expected out tensor to have device {result.device}, but got {out.device} instead")
    if not dtypes.can_cast_category(result._data.dtype, out._data.dtype):
        raise RuntimeError(
            f"result type {_type_name(result._data)} can't be cast to the desired output type {_type_name(out._data)}"
        )
    if tuple(out._data.shape) != tuple(result._data.shape):
        if out._data.size:
            import warnings

            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out._data.shape)}, which "
                f"does not match the required output shape {list(result._data.shape)}. Resize it to zero elements "
                f"first to reuse it silently.",
                stacklevel=3,
            )
        out._data = result._data.astype(out._data.dtype)
    else:
        out._data[...] = result._data
    bump_version(out)
    return out
