"""A traced graph as text: a table for people, and Graphviz's language for drawings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .graph import Graph, Node, Value

__all__ = ["dot", "table"]


def table(graph: Graph) -> str:
    """Inputs, one line a node, outputs, then the symbols and guards."""
    header = ("value", "operator", "inputs and attributes", "module", "line")
    rows = [header]
    rows += [(repr(value), value.kind, "", "", "") for value in (*graph.inputs, *graph.parameters, *graph.constants)]
    for node in graph.nodes:
        outputs = ", ".join(map(repr, node.outputs))
        operands = ", ".join([*(map(_text, node.arguments)), *(map(_text, node.attributes))])
        rows.append((outputs, node.name, operands, node.module, _line(node)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    lines.append("returns " + (", ".join(value.name for value in graph.outputs) or "nothing"))
    return "\n".join(filter(None, [*lines, str(graph.environment)]))


def dot(graph: Graph) -> str:
    """Operators as boxes, inputs and parameters as ellipses, values as edges labelled with their shapes."""
    lines = ["digraph {", "  node [shape=box];"]
    for value in (*graph.inputs, *graph.parameters, *graph.constants):
        lines.append(f"  {_identity(value)} [shape=ellipse, label={_quoted(f'{value.kind} {value!r}')}];")
    for position, node in enumerate(graph.nodes):
        label = "\n".join(filter(None, [node.name, node.module, _line(node)]))
        lines.append(f"  n{position} [label={_quoted(label)}];")
    producers = {value: f"n{position}" for position, node in enumerate(graph.nodes) for value in node.outputs}
    for position, node in enumerate(graph.nodes):
        for value in node.inputs:
            source = producers.get(value) or _identity(value)
            lines.append(f"  {source} -> n{position} [label={_quoted(_shape(value))}];")
    for position, value in enumerate(graph.outputs):
        lines.append(f"  r{position} [shape=ellipse, label={_quoted(f'output {value!r}')}];")
        lines.append(f"  {producers.get(value) or _identity(value)} -> r{position};")
    return "\n".join([*lines, "}"])


def _text(item: Any) -> str:
    """An argument or attribute in little space: a value's name, an array's shape, anything else as it prints."""
    from .graph import Value

    if isinstance(item, Value):
        return item.name
    if isinstance(item, tuple | list):
        return f"({', '.join(map(_text, item))})"
    if isinstance(item, slice):
        return ":".join("" if part is None else _text(part) for part in (item.start, item.stop, item.step))
    if isinstance(item, np.dtype):
        return item.name
    if hasattr(item, "shape") and hasattr(item, "dtype"):
        return f"{item.dtype}{list(item.shape)}"
    return repr(item)


def _line(node: Node) -> str:
    return "" if node.source is None else f"{os.path.basename(node.source.file)}:{node.source.line}"


def _shape(value: Value) -> str:
    return f"[{', '.join(map(str, value.shape))}]"


def _identity(value: Value) -> str:
    return f"v{value.number}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
