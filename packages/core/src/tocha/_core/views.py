"""Version counters, and views that follow the history of their base.

A tensor's counter ``_counter`` is a list ``[version, generation]`` shared by every alias of its memory (made
on first need). ``version`` counts writes: a saved array whose version moved is refused in backward.
``generation`` counts rewrites of the base's history: a view made before one replays its chain of view
operators on the base, so that ``out[:, t] = h`` gives every alias of ``out`` the right gradient.
"""

from __future__ import annotations

from typing import Any

from .grad_mode import recording, reset_mode, set_mode
from .node import Node


def counter(a: Any) -> list[int]:
    """The version counter of ``a``, made on first need."""
    c = a._counter
    if c is None:
        c = a._counter = [0, 0]
    return c


def bump_version(a: Any) -> None:
    """Note that the memory of ``a`` was written."""
    c = a._counter
    if c is None:
        a._counter = [1, 0]
    else:
        c[0] += 1


def chain_of(view: tuple | None) -> tuple:
    """The view operators that lead from the base to a view, first applied first, as ``(op, attrs)``."""
    steps = []
    while view is not None:
        steps.append((view[1], view[2]))
        view = view[0]
    return tuple(steps[::-1])


def make_view(t: Any, a: Any, op: Any, attrs: tuple) -> None:
    """Note that ``t`` aliases ``a`` through ``op(a, *attrs)``."""
    base = a._base
    t._base = a if base is None else base
    t._view = (a._view, op, attrs)
    c = a._counter
    if c is None:
        c = a._counter = [0, 0]
    t._counter = c
    t._generation = c[1]
    t._flags |= 2 | (a._flags & 20)


def sync(a: Any) -> None:
    """Give the view ``a`` the history of its base, where that was rewritten since."""
    base = a._base
    if a._generation == base._counter[1]:
        return
    a._generation = base._counter[1]
    traced = getattr(type(base._data), "records", False)
    if not traced and _owner(a._data) is not _owner(base._data):
        a._data = replay(base._data, chain_of(a._view))
    if not (base._flags & 1 or traced):
        return
    token = set_mode(True)
    try:
        t = base
        for op, attrs in chain_of(a._view):
            t = op.call(t, *attrs)
    finally:
        reset_mode(token)
    a._node = t._node
    a._flags = (a._flags & ~1) | (base._flags & 1)
    if traced:
        a._data = t._data


def _owner(raw: Any) -> Any:
    base = getattr(raw, "base", None)
    return raw if base is None else base


def lay_out(a: Any) -> bool:
    """Move the elements of ``a``, or of its base, to the plain order of memory; False where they are in it.

    Kernels over images keep the channels of a pixel together behind PyTorch's shapes. A view that only the plain order
    allows is then made by moving the elements once. Other aliases of the memory follow when they are used next.
    """
    root = a if a._base is None else a._base
    raw = root._data
    if not hasattr(raw, "flags") or raw.flags.c_contiguous or not _is_dense(raw):
        return False
    root._data = raw.copy(order="C")
    if root is not a:
        a._data = replay(root._data, chain_of(a._view))
    counter(root)[1] += 1
    return True


def _is_dense(raw: Any) -> bool:
    """Whether the elements fill their memory, in any order of the dimensions."""
    step = raw.itemsize
    for stride, n in sorted([(s, n) for s, n in zip(raw.strides, raw.shape) if n != 1]):
        if stride != step:
            return False
        step *= n
    return True


def edge(a: Any) -> Any:
    """Where gradients of ``a`` go: its node, itself where it is a leaf that wants them, or None."""
    if a._base is not None:
        sync(a)
    if a._flags & 1:
        return a._node or a
    return None


def replay(raw: Any, chain: tuple) -> Any:
    """Apply a chain of view operators to a raw array; on NumPy and CuPy the result aliases it."""
    for op, attrs in chain:
        raw = op.run(raw, *attrs)
    return raw


def requires_history(a: Any) -> bool:
    return bool(a._flags & 1) and bool(recording())


def is_node(e: Any) -> bool:
    return type(e) is Node
