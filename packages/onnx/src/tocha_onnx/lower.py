"""Turns a traced graph into an ONNX model: one lowering a node, then names, types and metadata around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper

from tocha.onnx.tracing import Graph, Node, Value, is_symbolic

from .builder import Array, Builder, Complex, tensor
from .errors import UnsupportedOperatorError
from .kernels import newest_opset, onnx_type
from .registry import Unsupported, find, find_complex

__all__ = ["IR_VERSION", "NEWEST_OPSET", "OLDEST_OPSET", "Lowered", "fold_constants", "lower", "lower_part", "reads"]

IR_VERSION = 10  # the first with metadata on nodes
OLDEST_OPSET = 17
NEWEST_OPSET = newest_opset()
FOLDED_BYTES = 1 << 16  # results of constants that are larger, and larger than what they came from, stay computed


@dataclass
class Lowered:
    """An ONNX model without its arrays, the arrays, and the ONNX name of each value of the traced graph."""

    model: onnx.ModelProto
    arrays: dict[str, np.ndarray]
    names: dict[Value, str]
    notes: list[str]

    def proto(self) -> onnx.ModelProto:
        """The whole model, arrays included."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        model.graph.initializer.extend(tensor(data, name) for name, data in self.arrays.items())
        return model


def fold_constants(graph: Graph) -> tuple[int, int]:
    """Compute nodes whose inputs are constants; returns how many, and by how many bytes the constants grew."""
    kept, folded, grown = [], 0, 0
    replaced: dict[Value, Value] = {}
    for node in graph.nodes:
        arguments = [replaced.get(value, value) for value in node.inputs]
        if not node.pure or len(node.outputs) != 1 or any(v.kind != "constant" for v in arguments):
            kept.append(node)
            continue
        if is_symbolic(node.attributes) or any(is_symbolic(n) for n in node.outputs[0].shape):
            kept.append(node)
            continue
        out = node.outputs[0]
        bytes_out = int(np.prod(out.shape, dtype=np.int64)) * out.dtype.itemsize
        if bytes_out > max(FOLDED_BYTES, sum(v.data.nbytes for v in arguments)):
            kept.append(node)
            continue
        inputs = iter(arguments)
        raws = [_filled(item, inputs) for item in node.arguments]
        data = np.array(node.op.run(*raws, *node.attributes))
        replaced[out] = graph.constant(data)
        folded, grown = folded + 1, grown + data.nbytes
    graph.nodes = kept
    graph.replace(replaced)
    return folded, grown


def _filled(item: Any, inputs: Any) -> Any:
    if isinstance(item, Value):
        return next(inputs).data
    return tuple(_filled(part, inputs) for part in item) if isinstance(item, tuple | list) else item


def lower(
    graph: Graph,
    output_names: list[str],
    *,
    opset: int,
    name: str = "main",
    metadata: Mapping[str, str] | None = None,
) -> Lowered:
    """The ONNX model of a traced graph.

    Raises:
        UnsupportedOperatorError: an operator has no ONNX form; every one that lacks it is named.
    """
    b = Builder(opset, graph.environment)
    arrays: dict[Value, Any] = {}
    reserved = {value.name for value in graph.inputs} | set(output_names)
    for taken in reserved:
        b.unique(taken)
    for value in graph.inputs:
        if value.dtype.kind == "c":
            raise UnsupportedOperatorError(
                f"the input {value.name!r} is complex: give its parts, as view_as_real has them"
            )
        arrays[value] = Array(value.name, value.dtype, value.shape)
        b.shapes.bind(arrays[value])
    used = {value for node in graph.nodes for value in node.inputs} | set(graph.outputs)
    for value in graph.parameters:
        if value in used:
            arrays[value] = _pair(b, value) if value.dtype.kind == "c" else b.initializer(value.name, value.data)
    for value in graph.constants:
        if value in used:
            arrays[value] = _pair(b, value) if value.dtype.kind == "c" else b.constant(value.data, value.dtype)
    refused: dict[str, str] = {}
    for node in graph.nodes:
        _lower_node(b, node, arrays, refused)
    for value in graph.outputs:
        if isinstance(arrays.get(value), Complex) or (value not in arrays and not refused):
            refused[value.name] = f"the output {value.name} is {value.dtype.name}, a type that ONNX models do not give"
    if refused:
        raise UnsupportedOperatorError(
            "this program has no ONNX form:\n" + "\n".join(f"  {text}" for text in refused.values())
        )
    names = {value: array.name for value, array in arrays.items() if isinstance(array, Array)}
    for value, wanted in zip(graph.outputs, output_names):
        with b.at("", ""):
            b.nodes.append(helper.make_node("Identity", [arrays[value].name], [wanted], name=f"output/{wanted}"))
    _inline_outputs(b, graph, output_names, names)
    _drop_unused(b, set(output_names))
    inputs = [_value_info(value.name, value.dtype, value.shape) for value in graph.inputs]
    outputs = [_value_info(wanted, value.dtype, value.shape) for wanted, value in zip(output_names, graph.outputs)]
    proto = helper.make_graph(b.nodes, name, inputs, outputs)
    model = helper.make_model(
        proto, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION, producer_name="tocha"
    )
    for key, text in (metadata or {}).items():
        model.metadata_props.add(key=key, value=str(text))
    return Lowered(model, b.initializers, names, list(b.notes))


def lower_part(b: Builder, graph: Graph, inputs: Sequence[Array]) -> list[Array]:
    """The nodes of a branch, or of a loop's body, in a builder of a subgraph; its outputs.

    Raises:
        Unsupported: an operator inside has no ONNX form.
    """
    arrays: dict[Value, Any] = {}
    for value, array in zip(graph.inputs, inputs):
        arrays[value] = Array(array.name, array.dtype, value.shape)
    for value in graph.constants:
        arrays[value] = b.constant(value.data, value.dtype)
    refused: dict[str, str] = {}
    for node in graph.nodes:
        _lower_node(b, node, arrays, refused)
    if refused:
        raise Unsupported("inside of it, " + "; ".join(refused.values()))
    return [arrays[value] for value in graph.outputs]


def _lower_node(b: Builder, node: Node, arrays: dict[Value, Any], refused: dict[str, str]) -> None:
    try:
        arguments = [_arrays(item, arrays) for item in node.arguments]
    except KeyError:  # an input comes from an operator that was refused
        return
    source = str(node.source) if node.source else ""
    mixed = any(value.dtype.kind == "c" for value in (*node.inputs, *node.outputs))
    with b.at(node.module, source):
        try:
            found = find_complex(node.name) if mixed else find(node.name)
            results = found(b, *arguments, *node.attributes)
        except Unsupported as error:
            refused.setdefault(node.name, _refusal(node, source, error.reason))
            return
        except Exception as error:
            error.add_note(f"while lowering {node} with attributes {node.attributes}, from {source}")
            raise
        results = (results,) if isinstance(results, Array | Complex) else results
        for value, array in zip(node.outputs, results):
            if isinstance(array, Complex):
                arrays[value] = Complex(*[Array(part.name, part.dtype, value.shape) for part in array])
            elif array is not None:
                arrays[value] = Array(b.cast(array, value.dtype).name, value.dtype, value.shape)
                b.shapes.bind(arrays[value])


def _pair(b: Builder, value: Value) -> Complex:
    """A complex array as its two parts."""
    return Complex(b.constant(value.data.real.copy()), b.constant(value.data.imag.copy()))


def _refusal(node: Node, source: str, reason: str) -> str:
    place = f" in module {node.module!r}" if node.module else ""
    return f"{node.name}{place}, at {source}: {reason}"


def _arrays(item: Any, arrays: dict[Value, Any]) -> Any:
    if isinstance(item, Value):
        return arrays[item]
    return tuple(_arrays(part, arrays) for part in item) if isinstance(item, tuple | list) else item


def _inline_outputs(b: Builder, graph: Graph, output_names: list[str], names: dict[Value, str]) -> None:
    """Let the node that computes an output carry the output's name, where nothing forbids it, instead of an
    Identity."""
    made = {out: node for node in b.nodes for out in node.output}
    fixed = {value.name for value in graph.inputs} | set(b.initializers)
    renamed: dict[str, str] = {}
    for node in b.nodes[-len(output_names) :]:
        source, wanted = node.input[0], node.output[0]
        if source not in fixed and source not in renamed and source in made:
            renamed[source] = wanted
    b.nodes = [n for n in b.nodes if not (n.op_type == "Identity" and renamed.get(n.input[0]) == n.output[0])]
    for node in b.nodes:
        _rename(node, renamed)
    for value, name in names.items():
        names[value] = renamed.get(name, name)


def _rename(node: onnx.NodeProto, renamed: Mapping[str, str]) -> None:
    for i, text in enumerate(node.input):
        if text in renamed:
            node.input[i] = renamed[text]
    for i, text in enumerate(node.output):
        if text in renamed:
            node.output[i] = renamed[text]
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            for inner in attribute.g.node:
                _rename(inner, renamed)


def reads(node: onnx.NodeProto) -> set[str]:
    """What a node reads, its subgraphs included."""
    found = set(node.input)
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            for inner in attribute.g.node:
                found |= reads(inner)
            found |= {out.name for out in attribute.g.output}
    return found


def _drop_unused(b: Builder, outputs: set[str]) -> None:
    live, kept = set(outputs), []
    for node in reversed(b.nodes):
        if any(out in live for out in node.output):
            live |= reads(node)
            kept.append(node)
    b.nodes = kept[::-1]
    b.initializers = {name: data for name, data in b.initializers.items() if name in live}


def _value_info(name: str, dtype: np.dtype, shape: tuple) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, onnx_type(dtype), [n if isinstance(n, int) else str(n) for n in shape])
