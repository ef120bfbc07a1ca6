"""The backward engine.

Nodes run in the order of their sequence numbers, newest first, from a heap: no recursion and no counting of
dependencies. Plain backward hands raw arrays to the rules; with ``create_graph`` the same rules get Tensors,
through a lifted copy of each node, and record what they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from . import arrays, dtypes
from .grad_mode import instruments, reset_mode, set_mode
from .node import Node, pick
from .record import ABSTRACT
from .tensor import HOOKED, Tensor, as_array, new, wrap
from .views import edge

ndarray = np.ndarray
_ONES: dict[np.dtype, np.ndarray] = {d: np.ones((), d) for d in (dtypes.NP_FLOAT32, dtypes.NP_FLOAT64)}

TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)


def backward(root: Tensor, gradient: Any, retain: bool | None, create: bool, inputs: Any) -> None:
    """``Tensor.backward``."""
    if inputs is not None:
        inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
        if not inputs:
            raise RuntimeError("'inputs' argument to backward() cannot be empty.")
    e = edge(root)
    if e is None:
        raise no_history(0)
    if gradient is None:
        seed: Any = _ONES.get(root._data.dtype) if not root._data.shape and type(root._data) is ndarray else None
        if seed is None:
            seed = implicit_gradient(root)
        if create:
            seed = wrap(seed)
    else:
        seed = check_gradient(root, gradient, create)
    run([(e, seed)], create if retain is None else retain, create, inputs, True)


def no_history(index: int) -> RuntimeError:
    return RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")


def implicit_gradient(root: Tensor) -> Any:
    data = root._data
    if data.size != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if data.dtype.kind == "c":
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {root.dtype}")
    if type(data) in ABSTRACT:
        return data.tracer.constant(np.ones(data.shape, data.dtype)) if getattr(type(data), "records", False) else data
    return arrays.module_of(data).ones_like(data)


def check_gradient(root: Tensor, gradient: Any, create: bool) -> Any:
    if not isinstance(gradient, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    if tuple(gradient._data.shape) != tuple(root._data.shape):
        raise RuntimeError(
            f"Mismatch in shape: grad_output[0] has a shape of {gradient.shape} and output[0] has a shape of "
            f"{root.shape}."
        )
    if gradient._data.dtype.kind == "c" and root._data.dtype.kind != "c":
        raise RuntimeError("For complex Tensors, both grad_output and output are required to have the same dtype.")
    if gradient._data.dtype != root._data.dtype:
        gradient = gradient.to(root.dtype)
    return gradient if create else gradient._data


def run(
    seeds: Sequence[tuple], retain: bool, create: bool, targets: Any = None, accumulate: bool = False
) -> list | None:
    """Propagate ``(edge, gradient)`` pairs.

    ``targets`` None: accumulate into every leaf. Otherwise only the targets are reached: accumulated where
    ``accumulate``, else returned as a list.
    """
    heap: list[int] = []
    pending: dict[int, list] = {}
    wanted: dict[int, list[int]] | None = None
    captured: list = []
    useful: set | None = None
    if targets is not None:
        wanted, captured = {}, [None] * len(targets)
        for i, t in enumerate(targets):
            e = edge(t)
            if e is None:
                raise RuntimeError("One of the differentiated Tensors does not require grad")
            wanted.setdefault(id(e), []).append(i)
        useful = _leading_to([s[0] for s in seeds], wanted)
    token = set_mode((instruments() or True) if create else False)
    try:
        for e, g in seeds:
            if type(e) is Node:
                key = -e.seq
                if key in pending:
                    pending[key][1] = pending[key][1] + g
                else:
                    pending[key] = [e, g, False]
                    heappush(heap, key)
            elif wanted is None:
                accumulate_leaf(e, g, g, None)
            elif id(e) in wanted:
                for i in wanted[id(e)]:
                    captured[i] = g if captured[i] is None else captured[i] + g
        while heap:
            n, g, _ = pending.pop(heappop(heap))
            if wanted is not None:
                indices = wanted.get(id(n))
                if indices is not None:
                    for i in indices:
                        captured[i] = _hooked_capture(n, g)
                if n not in useful:  # type: ignore[operator]
                    continue
            saved = n.saved
            if saved is None:
                raise RuntimeError(TWICE)
            counters = n.counters
            if counters is not None:
                if type(counters) is list:
                    if counters[0] != n.version:
                        raise _modified(n, counters)
                elif sum([c[0] for c in counters]) != n.version:
                    raise _modified(n, counters)
            out = n.op.vjp(lift(n), g) if create else n.op.backward(n, g)
            if not retain and (saved or n.aux is not None):
                n.saved = n.aux = None
            i = 0
            for e in n.edges:
                ge = out[i]
                i += 1
                if e is None or ge is None:
                    continue
                if type(e) is Node:
                    key = -e.seq
                    entry = pending.get(key)
                    if entry is None:
                        pending[key] = [e, ge, False]
                        heappush(heap, key)
                    elif entry[2]:
                        entry[1] += ge
                    else:
                        total = entry[1] + ge
                        entry[1] = total
                        entry[2] = type(total) is ndarray
                elif wanted is None:
                    accumulate_leaf(e, ge, g, out)
                elif id(e) in wanted:
                    for j in wanted[id(e)]:
                        captured[j] = ge if captured[j] is None else captured[j] + ge
            del out
    finally:
        reset_mode(token)
    if targets is None:
        return None
    if not accumulate:
        return [_leaf_hooked(t, g) for t, g in zip(targets, captured)]
    for t, g in zip(targets, captured):
        if g is not None:
            accumulate_leaf(t, g, g, None)
    return None


def _leaf_hooked(t: Tensor, g: Any) -> Any:
    if g is not None and t._flags & HOOKED and t._node is None:
        from .hooks import run_leaf_hooks

        g = run_leaf_hooks(t, g)
    if g is None or isinstance(g, Tensor):
        return g
    return wrap(as_array(g))


def _hooked_capture(n: Node, g: Any) -> Any:
    """A captured gradient has passed the tensor's hooks, as it would on its way into the node."""
    pre = getattr(n.op, "pre", None)
    if pre:
        from .hooks import as_tensor

        g = as_tensor(g)
        for hook in tuple(pre.values()):
            g = hook(g)
    return g


def _leading_to(starts: Sequence, wanted: dict) -> set:
    """The nodes from which a wanted leaf or node can be reached (an iterative walk: graphs are deep)."""
    useful: set = set()
    state: dict[int, bool] = {}
    keep: list = []  # ids stay valid while the walk holds the nodes
    stack = [(s, False) for s in starts if type(s) is Node]
    while stack:
        n, done = stack.pop()
        if done:
            state[id(n)] = any(
                id(e) in wanted or (type(e) is Node and state.get(id(e), False)) for e in n.edges if e is not None
            )
            if state[id(n)]:
                useful.add(n)
            continue
        if id(n) in state:
            continue
        state[id(n)] = False
        keep.append(n)
        stack.append((n, True))
        stack.extend([(e, False) for e in n.edges if type(e) is Node and id(e) not in state])
    return useful


def accumulate_leaf(leaf: Tensor, g: Any, incoming: Any, out: Any) -> None:
    """Add ``g`` to a leaf's ``grad``; it becomes the gradient itself only where nobody else can hold it.

    ``incoming`` is the gradient the node got and ``out`` all it returned: an array that is either, a view, or
    returned twice is copied.
    """
    if leaf._flags & HOOKED:
        from .hooks import run_leaf_hooks, run_post_accumulate_hooks

        g = run_leaf_hooks(leaf, g)
        _accumulate(leaf, g, incoming, out)
        run_post_accumulate_hooks(leaf)
    else:
        _accumulate(leaf, g, incoming, out)


def _accumulate(leaf: Tensor, g: Any, incoming: Any, out: Any) -> None:
    present = leaf._grad
    if isinstance(g, Tensor):
        if present is not None:
            leaf._grad = present + g
        else:
            leaf._grad = g if g._node is not None else wrap(g._data.copy() if hasattr(g._data, "copy") else g._data)
        return
    if present is not None:
        if (
            type(present._data) is ndarray
            and type(g) is ndarray
            and present._data.flags.writeable
            and present._node is None
        ):
            if present._counter is not None:
                present._counter[0] += 1
            present._data += g
        else:
            leaf._grad = wrap(as_array(present._data + g))
        return
    if type(g) is ndarray:
        if g is incoming or g.base is not None or (out is not None and len(out) > 1 and _returned_twice(g, out)):
            g = g.copy()
        elif g.ndim > 1 and not g.flags.forc:
            g = g.copy()
    elif isinstance(g, np.generic):
        g = np.asarray(g)
    elif (g is incoming or out is None or g.base is not None) and hasattr(g, "copy"):
        g = g.copy()
    t = new(Tensor)
    t._data = g
    t._node = t._counter = t._base = t._view = t._grad = None
    t._flags = 0
    leaf._grad = t


def _returned_twice(g: Any, out: Any) -> bool:
    seen = False
    for o in out:
        if o is g:
            if seen:
                return True
            seen = True
    return False


def _modified(n: Node, counters: Any) -> RuntimeError:
    now = counters[0] if type(counters) is list else sum([c[0] for c in counters])
    expected = n.version
    if type(counters) is not list and all(c is counters[0] for c in counters):  # one tensor, saved more than once
        now, expected = now // len(counters), expected // len(counters)
    saved = next((a for a in n.saved if hasattr(a, "shape")), None)
    what = "" if saved is None else f": [{dtypes.of(saved.dtype)} {list(saved.shape)}], saved by {n.op.grad_name},"
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation"
        f"{what} is at version {now}; expected version {expected} instead. Hint: enable anomaly detection to find the "
        "operation that failed to compute its gradient, with tocha.autograd.set_detect_anomaly(True)."
    )


def lift(n: Node) -> Node:
    """A copy of a node whose saved arrays are Tensors with their place in the graph, for a rule that records."""
    again = Node()
    again.op, again.edges, again.attrs, again.shape, again.seq = n.op, n.edges, n.attrs, n.shape, n.seq
    again.counters = None
    again.aux = None
    try:
        again.extra = n.extra
    except AttributeError:
        pass
    if n.op.name == "cast" and n.aux is not None:
        again.extra = {"source": n.aux[0]}
    lifted = []
    first = n.op.save_from
    roles = n.op.roles if first is None else range(first, first + len(n.saved))
    for role, raw in zip(roles, n.saved):
        if raw is None or not hasattr(raw, "shape"):
            lifted.append(raw)
        elif role < 0:
            single = n.op.outputs == 1
            lifted.append(wrap(raw, n if single else pick(n, -1 - role)))
        else:
            e = n.edges[role]
            if e is None:
                lifted.append(wrap(raw))
            elif type(e) is Node:
                lifted.append(wrap(raw, e))
            else:
                lifted.append(e)
    again.saved = tuple(lifted)
    return again
