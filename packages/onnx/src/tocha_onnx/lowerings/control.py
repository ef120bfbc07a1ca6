"""Branches and loops: If, Loop and Scan over the graphs of their parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper

from ..builder import Array, Builder
from ..kernels import onnx_type
from ..lower import lower_part
from ..registry import lowering


def _info(array: Array, shape: Any = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(array.name, onnx_type(array.dtype), shape)


def _named(b: Builder, arrays: list[Array], name: str) -> list[Array]:
    """The arrays under names of their own: a subgraph may not give an outer value back as its own."""
    made = []
    for array in arrays:
        made.append(Array(b.unique(name), array.dtype, array.shape))
        b.nodes.append(helper.make_node("Identity", [array.name], [made[-1].name]))
    return made


def _outputs(b: Builder, op: str, inputs: list[Any], like: list[Array], **attributes: Any) -> tuple:
    attributes = {key: value for key, value in attributes.items() if value is not None}
    names = b.write(op, [a.name if isinstance(a, Array) else a for a in inputs], len(like), attributes)
    return tuple(Array(name, array.dtype, None) for name, array in zip(names, like))


@lowering("cond")
def cond(b: Builder, xs: tuple, yes: Any, no: Any, symbols: tuple) -> tuple[Array, ...]:
    branches, like = {}, []
    for name, graph in (("then_branch", yes), ("else_branch", no)):
        inner = b.inside()
        results = _named(inner, lower_part(inner, graph, xs[1:]), f"{name}/out")
        branches[name] = helper.make_graph(inner.nodes, b.unique(name), [], [_info(r) for r in results])
        like = results
    return _outputs(b, "If", [xs[0]], like, **branches)


@lowering("while_loop")
def while_loop(b: Builder, xs: tuple, test: Any, body: Any, count: int, symbols: tuple) -> tuple[Array, ...]:
    captured = xs[count:]
    (first,) = lower_part(b, test, xs)
    inner = b.inside()
    step, going = b.unique("loop/step"), b.unique("loop/going")
    given = [Array(b.unique("loop/carried"), x.dtype, x.shape) for x in xs[:count]]
    made = lower_part(inner, body, (*given, *captured))
    made = [Array(m.name, m.dtype, g.shape) for m, g in zip(made, given)]
    (still,) = lower_part(inner, test, (*made, *captured))
    results = _named(inner, [still, *made], "loop/next")
    flag, number = Array(going, np.dtype(bool)), Array(step, np.dtype(np.int64))
    graph = helper.make_graph(
        inner.nodes,
        b.unique("loop"),
        [_info(number, []), _info(flag, []), *[_info(g) for g in given]],
        [_info(results[0], []), *[_info(r) for r in results[1:]]],
    )
    return _outputs(b, "Loop", ["", first, *xs[:count]], given, body=graph)


@lowering("scan")
def scan(
    b: Builder, xs: tuple, step: Any, states: int, sequences: int, dim: int, reverse: bool, symbols: tuple
) -> tuple[Array, ...]:
    inner = b.inside()
    given = []
    for i, x in enumerate(xs[: states + sequences]):
        shape = x.shape if i < states else (*x.shape[:dim], *x.shape[dim + 1 :])
        given.append(Array(b.unique("scan/in"), x.dtype, shape))
    made = lower_part(inner, step, (*given, *xs[states + sequences :]))
    results = _named(inner, made, "scan/out")
    graph = helper.make_graph(inner.nodes, b.unique("scan"), [_info(g) for g in given], [_info(r) for r in results])
    collected = len(results) - states
    direction = int(reverse)
    return _outputs(
        b,
        "Scan",
        list(xs[: states + sequences]),
        results,
        body=graph,
        num_scan_inputs=sequences,
        scan_input_axes=[dim] * sequences,
        scan_input_directions=[direction] * sequences,
        scan_output_axes=[dim] * collected if collected else None,
        scan_output_directions=[direction] * collected if collected else None,
    )
