"""The report of an export, as text or as Markdown."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .program import ONNXProgram

__all__ = ["report"]


def _bytes(n: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n >= size:
            return f"{n / size:,.1f} {unit}"
    return f"{n} B"


def _sections(program: ONNXProgram) -> list[tuple[str, list[str], list[list[str]]]]:
    """Title, header and rows of each table."""
    capture, lowered = program._capture, program._lowered
    graph, model = capture.graph, lowered.model
    shape = lambda value: f"{value.dtype.name}[{', '.join(map(str, value.shape))}]"  # noqa: E731
    sections: list[tuple[str, list[str], list[list[str]]]] = []
    facts = [
        ["opset", str(program.opset_version)],
        ["nodes", str(len(model.graph.node))],
        ["arrays", f"{len(lowered.arrays)}, {_bytes(program.nbytes)}"],
        ["folding", f"{program.folded[0]} operators of constants computed, {_bytes(program.folded[1])} of results"],
    ]
    sections.append(("Model", ["what", "value"], facts))
    rows = [["input", name, shape(value)] for name, value in zip(program.input_names, graph.inputs)]
    rows += [["output", name, shape(value)] for name, value in zip(program.output_names, graph.outputs)]
    sections.append(("Inputs and outputs", ["", "name", "type"], rows))
    if capture.dimensions:
        rows = []
        for d in capture.dimensions:
            places = ", ".join(f"{name}[{axis}]" for name, axis in d.places)
            upper = "" if d.maximum is None else f" to {d.maximum}"
            rows.append([d.name, f"{d.minimum or 1}{upper or ' and more'}", str(d.example), places])
        sections.append(("Dynamic dimensions", ["name", "range", "example", "where"], rows))
    if program.guards:
        guards = [[guard.expression, str(guard.source)] for guard in graph.environment.guards]
        sections.append(("Guards: the model is right only where", ["condition", "line of the program"], guards))
    counts = Counter(node.op_type for node in model.graph.node)
    sections.append(("Operators", ["operator", "count"], [[name, str(n)] for name, n in counts.most_common()]))
    largest = sorted(lowered.arrays.items(), key=lambda item: -item[1].nbytes)[:12]
    rows = [[name, f"{data.dtype.name}{list(data.shape)}", _bytes(data.nbytes)] for name, data in largest]
    if rows:
        sections.append(("Largest arrays", ["name", "type", "bytes"], rows))
    shared = _shared(program)
    if shared:
        sections.append(("Shared weights", ["array", "used by"], shared))
    notes = [*capture.notes, *lowered.notes]
    if notes:
        sections.append(("Notes", ["note"], [[note] for note in notes]))
    sections.append(("Checked against onnxruntime", ["sizes", "optimizations", "largest difference"], _checks(program)))
    return sections


def _shared(program: ONNXProgram) -> list[list[str]]:
    """Parameters that several modules read, or that have several names."""
    users: dict[str, list[str]] = {}
    for node in program._capture.graph.nodes:
        for value in node.inputs:
            if value.kind == "parameter" and node.module not in users.setdefault(value.name, []):
                users[value.name].append(node.module)
    return [[name, ", ".join(map(repr, modules))] for name, modules in users.items() if len(modules) > 1]


def _checks(program: ONNXProgram) -> list[list[str]]:
    rows = []
    for result in program.verification:
        rows.append(
            [result.label, "on" if result.optimized else "off", result.skipped or f"{result.max_difference:.1e}"]
        )
    return rows or [["not checked", "", ""]]


def _text(title: str, header: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    lines = ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join([title, *lines])


def _markdown(title: str, header: list[str], rows: list[list[str]]) -> str:
    escape = lambda cell: cell.replace("|", "\\|")  # noqa: E731
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(map(escape, row)) + " |" for row in rows]
    return "\n".join([f"## {title}", "", *lines])


def report(program: ONNXProgram, *, markdown: bool = False) -> str:
    """What is in a model and how it was checked."""
    name: Any = program._lowered.model.graph.name
    parts = [f"# {name}" if markdown else str(name)]
    parts += [(_markdown if markdown else _text)(*section) for section in _sections(program)]
    return "\n\n".join(parts) + "\n"
