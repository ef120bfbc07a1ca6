"""Hooks on tensors and nodes, and the extras of instrumented recording (anomaly mode, saved-tensor hooks).

A hook costs nothing where there is none: a node with hooks carries a proxy of its operator.
"""

from __future__ import annotations

import collections
import traceback
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .grad_mode import Instruments, recording, reset_mode, set_mode
from .node import Cotangents, Node
from .tensor import HOOKED, Tensor, wrap


class RemovableHandle:
    """Takes a hook away again: ``handle.remove()``, or leave its ``with`` block."""

    next_id = 0

    def __init__(self, hooks: dict) -> None:
        self._hooks = weakref.ref(hooks) if isinstance(hooks, collections.OrderedDict) else lambda: hooks
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1

    def remove(self) -> None:
        hooks = self._hooks()
        if hooks is not None and self.id in hooks:
            del hooks[self.id]

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def as_tensor(g: Any) -> Any:
    return g if isinstance(g, Tensor) or g is None else wrap(np.asarray(g) if isinstance(g, np.generic) else g)


def checked_replacement(result: Any, g: Tensor) -> Any:
    if result is None:
        return g
    if not isinstance(result, Tensor):
        raise TypeError(f"hook must return a Tensor or None, got {type(result).__name__}")
    if tuple(result._data.shape) != tuple(g._data.shape):
        raise RuntimeError(
            f"hook has changed the size of value: expected {tuple(g._data.shape)}, got {tuple(result._data.shape)}"
        )
    return result


class Proxied:
    """A node's operator with something to do before or after its rule."""

    def __init__(self, op: Any) -> None:
        self.op = op
        self.name, self.grad_name, self.roles, self.save_from = op.name, op.grad_name, op.roles, op.save_from
        self.pre: collections.OrderedDict = collections.OrderedDict()
        self.post: collections.OrderedDict = collections.OrderedDict()
        self.retained: list = []
        self.unpack: Callable | None = None
        self.check_nan = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.op, name)

    def conjugate(self) -> Any:
        return self

    def _run(self, n: Node, g: Any, rule: Callable, tensor_mode: bool) -> tuple:
        if isinstance(g, dict):
            incoming: Any = Cotangents({k: as_tensor(v) for k, v in g.items()})
        else:
            incoming = as_tensor(g)
            for hook in tuple(self.pre.values()):
                incoming = hook(incoming)
            for keep in self.retained:
                keep(incoming)
        lowered = incoming if tensor_mode else _lower(incoming)
        if self.unpack is not None:
            n = self.unpack(n, tensor_mode)
        try:
            result = tuple(rule(n, lowered))
        except Exception as error:
            _name_forward_line(n, error)
            raise
        if self.check_nan:
            _check_nan(n, self.op, result)
        if self.post:
            grads = tuple([as_tensor(r) if not isinstance(r, dict) else r for r in result])
            outgoing = tuple(incoming.values()) if isinstance(incoming, dict) else (incoming,)
            for hook in tuple(self.post.values()):
                replaced = hook(grads, outgoing)
                if replaced is not None:
                    grads = tuple(replaced)
            result = grads if tensor_mode else tuple([_lower(r) for r in grads])
        return result

    def vjp(self, n: Node, g: Any) -> tuple:
        return self._run(n, g, self.op.vjp, True)

    def backward(self, n: Node, g: Any) -> tuple:
        return self._run(n, g, self.op.backward, False)


def _lower(g: Any) -> Any:
    if isinstance(g, dict):
        return Cotangents({k: _lower(v) for k, v in g.items()})
    return g._data if isinstance(g, Tensor) else g


def proxied(n: Node) -> Proxied:
    if not isinstance(n.op, Proxied):
        n.op = Proxied(n.op)
    return n.op


def add_node_hook(n: Node, when: str, fn: Callable) -> RemovableHandle:
    proxy = proxied(n)
    hooks = proxy.pre if when == "pre" else proxy.post
    handle = RemovableHandle(hooks)
    if when == "pre":

        def adapted(g: Any) -> Any:
            result = fn((g,))
            return g if result is None else result[0] if isinstance(result, tuple) else result

        hooks[handle.id] = adapted
    else:
        hooks[handle.id] = fn
    return handle


def add_tensor_hook(t: Tensor, hook: Callable) -> RemovableHandle:
    if not t.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    node = t.grad_fn
    if node is None:
        hooks = t.__dict__.setdefault("_backward_hooks", collections.OrderedDict())
        t._flags |= HOOKED
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        return handle
    hooks = proxied(node).pre
    handle = RemovableHandle(hooks)
    hooks[handle.id] = lambda g: checked_replacement(hook(g), g)
    return handle


def add_post_accumulate_hook(t: Tensor, hook: Callable) -> RemovableHandle:
    if not t.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if t.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    hooks = t.__dict__.setdefault("_post_accumulate_grad_hooks", collections.OrderedDict())
    t._flags |= HOOKED
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def retain_grad(t: Tensor) -> None:
    if not t.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    node = t.grad_fn
    if node is None or t.__dict__.get("_retains") is node:
        return
    reference = weakref.ref(t)

    def keep(g: Any) -> None:
        kept = reference()
        if kept is not None:
            kept._grad = g if kept._grad is None else kept._grad + g

    proxied(node).retained.append(keep)
    t.__dict__["_retains"] = node


def retains_grad(t: Tensor) -> bool:
    node = t.grad_fn
    return node is not None and t.__dict__.get("_retains") is node


def run_leaf_hooks(t: Tensor, g: Any) -> Any:
    hooks = t.__dict__.get("_backward_hooks")
    if hooks:
        g = as_tensor(g)
        for hook in tuple(hooks.values()):
            g = checked_replacement(hook(g), g)
    return g


def run_post_accumulate_hooks(t: Tensor) -> None:
    for hook in tuple(t.__dict__.get("_post_accumulate_grad_hooks", {}).values()):
        hook(t)


# ---------------------------------------------------------------- instrumented recording


def instrument_node(n: Node, mode: Instruments) -> None:
    """Give a new node what the recording mode asks for: the forward stack, packed saved tensors."""
    if not isinstance(mode, Instruments):
        return
    proxy = proxied(n)
    if mode.anomaly:
        n.metadata["traceback_"] = traceback.format_list(_user_frames())
        proxy.check_nan = mode.check_nan
    if mode.pack is not None and (n.saved or (type(n.aux) is tuple and any(map(_is_array, n.aux)))):
        _pack_saved(n, proxy, mode)


def _user_frames() -> list:
    return [f for f in traceback.extract_stack() if "/tocha/_core/" not in f.filename.replace("\\", "/")]


def _is_array(value: Any) -> bool:
    return value is not None and hasattr(value, "shape")


def _pack_saved(n: Node, proxy: Proxied, mode: Instruments) -> None:
    """Let the pack hook keep the node's arrays: those that the rule asked for, then those that the kernel kept for
    it."""
    count, aux = len(n.saved), n.aux if type(n.aux) is tuple else ()
    values = (*n.saved, *aux)
    token = set_mode(False)
    try:
        packed = tuple([mode.pack(as_tensor(a)) if _is_array(a) else None for a in values])  # type: ignore[misc]
    finally:
        reset_mode(token)
    others = tuple([None if _is_array(a) else a for a in values])
    unpack = mode.unpack
    n.saved, n.counters = packed[:count], None
    if aux:
        n.aux = others[count:]

    def restore(node: Node, tensor_mode: bool) -> Node:
        again = copy_node(node)
        wanted = packed[:count] if tensor_mode else packed
        raws = [other if p is None else unpack(p)._data for p, other in zip(wanted, others)]  # type: ignore[misc]
        again.saved = tuple(raws[:count])
        if tensor_mode:
            from .engine import lift

            return lift(again)
        if aux:
            again.aux = tuple(raws[count:])
        return again

    proxy.unpack = restore


def copy_node(n: Node) -> Node:
    again = Node()
    again.op, again.edges, again.saved, again.attrs = n.op, n.edges, n.saved, n.attrs
    again.aux, again.seq, again.shape, again.counters = n.aux, n.seq, n.shape, n.counters
    try:
        again.extra = n.extra
    except AttributeError:
        pass
    return again


def _forward_lines(n: Node) -> str:
    try:
        return "".join(n.extra.get("metadata", {}).get("traceback_", ()))
    except AttributeError:
        return ""


def _name_forward_line(n: Node, error: Exception) -> None:
    lines = _forward_lines(n)
    if lines:
        warnings.warn(
            f"Error detected in {n.op.grad_name}. Traceback of forward call that caused the error:\n{lines}",
            stacklevel=2,
        )


def _check_nan(n: Node, op: Any, result: tuple) -> None:
    for i, r in enumerate(result):
        raw = _lower(r)
        if raw is None or isinstance(raw, dict) or not hasattr(raw, "dtype"):
            continue
        if bool((raw != raw).any()):
            message = f"Function '{op.grad_name}' returned nan values in its {i}th output."
            lines = _forward_lines(n)
            if lines:
                warnings.warn(
                    f"Error detected in {op.grad_name}. Traceback of forward call that caused the error:\n{lines}",
                    stacklevel=2,
                )
            raise RuntimeError(message)


__all__ = ["RemovableHandle", "recording"]
