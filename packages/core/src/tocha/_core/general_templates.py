"""Call templates of operators with attributes: one tensor, several, or a sequence of them.

See ``templates`` for what a template does; these are the general ones, beside the unary and binary families.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import arrays
from .dtypes import is_differentiable_np
from .grad_mode import inference_enabled, recording
from .node import Node, next_sequence, pick
from .record import ABSTRACT, Op, raw_type_of
from .templates import asarray, expected_tensor, f32, f64, finish, instrument, ndarray
from .tensor import INFERENCE, Tensor, as_array, new, wrap
from .views import counter, make_view, sync

# ---------------------------------------------------------------- one tensor, then attributes


def build_single(op: Op) -> Callable:
    """The template of operators of one tensor and attributes, with one output: reductions, views, casts."""
    save_x, save_y, aux, is_view, always = (
        0 in op.roles,
        -1 in op.roles,
        op.aux,
        op.view,
        op.view and op.view != "maybe",
    )

    def record(a: Tensor, x: Any, attrs: tuple, t: Tensor, kept: Any) -> None:
        if a._base is not None:
            sync(a)
        if not a._flags & 1:
            return
        recorded = op
        dt = t._data.dtype
        if dt is not f32 and dt is not f64:
            if not is_differentiable_np(dt):
                return
            if dt.kind == "c" or x.dtype.kind == "c":
                recorded = op.conjugate()
        n = Node()
        n.op, n.edges, n.attrs, n.aux, n.shape = recorded, (a._node or a,), attrs, kept, x.shape
        n.seq = next_sequence()
        if save_x:
            c = counter(a)
            if save_y:
                d = t._counter = [0, 0]
                n.saved, n.counters, n.version = (x, t._data), (c, d), c[0]
            else:
                n.saved, n.counters, n.version = (x,), c, c[0]
        elif save_y:
            n.saved, n.counters, n.version = (t._data,), [0, 0], 0
            t._counter = n.counters
        else:
            n.saved, n.counters = (), None
        mode = recording()
        if mode is not True:
            instrument(n, mode)
        t._node = n
        t._flags |= 1

    def call(input: Any, *attrs: Any) -> Any:
        try:
            x = input._data
        except AttributeError:
            if type(input) is ndarray:
                return op.kern(input, *attrs)[0] if aux else op.kern(input, *attrs)
            return _raw_call(op, (input, *attrs), (input,))
        kept = None
        if type(x) is ndarray:
            r = op.kern(x, *attrs)
        else:
            if input._base is not None:
                sync(input)
                x = input._data
            r = op.resolve(type(x))(x, *attrs)
        if aux:
            r, kept = r[0], r[1:]
        t = new(Tensor)
        t._data = asarray(r) if isinstance(r, np.generic) else r
        t._node = t._counter = t._base = t._view = t._grad = None
        t._flags = 0
        flags = input._flags
        if flags:
            if op.vjp is not None and recording():
                record(input, x, attrs, t, kept)
            elif flags & INFERENCE:
                t._flags = INFERENCE
        if is_view:
            base = r.base
            if always or base is not None and (base is x or base is x.base) or type(x) in ABSTRACT:
                make_view(t, input, op, attrs)
        return t

    return call


# ---------------------------------------------------------------- any number of tensors, then attributes


def build_generic(op: Op) -> Callable:
    """The template of every other operator: ``arity`` tensors (some may be None), then attributes."""
    arity, roles, outputs, aux = op.arity, op.roles, op.outputs, op.aux
    assert arity is not None
    input_roles = tuple([r for r in roles if r >= 0])
    save_y = -1 in roles

    def call(*args: Any) -> Any:
        tensors = args[:arity]
        try:
            raws = tuple([None if t is None else t._data for t in tensors])
        except AttributeError:
            return _raw_call(op, args, tensors)
        kernel = op.kern
        for r in raws:
            if type(r) is not ndarray and r is not None:
                raws = _synced(tensors)
                kernel = op.resolve(raw_type_of(raws))
                break
        attrs = args[arity:]
        result = kernel(*raws, *attrs)
        kept = None
        if aux:
            if outputs == 1:
                result, kept = result[0], result[1:]
            else:
                result, kept = result[:-aux], result[-aux:]
        if outputs != 1:
            return finish_many(op, tensors, raws, attrs, result, kept)
        t = new(Tensor)
        t._data = result if type(result) is ndarray else as_array(result)
        t._node = t._counter = t._base = t._view = t._grad = None
        t._flags = 0
        for u in tensors:
            if u is not None and u._flags:
                if op.vjp is not None and recording():
                    record(op, tensors, raws, attrs, t, kept, input_roles, save_y)
                elif inference_enabled():
                    t._flags = INFERENCE
                break
        if op.view:
            x: Any = raws[0]
            base = getattr(t._data, "base", None)
            if type(x) in ABSTRACT or (base is not None and (base is x or base is x.base)):
                make_view(t, tensors[0], op, attrs)
        return t

    return call


def _synced(tensors: tuple) -> tuple:
    """The raw arrays of tensors, where views of traced values follow their base first."""
    for t in tensors:
        if t is not None and t._base is not None:
            sync(t)
    return tuple([None if t is None else t._data for t in tensors])


def build_variadic(op: Op) -> Callable:
    """The template of operators whose first argument is a sequence of tensors."""
    outputs = op.outputs
    input_roles = tuple([r for r in op.roles if r >= 0])

    def call(tensors: Any, *attrs: Any) -> Any:
        tensors = tuple(tensors)
        try:
            raws = tuple([t._data for t in tensors])
        except AttributeError:
            return _raw_call(op, (tensors, *attrs), tensors)
        for r in raws:
            if type(r) is not ndarray:
                raws = _synced(tensors)
                break
        result = op.resolve(raw_type_of(raws))(raws, *attrs)
        kept = None
        if op.aux:
            result, kept = (result[0], result[1:]) if outputs == 1 else (result[: -op.aux], result[-op.aux :])
        if outputs != 1:
            return finish_many(op, tensors, raws, attrs, result, kept)
        t = finish(op, result)
        if op.vjp is not None and recording():
            for u in tensors:
                if u._flags:
                    record(
                        op,
                        tensors,
                        raws,
                        attrs,
                        t,
                        kept,
                        input_roles if op.save_from is None else tuple(range(op.save_from, len(raws))),
                        -1 in op.roles,
                    )
                    break
        return t

    return call


def _raw_call(op: Op, args: tuple, tensors: tuple) -> Any:
    if any(isinstance(t, Tensor) for t in tensors):
        bad = next(i for i, t in enumerate(tensors) if t is not None and not isinstance(t, Tensor))
        if type(tensors[bad]) not in arrays._by_type and type(tensors[bad]) not in ABSTRACT:
            raise expected_tensor(op.name, bad + 1, tensors[bad], "input" if bad == 0 else f"argument {bad + 1}")
        lifted = tuple([t if t is None or isinstance(t, Tensor) else wrap(t) for t in tensors])
        return op.call(lifted, *args[1:]) if op.arity is None else op.call(*lifted, *args[op.arity :])
    for i, t in enumerate(tensors):
        if (
            t is not None
            and type(t) not in arrays._by_type
            and type(t) not in ABSTRACT
            and not isinstance(t, np.generic)
        ):
            raise expected_tensor(op.name, i + 1, t, "input" if i == 0 else f"argument {i + 1}")
    return op.run(*args)


def _new_node(op: Op, tensors: tuple, raws: tuple, attrs: tuple, kept: Any) -> Node | None:
    edges: list = []
    wanted = False
    for u in tensors:
        if u is None or not u._flags:
            edges.append(None)
            continue
        if u._base is not None:
            sync(u)
        if u._flags & 1:
            edges.append(u._node or u)
            wanted = True
        else:
            edges.append(None)
    if not wanted:
        return None
    n = Node()
    n.op, n.edges, n.attrs, n.aux = op, edges, attrs, kept
    n.seq = next_sequence()
    x = raws[0]
    n.shape = None if x is None else x.shape
    return n


def _save(n: Node, saved: list, counters: list) -> None:
    n.saved = tuple(saved)
    if not counters:
        n.counters = None
    elif len(counters) == 1:
        n.counters, n.version = counters[0], counters[0][0]
    else:
        n.counters, n.version = tuple(counters), sum([c[0] for c in counters])
    mode = recording()
    if mode is not True:
        instrument(n, mode)


def record(
    op: Op, tensors: tuple, raws: tuple, attrs: tuple, t: Tensor, kept: Any, input_roles: tuple, save_y: bool
) -> None:
    """Build the node of an operator with one output."""
    dt = t._data.dtype
    if dt is not f32 and dt is not f64:
        if not is_differentiable_np(dt):
            return
        if dt.kind == "c" or any(r is not None and r.dtype.kind == "c" for r in raws):
            op = op.conjugate()
    n = _new_node(op, tensors, raws, attrs, kept)
    if n is None:
        return
    saved, counters = [], []
    for i in input_roles:
        saved.append(raws[i])
        u = tensors[i]
        if u is not None:
            counters.append(u._counter or counter(u))
    if save_y:
        saved.append(t._data)
        t._counter = [0, 0]
        counters.append(t._counter)
    _save(n, saved, counters)
    t._node = n
    t._flags |= 1


def finish_many(op: Op, tensors: tuple, raws: tuple, attrs: tuple, results: Sequence, kept: Any) -> tuple[Tensor, ...]:
    """Wrap the outputs of an operator with several, and record one node that each points to through a pick."""
    outs = tuple([finish(op, r) for r in results])
    if op.vjp is None or not recording():
        return outs
    recorded = op
    if any(r is not None and r.dtype.kind == "c" for r in raws):
        recorded = op.conjugate()
    n = _new_node(recorded, tensors, raws, attrs, kept)
    if n is None:
        return outs
    saved, counters = [], []
    for role in op.roles:
        if role >= 0:
            saved.append(raws[role])
            if tensors[role] is not None:
                counters.append(counter(tensors[role]))
        else:
            out = outs[-1 - role]
            saved.append(out._data)
            out._counter = [0, 0]
            counters.append(out._counter)
    _save(n, saved, counters)
    for i, t in enumerate(outs):
        if is_differentiable_np(t._data.dtype):
            t._node = pick(n, i)
            t._flags |= 1
    return outs
