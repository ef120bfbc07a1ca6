"""The nodes of the autograd graph.

A node holds its operator, its edges (where the gradients of its inputs go) and the raw arrays its rule
needs, with their version counters. It never holds its output tensor, nor a tensor that is not a leaf, so
there are no reference cycles and an array is freed as soon as backward has used it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

next_sequence = itertools.count(1).__next__


class Node:
    """One recorded operation.

    op: the operator record (or a proxy of it: hooks, complex rule).
    edges: for each tensor input a Node, a leaf Tensor, or None where no gradient is wanted.
    saved: the raw arrays the rule asked for; None once backward has freed them.
    attrs: the operator's other arguments. aux: what the kernel kept for the rule, or None.
    shape: the first input's shape; in the binary family the two broadcast shapes, or None.
    counters, version: the version counters of the saved arrays and their sum when they were saved.
    """

    __slots__ = ("op", "edges", "saved", "attrs", "aux", "seq", "shape", "counters", "version", "extra", "__weakref__")

    op: Any
    edges: Sequence
    saved: Any
    attrs: Any
    aux: Any
    seq: int
    shape: Any
    counters: Any
    version: int
    extra: dict

    # What users of ``tensor.grad_fn`` see; the names are PyTorch's.
    def name(self) -> str:
        """The name PyTorch's ``grad_fn`` would print, such as ``MulBackward0``."""
        return (self.edges[0] if self.op.name == "pick" else self).op.grad_name

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that gradients flow to, each with the output it belongs to."""
        out: list[tuple[Any, int]] = []
        for edge in self.edges:
            if edge is None:
                out.append((None, 0))
            elif type(edge) is Node:
                picked = edge.op.name == "pick"
                out.append((edge.edges[0], edge.attrs) if picked else (edge, 0))
            else:
                out.append((AccumulateGrad(edge), 0))
        return tuple(out)

    @property
    def metadata(self) -> dict:
        """A dictionary for the user's notes about the node; anomaly mode keeps the forward stack here."""
        return self.extras().setdefault("metadata", {})

    def extras(self) -> dict:
        """What few nodes have: hooks, notes, where the node was made. Made on first use."""
        try:
            return self.extra
        except AttributeError:
            self.extra = {}
            return self.extra

    def register_hook(self, fn: Any) -> Any:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node has run; a returned tuple replaces ``grad_inputs``."""
        from .hooks import add_node_hook

        return add_node_hook(self, "post", fn)

    def register_prehook(self, fn: Any) -> Any:
        """Call ``fn(grad_outputs)`` before the node runs; a returned tuple replaces ``grad_outputs``."""
        from .hooks import add_node_hook

        return add_node_hook(self, "pre", fn)


class AccumulateGrad:
    """What ``next_functions`` shows for a leaf: ``variable`` is the tensor whose ``grad`` accumulates."""

    __slots__ = ("variable",)

    def __init__(self, variable: Any) -> None:
        self.variable = variable

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccumulateGrad) and other.variable is self.variable

    def __hash__(self) -> int:
        return hash(("AccumulateGrad", id(self.variable)))

    @property
    def next_functions(self) -> tuple:
        return ()

    def register_prehook(self, fn: Any) -> Any:
        return self.variable.register_hook(lambda g: (fn((g,)) or (None,))[0])

    def register_hook(self, fn: Any) -> Any:
        return self.variable.register_post_accumulate_grad_hook(lambda t: fn((), (t.grad,)))


class Cotangents(dict):
    """Gradients of an operator with several outputs, by output index; the engine adds them like arrays."""

    __slots__ = ()

    def __add__(self, other: dict) -> Cotangents:
        total = Cotangents(self)
        for index, value in other.items():
            total[index] = total[index] + value if index in total else value
        return total


class Pick:
    """The operator of the small node that stands for one output of an operator with several."""

    name = "pick"
    grad_name = "PickBackward0"

    @staticmethod
    def vjp(node: Node, g: Any) -> tuple:
        return (Cotangents({node.attrs: g}),)

    backward = vjp
    roles: tuple = ()
    save_from = None


def pick(parent: Node, index: int) -> Node:
    n = Node()
    n.op, n.edges, n.saved, n.attrs, n.aux, n.shape, n.counters = Pick, (parent,), (), index, None, None, None
    n.seq = next_sequence()
    return n
