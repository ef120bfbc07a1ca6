"""Custom differentiable functions: subclass ``Function`` with a ``forward`` and a ``backward``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.grad_mode import Instruments, recording, reset_mode, set_mode
from .._core.hooks import as_tensor, instrument_node
from .._core.node import Node, next_sequence, pick
from .._core.tensor import Tensor, wrap
from .._core.views import counter, edge

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx:
    """What ``forward`` keeps for ``backward``."""

    def __init__(self) -> None:
        self._saved: tuple = ()
        self._dirty: tuple = ()
        self._not_differentiable: tuple = ()
        self.needs_input_grad: tuple[bool, ...] = ()
        self.materialize_grads = True
        self._node: Node | None = None
        self._output_places: dict[int, int] = {}

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs for ``backward``, which finds them in ``saved_tensors``; a later write to one is an
        error."""
        self._saved = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for ``jvp``, which finds them in ``saved_tensors`` where nothing is saved for backward."""
        if not self._saved:
            self._saved = tensors

    @property
    def saved_tensors(self) -> tuple:
        """The tensors that were saved.

        Raises:
            RuntimeError: backward has freed them, or one was written since.
        """
        node = self._node
        if node is None:
            return self._saved
        if node.saved is None:
            from .._core.engine import TWICE

            raise RuntimeError(TWICE)
        tensors: list[Tensor | None] = []
        for kind, value, version in node.saved:
            if kind == "none":
                tensors.append(None)
                continue
            if kind == "packed":
                unpack, e = version
                t = unpack(value)
                tensors.append(t if e is None else e if isinstance(e, Tensor) else wrap(t._data, e))
                continue
            t = (
                wrap(value, pick(node, version) if kind == "output" and node.op.outputs != 1 else node)
                if kind == "output"
                else value
            )
            if kind == "input" and t._version != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: a "
                    f"tensor saved by {node.op.grad_name} is at version {t._version}; expected version {version} "
                    f"instead."
                )
            tensors.append(t)
        return tuple(tensors)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say that ``forward`` wrote to these inputs (it must return them)."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say that these outputs have no gradient."""
        self._not_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros (True) or None for outputs without gradient."""
        self.materialize_grads = value


class _FunctionOp:
    """The operator of a custom function's node."""

    roles: tuple = ()
    save_from = None

    def __init__(self, cls: Any, ctx: FunctionCtx, outputs: int, shapes: list) -> None:
        self.cls, self.ctx, self.outputs, self.shapes = cls, ctx, outputs, shapes
        self.name = cls.__name__
        self.grad_name = cls.__name__ + "Backward"

    def conjugate(self) -> _FunctionOp:
        return self

    def _gradients(self, g: Any) -> list:
        given = [g.get(i) for i in range(self.outputs)] if isinstance(g, dict) else [g]
        out = []
        for value, (shape, dtype) in zip(given, self.shapes):
            if value is None and self.ctx.materialize_grads and dtypes.is_differentiable_np(dtype):
                value = wrap(np.zeros(shape, dtype))
            out.append(as_tensor(value))
        return out

    def vjp(self, n: Node, g: Any) -> tuple:
        backward = (
            _transposed
            if self.cls.backward is Function.backward and self.cls.jvp is not Function.jvp
            else self.cls.backward
        )
        result = backward(self.ctx, *self._gradients(g))
        result = tuple(result) if isinstance(result, (tuple, list)) else (result,)
        places = n.attrs
        count = places[1]
        if (
            len(result) < count
            and any(r is not None for r in result)
            or len(result) > count
            and any(r is not None for r in result[count:])
        ):
            raise RuntimeError(
                f"function {self.grad_name} returned an incorrect number of gradients (expected {count}, got "
                f"{len(result)})"
            )
        picked = []
        for place, e, shape in zip(places[0], n.edges, places[2]):
            r = result[place] if place < len(result) else None
            if r is not None and not isinstance(r, Tensor):
                raise TypeError(f"expected Variable or None (got {type(r).__name__})")
            if r is not None and e is not None and tuple(r._data.shape) != tuple(shape):
                from .._core.broadcast import reduce_to

                try:
                    r = reduce_to(r, shape)
                except Exception:
                    raise RuntimeError(
                        f"Function {self.grad_name} returned an invalid gradient at index {place} - got "
                        f"{list(r._data.shape)} but expected shape compatible with {list(shape)}"
                    ) from None
            picked.append(r)
        return tuple(picked)

    def backward(self, n: Node, g: Any) -> tuple:
        results = self.vjp(n, g)
        return tuple([None if r is None else r._data.copy() if r._data is g else r._data for r in results])


class Function:
    """Base of custom differentiable functions.

    ``forward(ctx, *args)`` computes (or ``forward(*args)`` with ``setup_context(ctx, inputs, output)``), and
    ``backward(ctx, *grad_outputs)`` gives a gradient, or None, for each argument. Call it by ``apply``.
    Source: https://pytorch.org/docs/stable/autograd.html#function

    Example:
        >>> import tocha
        >>> class Exp(tocha.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         y = x.exp()
        ...         ctx.save_for_backward(y)
        ...         return y
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         (y,) = ctx.saved_tensors
        ...         return g * y
        >>> x = tocha.tensor(0.0, requires_grad=True)
        >>> Exp.apply(x).backward()
        >>> x.grad
        tensor(1.)
    """

    generate_vmap_rule = False

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; written by the subclass.

        ``forward(ctx, *args)``, or ``forward(*args)`` where ``setup_context`` is written as well.
        """
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Gradients of the inputs, given those of the outputs; written by the subclass.

        One for each argument of ``forward``, None where there is none.
        """
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Tangents of the outputs, given those of the inputs, for forward mode; written by the subclass."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        """Keep in ``ctx`` what ``backward`` needs; written by the subclass whose ``forward`` takes no ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function and record it."""
        ctx = FunctionCtx()
        tensors = [(i, a) for i, a in enumerate(args) if isinstance(a, Tensor)]
        recorded = bool(recording()) and any(t.requires_grad for _, t in tensors)
        wants = tuple([recorded and isinstance(a, Tensor) and a.requires_grad for a in args])
        ctx.needs_input_grad = wants
        separate = cls.setup_context is not Function.setup_context
        edges = tuple([edge(t) for _, t in tensors]) if recorded else ()
        token = set_mode(False)
        try:
            if separate:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args, **kwargs)
        finally:
            reset_mode(token)
        single = not isinstance(output, (tuple, list))
        outputs = [output] if single else list(output)
        if recorded:
            outputs = _record(cls, ctx, args, tensors, edges, outputs)
        return outputs[0] if single else tuple(outputs)


def _transposed(ctx: FunctionCtx, *grads: Any) -> tuple:
    """The gradients of a function that has a ``jvp`` and no ``backward``: ``jvp`` is linear, and its gradient is its
    transpose."""
    from ._levels import gradients, level

    node: Any = ctx._node
    kinds = node.extras()["inputs"]
    with level():
        tangents = [None if k is None else wrap(np.zeros(*k)).requires_grad_() for k in kinds]
        outputs = node.op.cls.jvp(ctx, *tangents)
        outputs = tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)
    wanted = [t for t in tangents if t is not None]
    pairs = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, Tensor) and g is not None]
    found = iter(gradients([o for o, _ in pairs], wanted, [g for _, g in pairs], bool(recording())))
    return tuple([None if t is None else next(found) for t in tangents])


def _record(cls: type, ctx: FunctionCtx, args: tuple, tensors: list, edges: tuple, outputs: list) -> list:
    node = Node()
    shapes = [(tuple(o._data.shape), o._data.dtype) if isinstance(o, Tensor) else ((), np.dtype(bool)) for o in outputs]
    node.op = _FunctionOp(cls, ctx, len(outputs), shapes)
    node.edges = edges
    node.seq = next_sequence()
    node.attrs = ([i for i, _ in tensors], len(args), [tuple(t._data.shape) for _, t in tensors])
    node.aux = node.shape = node.counters = None
    if cls.jvp is not Function.jvp:  # type: ignore[attr-defined]
        floats = [isinstance(a, Tensor) and dtypes.is_differentiable_np(a._data.dtype) for a in args]
        node.extras()["inputs"] = [(tuple(a._data.shape), a._data.dtype) if f else None for a, f in zip(args, floats)]
    inputs = {id(t) for _, t in tensors}
    dirty = {id(t) for t in ctx._dirty}
    fixed = {id(t) for t in ctx._not_differentiable}
    places = {id(o): i for i, o in enumerate(outputs) if isinstance(o, Tensor)}
    made = []
    for i, o in enumerate(outputs):
        if not isinstance(o, Tensor) or id(o) in fixed or not dtypes.is_differentiable_np(o._data.dtype):
            made.append(o)
            continue
        target = o
        if id(o) in dirty:
            if o._flags & 1 and o._node is None and o._base is None:
                raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
            counter(o)[0] += 1
        elif id(o) in inputs or o._node is not None or o._base is not None:
            target = wrap(o._data)
        target._node = node if len(outputs) == 1 else pick(node, i)
        target._flags |= 1
        made.append(target)
    saved: list[tuple] = []
    mode = recording()
    if isinstance(mode, Instruments):
        node.saved = ()
        instrument_node(node, mode)
    pack = mode.pack if isinstance(mode, Instruments) else None
    for t in ctx._saved:
        if t is None:
            saved.append(("none", None, 0))
        elif pack is not None:
            to: Any = made[places[id(t)]]._node if id(t) in places and id(t) not in inputs else edge(t)
            saved.append(("packed", pack(t.detach()), (mode.unpack, to)))
        elif id(t) in places and id(t) not in inputs:
            saved.append(("output", t._data, places[id(t)]))
        else:
            counter(t)
            saved.append(("input", t, t._version))
    node.saved = tuple(saved)
    ctx._node = node
    ctx._saved = ()
    return made


def once_differentiable(fn: Callable) -> Callable:
    """Decorate ``backward`` to say that it cannot be differentiated itself: a second derivative through it is an
    error."""

    @functools.wraps(fn)
    def wrapped(ctx: Any, *args: Any) -> Any:
        token = set_mode(False)
        try:
            outputs = fn(ctx, *args)
        finally:
            reset_mode(token)
        if not recording() or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        many = outputs if isinstance(outputs, tuple) else (outputs,)
        barred = tuple([_Barrier.apply(o.detach().requires_grad_()) if isinstance(o, Tensor) else o for o in many])
        return barred if isinstance(outputs, tuple) else barred[0]

    return wrapped


class _Barrier(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
