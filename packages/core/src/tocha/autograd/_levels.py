"""Differentiation inside differentiation: where a level begins, and what may leave it.

A transform (``func.grad``, a dual level, ``functional.jacobian``) differentiates with respect to *roots*: tensors
of its own that share memory with the arguments. A root of an argument with history is an alias of it, so that
outer levels see through; any other root is a fresh leaf. What leaves the level drops its history unless that
leads to somebody else's leaf.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from .._core.dtypes import float32
from .._core.grad_mode import enable_grad, inference_enabled, inference_mode, recording
from .._core.node import Node, next_sequence
from .._core.record import Op
from .._core.tensor import Tensor, wrap
from .._core.views import counter, edge
from ._backward import grad

alias_op = Op("alias", lambda xp, x: x, lambda n, g: (g,), lambda x: (x.shape, x.dtype), linear=True)


def alias(x: Tensor) -> Tensor:
    """A tensor over the memory of ``x`` whose gradient flows to ``x``."""
    n = Node()
    n.op, n.edges, n.saved, n.attrs, n.aux, n.shape, n.counters = (
        alias_op,
        (edge(x),),
        (),
        (),
        None,
        x._data.shape,
        None,
    )
    n.seq = next_sequence()
    t = wrap(x._data, n)
    t._counter = counter(x)
    return t


def root(x: Tensor) -> Tensor:
    """The tensor that a level differentiates in the place of ``x``.

    Raises:
        RuntimeError: the dtype is neither floating nor complex.
    """
    if recording() and edge(x) is not None:
        return alias(x)
    t = wrap(x._data)
    t._counter = counter(x)
    return t.requires_grad_()


def leads_beyond(outputs: Iterable[Any], roots: Collection[int]) -> bool:
    """Whether the history of ``outputs`` reaches a leaf other than ``roots`` (ids)."""
    stack = [e for e in (edge(t) for t in outputs if isinstance(t, Tensor)) if e is not None]
    seen: set[int] = set()
    while stack:
        e = stack.pop()
        if type(e) is not Node:
            if id(e) not in roots:
                return True
        elif id(e) not in seen:
            seen.add(id(e))
            stack.extend([to for to in e.edges if to is not None])
    return False


def leave(value: Any, roots: Collection[int]) -> Any:
    """A tensor as the world outside the level sees it; anything else as it is."""
    if not isinstance(value, Tensor) or edge(value) is None:
        return value
    return value if recording() and leads_beyond((value,), roots) else value.detach()


@contextlib.contextmanager
def level() -> Iterator[None]:
    """Record inside, whatever the mode outside."""
    with inference_mode(False) if inference_enabled() else enable_grad():
        yield


def gradients(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    cotangents: Sequence[Any] | None,
    create: bool,
    retain: bool = True,
) -> list[Tensor | None]:
    """``autograd.grad`` that takes outputs without history, and gives None for inputs they do not depend on."""
    pairs = [(o, None if cotangents is None else cotangents[i]) for i, o in enumerate(outputs) if edge(o) is not None]
    if not pairs:
        return [None] * len(inputs)
    return list(
        grad(
            [o for o, _ in pairs],
            inputs,
            [c for _, c in pairs],
            retain_graph=retain,
            create_graph=create,
            allow_unused=True,
        )
    )


def _anything(like: Tensor) -> Tensor:
    """Numbers from 1 to 2 without a pattern, where rules that take logarithms of their cotangent are smooth."""
    from .._ops.creation import arange

    count = arange(like._data.size, dtype=float32, device=like.device)
    return (1 + (count * 0.6180339887).frac()).reshape(like.shape).to(like.dtype)


class Pushforward:
    """The derivative of recorded ``outputs`` with respect to ``roots`` as a function of tangents, at no rule's cost.

    The vector-Jacobian product is linear in the cotangent, so its own derivative with respect to the cotangent, at any
    value of it, is the Jacobian-vector product (the "double-backward trick"): every rule serves in forward mode as
    well.
    """

    def __init__(self, outputs: Sequence[Tensor], roots: Sequence[Tensor]) -> None:
        self.ids = {id(r) for r in roots}
        self.live = leads_beyond(outputs, self.ids)
        with level():
            self.cotangents = [_anything(o).requires_grad_() if edge(o) is not None else None for o in outputs]
            products = gradients(outputs, roots, self.cotangents, True)
        self.products = [(i, p) for i, p in enumerate(products) if p is not None and edge(p) is not None]
        self.ids |= {id(c) for c in self.cotangents}

    def __call__(self, tangents: Sequence[Tensor | None]) -> list[Tensor | None]:
        """The tangent of each output; None where it does not depend on the roots."""
        pairs = [(p, tangents[i]) for i, p in self.products if tangents[i] is not None]
        wanted = [c for c in self.cotangents if c is not None]
        if not pairs or not wanted:
            return [None] * len(self.cotangents)
        create = bool(recording()) and (self.live or any(edge(t) is not None for _, t in pairs))
        found = iter(gradients([p for p, _ in pairs], wanted, [t for _, t in pairs], create))
        return [None if c is None else leave(next(found), self.ids) for c in self.cotangents]
