"""Branches and loops of a trace: each becomes one node that holds the graphs of its parts.

A part is traced on its own. What it reads from outside becomes further inputs of its graph and of the node, so that
whoever walks the outer graph sees every dependence. Parameters and constants stay those of the outer graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.record import Op
from .._core.tensor import Tensor, wrap
from .._core.views import sync
from .graph import Graph, Value
from .symbolic import SymInt, structural_key
from .tracer import Traced, Tracer, TracingError

__all__ = ["is_traced", "traced_cond", "traced_scan", "traced_while"]


class Part(Tracer):
    """The tracer of a branch or of a loop's body."""

    def __init__(self, outer: Tracer) -> None:
        super().__init__(Graph(outer.graph.environment), recompute=outer.recompute)
        self.outer, self.depth, self.modules = outer, outer.depth + 1, outer.modules
        self.closed = False

    def constant(self, raw: Any) -> Traced:
        """The outer graph holds the arrays."""
        return self.outer.constant(raw)

    def unknown(self, of: Any) -> SymInt:
        """The outer trace names the sizes."""
        return self.outer.unknown(of)

    def run(self, op: Op, args: tuple) -> Any:
        """Record while the part is being traced."""
        if self.closed:
            raise TracingError(
                f"a branch or loop wrote to a tensor from outside of it (found at {op.name!r}): return the new value "
                "instead, and use what cond, while_loop or scan give back"
            )
        return super().run(op, args)


def is_traced(x: Any) -> bool:
    """Whether a tensor is a value of a trace."""
    return isinstance(x, Tensor) and getattr(type(x._data), "records", False)


def leaves_of(tree: Any) -> list[Any]:
    """The tensors of a nest of tuples, lists and dicts."""
    if isinstance(tree, Tensor):
        return [tree]
    items = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, (tuple, list)) else ()
    return [leaf for item in items for leaf in leaves_of(item)]


def filled(tree: Any, leaves: list[Any]) -> Any:
    """The nest with its tensors replaced in order (``leaves`` is consumed)."""
    if isinstance(tree, Tensor):
        return leaves.pop(0)
    if isinstance(tree, dict):
        return {key: filled(item, leaves) for key, item in tree.items()}
    if isinstance(tree, tuple):
        items = [filled(item, leaves) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    return [filled(item, leaves) for item in tree] if isinstance(tree, list) else tree


def _raw(tensor: Tensor) -> Any:
    if tensor._base is not None:
        sync(tensor)
    return tensor._data


def _value(tracer: Tracer, tensor: Tensor) -> Value:
    raw = _raw(tensor)
    return raw.value if isinstance(raw, Traced) else tracer.constant(raw).value


def _trace(outer: Tracer, fn: Callable, operands: Any, specs: Sequence[tuple]) -> tuple[Graph, Any]:
    """The graph of ``fn(*operands)``, whose inputs have these shapes and dtypes, and the nest that it returned."""
    part = Part(outer)
    inputs: list[Any] = [part.input(f"x{i}", shape, dtype) for i, (shape, dtype) in enumerate(specs)]
    with part.active():
        result = fn(*filled(tuple(operands), inputs))
        part.graph.outputs = [_value(part, leaf) for leaf in leaves_of(result)]
    part.closed = True
    part.graph.dead_code_elimination()
    return part.graph, result


def _captured(graphs: Sequence[Graph]) -> list[Value]:
    """What the graphs read from outside, in order; each becomes a further input of every one of them."""
    found: dict[Value, None] = {}
    for graph in graphs:
        own = {*graph.inputs, *(value for node in graph.nodes for value in node.outputs)}
        reads = [value for node in graph.nodes for value in node.inputs] + graph.outputs
        found.update((value, None) for value in reads if value not in own)
    for graph in graphs:
        graph.replace({v: graph.input(f"captured{i}", v.shape, v.dtype) for i, v in enumerate(found)})
    return list(found)


def _symbols(tracer: Tracer) -> tuple:
    """The sizes of the trace: a replay passes their numbers on to the parts."""
    from .polynomial import Polynomial

    environment = tracer.graph.environment
    known = [name for name, symbol in environment.symbols.items() if symbol.hint is not None]
    return tuple([(name, SymInt(Polynomial.unknown(name), environment)) for name in known])


def _specs(values: Sequence[Value]) -> list[tuple]:
    return [(v.shape, v.dtype) for v in values]


def _check_alike(what: str, a: Sequence[tuple], b: Sequence[tuple]) -> None:
    if len(a) != len(b) or any(structural_key(p[0]) != structural_key(q[0]) or p[1] != q[1] for p, q in zip(a, b)):
        show = lambda specs: ", ".join(f"{dtype.name}{list(shape)}" for shape, dtype in specs)  # noqa: E731
        raise TracingError(f"{what}: expected the same shapes and dtypes, got ({show(a)}) and ({show(b)})")


def _record(tracer: Tracer, op: Op, arguments: Sequence[Value], attributes: tuple, outs: Sequence[tuple]) -> list[Any]:
    values = tracer.graph.add(op, (tuple(arguments),), (*attributes, _symbols(tracer)), outs, module=tracer._module())
    return [wrap(Traced(value, tracer)) for value in values]


def _arguments(tracer: Tracer, tensors: Sequence[Tensor]) -> list[Value]:
    return [_value(tracer, tensor) for tensor in tensors]


def _tracer(tensors: Sequence[Any]) -> Tracer:
    tracers = [t._data.tracer for t in tensors if is_traced(t)]
    return max(tracers, key=lambda tracer: tracer.depth)


# ---------------------------------------------------------------- cond


def traced_cond(pred: Tensor, true_fn: Callable, false_fn: Callable, operands: Any) -> Any:
    """One node with the graphs of both branches."""
    leaves = leaves_of(tuple(operands))
    tracer = _tracer([pred, *leaves])
    arguments = _arguments(tracer, leaves)
    parts = [_trace(tracer, fn, operands, _specs(arguments)) for fn in (true_fn, false_fn)]
    (yes, result), (no, _) = parts
    _check_alike("the branches of cond", _specs(yes.outputs), _specs(no.outputs))
    captured = _captured((yes, no))
    flag = _value(tracer, pred.reshape(()).bool())
    made = _record(tracer, cond_op, [flag, *arguments, *captured], (yes, no), _specs(yes.outputs))
    return filled(result, made)


def _cond_kernel(xp: Any, xs: tuple, yes: Graph, no: Graph, symbols: tuple) -> list:
    return (yes if bool(xs[0]) else no).run(xs[1:], dict(symbols))


cond_op = Op("cond", _cond_kernel, None, lambda xs, yes, no, symbols: _specs(yes.outputs), arity=None, outputs=0)

# ---------------------------------------------------------------- while_loop


def traced_while(cond_fn: Callable, body_fn: Callable, carried: Any) -> Any:
    """One node with the graph of the condition and that of the body."""
    leaves = leaves_of(tuple(carried))
    tracer = _tracer(leaves)
    arguments = _arguments(tracer, leaves)
    specs = _specs(arguments)
    test, flag = _trace(tracer, cond_fn, carried, specs)
    if not isinstance(flag, Tensor) or len(test.outputs) != 1:
        raise TracingError(
            f"expected the condition of while_loop to return one boolean tensor, got {type(flag).__name__}"
        )
    body, result = _trace(tracer, lambda *c: _as_tuple(body_fn(*c)), carried, specs)
    _check_alike("what while_loop carries, and what its body returns", specs, _specs(body.outputs))
    captured = _captured((test, body))
    made = _record(tracer, while_op, [*arguments, *captured], (test, body, len(arguments)), specs)
    return filled(result, made)


def _as_tuple(result: Any) -> tuple:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def _while_kernel(xp: Any, xs: tuple, test: Graph, body: Graph, count: int, symbols: tuple) -> list:
    carried, captured, known = list(xs[:count]), xs[count:], dict(symbols)
    while bool(test.run([*carried, *captured], known)[0]):
        carried = [np.asarray(c) for c in body.run([*carried, *captured], known)]
    return carried


def _while_infer(xs: tuple, test: Graph, body: Graph, count: int, symbols: tuple) -> list:
    return [(x.shape, x.dtype) for x in xs[:count]]


while_op = Op("while_loop", _while_kernel, None, _while_infer, arity=None, outputs=0)

# ---------------------------------------------------------------- scan


def traced_scan(combine_fn: Callable, init: Any, xs: Any, dim: int, reverse: bool) -> tuple[Any, Any]:
    """One node with the graph of a step: ``(carry, slice) -> (carry, result)``."""
    states, sequences = leaves_of(init), leaves_of(xs)
    tracer = _tracer([*states, *sequences])
    arguments = _arguments(tracer, [*states, *sequences])
    carried, read = _specs(arguments[: len(states)]), _specs(arguments[len(states) :])
    slices = [((*shape[:dim], *shape[dim + 1 :]), dtype) for shape, dtype in read]
    step, (carry, out) = _trace(tracer, combine_fn, (init, xs), [*carried, *slices])
    made = _specs(step.outputs)
    _check_alike("what scan carries, and what its function returns", carried, made[: len(states)])
    captured = _captured((step,))
    length = read[0][0][dim]
    outs = [*made[: len(states)], *[((*s[:dim], length, *s[dim:]), d) for s, d in made[len(states) :]]]
    attributes = (step, len(states), len(sequences), dim, reverse)
    results = _record(tracer, scan_op, [*arguments, *captured], attributes, outs)
    return filled(carry, results), filled(out, results)


def _scan_kernel(
    xp: Any, xs: tuple, step: Graph, states: int, sequences: int, dim: int, reverse: bool, symbols: tuple
) -> list:
    carry, read, captured = list(xs[:states]), xs[states : states + sequences], xs[states + sequences :]
    collected: list[list] = [[] for _ in step.outputs[states:]]
    length = read[0].shape[dim]
    for i in reversed(range(length)) if reverse else range(length):
        made = step.run([*carry, *[np.take(x, i, dim) for x in read], *captured], dict(symbols))
        carry = [np.asarray(c) for c in made[:states]]
        for column, value in zip(collected, made[states:]):
            column.append(value)
    return [*carry, *[np.stack(column[::-1] if reverse else column, dim) for column in collected]]


def _scan_infer(xs: tuple, step: Graph, states: int, sequences: int, dim: int, reverse: bool, symbols: tuple) -> list:
    made, length = _specs(step.outputs), xs[states].shape[dim]
    return [*made[:states], *[((*s[:dim], length, *s[dim:]), d) for s, d in made[states:]]]


scan_op = Op("scan", _scan_kernel, None, _scan_infer, arity=None, outputs=0)
