"""Finds the first operator of a wrong export, and leaves files that show it in ONNX's test-case layout."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tocha.onnx.tracing import Graph, Node, Value, evaluate, is_symbolic

from .errors import VerificationError
from .kernels import onnx_type
from .lower import lower, reads
from .runtime import PROTOBUF_LIMIT, Session
from .verification import compare, tolerance

if TYPE_CHECKING:
    from .program import ONNXProgram

__all__ = ["explain", "write_case"]


def write_case(
    folder: Path, model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]
) -> None:
    """``model.onnx`` and ``test_data_set_0/{input,output}_N.pb``, as ONNX's own backend tests are kept."""
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    large = model.ByteSize() >= PROTOBUF_LIMIT
    onnx.save_model(model, folder / "model.onnx", save_as_external_data=large, location="model.onnx.data")
    for kind, arrays in (("input", inputs), ("output", outputs)):
        for i, (name, array) in enumerate(arrays.items()):
            made = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
            (data / f"{kind}_{i}.pb").write_bytes(made.SerializeToString())


def explain(
    program: ONNXProgram,
    sizes: Mapping[str, int],
    arrays: list[np.ndarray],
    expected: list[np.ndarray],
    problem: str,
    folder: Path | None,
) -> VerificationError:
    """The error for a mismatch: with the first operator that differs, and the folder that shows it."""
    if folder is None:
        beside = program.path
        folder = beside.with_suffix(".mismatch") if beside else Path(tempfile.mkdtemp(prefix="tocha-onnx-"))
    write_case(folder, program.model, dict(zip(program.input_names, arrays)), dict(zip(program.output_names, expected)))
    try:
        found = _first_difference(program, sizes, arrays, expected, folder)
    except Exception as error:  # the search is a help; the mismatch itself has to be told in any case
        found = f"the search for the operator failed: {type(error).__name__}: {error}"
    text = f"the exported model is wrong: {problem}\n  {found}\n  reproducer: {folder}"
    if any(size == 1 for size in sizes.values()):
        text += "\n  (a size of 1 is a case of its own for squeeze and broadcasting: Dim(name, min=2) excludes it)"
    return VerificationError(text, found, folder)


def _first_difference(
    program: ONNXProgram, sizes: Mapping[str, int], arrays: list[np.ndarray], expected: list[np.ndarray], folder: Path
) -> str:
    graph = program._capture.graph
    symbols = dict(sizes)
    values, failure = _replay(graph, arrays, symbols)
    if failure is not None:
        return failure
    for name, value, e in zip(program.output_names, graph.outputs, expected):
        _, why = compare(e, np.asarray(values[value]), *tolerance(e.dtype, []))
        if why is not None:
            return f"the traced graph itself differs from the program in {name!r} ({why}): the trace is wrong"
    got, reached = _intermediates(program, arrays)
    for node in graph.nodes:
        for value in node.outputs:
            place = program._lowered.names.get(value, "")
            if place not in got or value not in values:
                continue
            e = np.asarray(values[value])
            _, why = compare(e, np.asarray(got[place]).astype(e.dtype), *tolerance(e.dtype, program._lowered.notes))
            if why is not None:
                if not any(v.dtype.kind == "c" for v in (*node.inputs, *node.outputs)):  # no file has complex inputs
                    _write_node(program, node, values, symbols, folder / "operator")
                return f"the first operator that differs is {_describe(node)}: {why}"
    return reached or "every operator agrees by itself: onnxruntime's optimizations make the difference"


def _describe(node: Node) -> str:
    module = f" of module {node.module!r}" if node.module else ""
    return f"{node.name!r}{module}, at {node.source}"


def _replay(graph: Graph, arrays: list[np.ndarray], symbols: dict[str, int]) -> tuple[dict[Value, Any], str | None]:
    """Every value of the graph, computed by tocha's own kernels."""
    store: dict[Value, Any] = dict(zip(graph.inputs, arrays))
    store.update((value, value.data) for value in (*graph.parameters, *graph.constants))
    for node in graph.nodes:
        arguments = [_filled(item, store) for item in node.arguments]
        attributes = [evaluate(item, symbols) if is_symbolic(item) else item for item in node.attributes]
        try:
            results = node.op.run(*arguments, *attributes)
        except Exception as error:
            return store, f"the traced graph itself fails at {_describe(node)}: {type(error).__name__}: {error}"
        for value, result in zip(node.outputs, results if isinstance(results, tuple | list) else (results,)):
            store[value] = result
            for size, found in zip(value.shape, getattr(result, "shape", ())):
                if str(size) in graph.environment.symbols:
                    symbols.setdefault(str(size), found)
    return store, None


def _filled(item: Any, store: Mapping[Value, Any]) -> Any:
    if isinstance(item, Value):
        return store[item]
    return tuple(_filled(part, store) for part in item) if isinstance(item, tuple | list) else item


def _intermediates(program: ONNXProgram, arrays: list[np.ndarray]) -> tuple[dict[str, np.ndarray], str]:
    """What onnxruntime computes for each value of the traced graph, and where it stops if it does."""
    made = {name for node in program._lowered.model.graph.node for name in node.output}
    named = [
        (program._lowered.names[v], v.dtype)
        for n in program._capture.graph.nodes
        for v in n.outputs
        if v in program._lowered.names
    ]
    wanted = {name: dtype for name, dtype in named if name in made}
    feeds = dict(zip(program.input_names, arrays))
    try:
        return _expose(program, wanted, feeds), ""
    except Exception as error:
        names = list(wanted)
        low, high = 0, len(names)  # the longest run of values that onnxruntime still computes
        while low < high:
            middle = (low + high + 1) // 2
            try:
                _expose(program, {n: wanted[n] for n in names[:middle]}, feeds, cut=True)
                low = middle
            except Exception:
                high = middle - 1
        got = _expose(program, {n: wanted[n] for n in names[:low]}, feeds, cut=True) if low else {}
        by_name = {program._lowered.names.get(v): n for n in program._capture.graph.nodes for v in n.outputs}
        stopped = by_name.get(names[low]) if low < len(names) else None
        return got, f"onnxruntime stops at {_describe(stopped)}: {error}" if stopped is not None else str(error)


def _expose(
    program: ONNXProgram, wanted: Mapping[str, np.dtype], feeds: Mapping[str, np.ndarray], cut: bool = False
) -> dict[str, np.ndarray]:
    """The values of these names. ``cut`` drops the nodes that none of them needs."""
    changed = onnx.ModelProto()
    changed.CopyFrom(program._lowered.model)
    own = {out.name for out in changed.graph.output}
    if cut:
        del changed.graph.output[:]
        own = set()
    changed.graph.output.extend(
        helper.make_tensor_value_info(name, onnx_type(dtype), None) for name, dtype in wanted.items() if name not in own
    )
    if cut:
        live, kept = set(wanted), []
        for node in reversed(changed.graph.node):
            if any(out in live for out in node.output):
                live |= reads(node)
                kept.append(node)
        del changed.graph.node[:]
        changed.graph.node.extend(kept[::-1])
    return dict(zip(wanted, Session(changed, program._lowered.arrays, optimized=False).run(feeds, list(wanted))))


def _write_node(
    program: ONNXProgram, node: Node, values: Mapping[Value, Any], symbols: Mapping[str, int], folder: Path
) -> None:
    """A model of one operator, with the inputs that it had."""
    graph = Graph()
    inside: dict[Value, Value] = {}
    for i, value in enumerate(dict.fromkeys(node.inputs)):
        data = np.asarray(values[value])
        inside[value] = graph.input(f"x{i}", data.shape, data.dtype)
    arguments = tuple(_filled(item, inside) for item in node.arguments)
    attributes = tuple(evaluate(item, symbols) if is_symbolic(item) else item for item in node.attributes)
    outputs = [(np.asarray(values[v]).shape, np.asarray(values[v]).dtype) for v in node.outputs if v in values]
    graph.outputs = list(graph.add(node.op, arguments, attributes, outputs, source=node.source, module=node.module))
    names = [f"y{i}" for i in range(len(graph.outputs))]
    made = lower(graph, names, opset=program.opset_version, name=node.name).proto()
    inputs = {value.name: np.asarray(values[original]) for original, value in inside.items()}
    write_case(folder, made, inputs, {name: np.asarray(values[v]) for name, v in zip(names, node.outputs)})
