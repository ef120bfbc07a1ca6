"""Runs the program once on traced values: its graph, with names for inputs, outputs, parameters and modules."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tocha
from tocha import nn
from tocha.onnx.tracing import Environment, Graph, Tracer, is_symbolic, value_of, wrap

from .dimensions import Dimension, read_dynamic, symbols
from .trees import bind_arguments, children, flatten, rebuild, unique_names

__all__ = ["Capture", "Program", "capture"]


class Program:
    """What is exported, as a function of a flat list of arrays."""

    def __init__(self, model: Any, args: tuple, kwargs: Mapping[str, Any]) -> None:
        self.model, self.args, self.kwargs = model, args, dict(kwargs)
        self.is_module = isinstance(model, nn.Module)
        call = model.forward if self.is_module else model
        self.arguments = bind_arguments(call, args, self.kwargs)
        self.leaves = [leaf for name, value in self.arguments for leaf in flatten(value, name)]

    @property
    def examples(self) -> list[np.ndarray]:
        """The tensors of the example call, as arrays."""
        return [tensor.detach()._data for _, tensor in self.leaves]

    def call(self, tensors: list[Any]) -> Any:
        """Run the program with other tensors in the place of the example's."""
        args, kwargs = rebuild((self.args, self.kwargs), list(tensors))
        return self.model(*args, **kwargs)

    def run(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """The outputs, in order, of the program itself: eager, in eval mode, without gradients."""
        with evaluating(self.model), tocha.no_grad(), restored(self.model):
            outputs = self.call([wrap(np.array(a)) for a in arrays])
        return [np.asarray(tensor.detach()._data) for _, tensor in flatten(outputs, "output")]


@dataclass
class Capture:
    """The graph of a program and what its names stand for."""

    program: Program
    graph: Graph
    inputs: list[str]
    outputs: list[str]
    dimensions: list[Dimension]
    parameters: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@contextlib.contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Eval mode inside, each submodule's own mode again afterwards."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    before = [module.training for module in modules]
    if any(before):
        model.eval()
    try:
        yield
    finally:
        for module, training in zip(modules, before):
            module.training = training


@contextlib.contextmanager
def restored(model: Any) -> Iterator[None]:
    """Parameters and buffers hold the same arrays with the same values afterwards (a cache may be written inside)."""
    if not isinstance(model, nn.Module):
        yield
        return
    owners = [(module, dict(module._buffers)) for module in model.modules()]
    buffers = [tensor for _, table in owners for tensor in table.values() if tensor is not None]
    kept = [(tensor, tensor._data, np.array(tensor._data)) for tensor in buffers if tensor.device.type == "cpu"]
    parameters = [(tensor, tensor._data) for tensor in model.parameters()]
    try:
        yield
    finally:
        for module, table in owners:
            module._buffers.clear()
            module._buffers.update(table)
        for tensor, data, values in kept:
            tensor._data = data
            if data.flags.writeable and not np.array_equal(data, values, equal_nan=data.dtype.kind == "f"):
                data[...] = values
        for tensor, data in parameters:
            tensor._data = data


@contextlib.contextmanager
def _module_paths(model: Any, tracer: Tracer) -> Iterator[None]:
    """Nodes carry the path of the module that ran them."""
    handles = []
    seen: set[int] = set()
    if isinstance(model, nn.Module):
        for path, module in model.named_modules():
            if id(module) in seen:
                continue
            seen.add(id(module))
            enter = lambda m, a, path=path: tracer.modules.append(path)  # noqa: E731
            leave = lambda m, a, out: (tracer.modules.pop(), None)[1]  # noqa: E731
            handles.append(module.register_forward_pre_hook(enter, prepend=True))
            handles.append(module.register_forward_hook(leave, always_call=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
        tracer.modules.clear()


def _named(model: Any) -> list[tuple[str, Any]]:
    if not isinstance(model, nn.Module):
        return []
    return [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]


def _check_devices(program: Program) -> None:
    for name, tensor in [*program.leaves, *_named(program.model)]:
        if tensor is not None and tensor.device.type != "cpu":
            raise ValueError(
                f"expected the model and its inputs on the CPU, got {name!r} on {tensor.device}: move them with .cpu()"
            )


def capture(
    program: Program,
    input_names: list[str] | None,
    output_names: list[str] | None,
    dynamic_shapes: Any,
    dynamic_axes: Any,
    *,
    fold: bool = True,
) -> Capture:
    """Trace ``program``.

    Args:
        fold: compute at once what does not depend on the inputs; else parameters stay as they are in the file.

    Raises:
        TracingError: the program branches on a tensor's values, or does something else that cannot be recorded.
        GuardError: the program is valid for one value of a dynamic size only.
    """
    _check_devices(program)
    predicted = [name for name, _ in program.leaves]
    names = unique_names(predicted, input_names, "input")
    ranks = [(p, n, len(t.shape)) for p, n, (_, t) in zip(predicted, names, program.leaves)]
    axes = read_dynamic(dynamic_shapes, dynamic_axes, program.arguments, ranks)
    environment = Environment(strict=True)
    shapes, dimensions = symbols(environment, axes, names, [tuple(t.shape) for _, t in program.leaves])
    if program.is_module and program.model.training:
        warnings.warn(
            "the model is in training mode and is exported in eval mode: call model.eval() first to say that you know",
            UserWarning,
            stacklevel=4,
        )
    tracer = Tracer(Graph(environment))
    result = Capture(program, tracer.graph, names, [], dimensions)
    for name, tensor in _named(program.model):
        if tensor is not None:
            tracer.name_parameter(tensor._data, name)
            result.parameters[name] = name
    inputs = [
        tracer.input(name, shape, tensor._data.dtype) for name, shape, (_, tensor) in zip(names, shapes, program.leaves)
    ]
    with evaluating(program.model), restored(program.model), tocha.no_grad(), _module_paths(program.model, tracer):
        if not fold:
            for _, tensor in _named(program.model):
                if tensor is not None and isinstance(tensor._data, np.ndarray):
                    tensor._data = tracer.constant(tensor._data)
        with tracer.active():
            outputs = program.call(inputs)
            flat = flatten(outputs, "" if isinstance(outputs, Mapping) else "output")
            if not flat:
                raise TypeError(f"expected the program to return tensors, got {type(outputs).__name__}")
            found = [(name, value_of(tensor, tracer)) for name, tensor in flat]
    result.notes += [f"the output {name} is a number and is left out" for name in _numbers(outputs, "output")]
    result.outputs = unique_names([name for name, _ in found], output_names, "output")
    tracer.graph.outputs = [value for _, value in found]
    clash = set(result.outputs) & set(names)
    if clash and not output_names:
        result.outputs = [f"{name}_out" if name in clash else name for name in result.outputs]
    elif clash:
        raise ValueError(f"expected other names for outputs than for inputs, got {sorted(clash)} for both")
    return result


def _numbers(tree: Any, name: str) -> list[str]:
    if isinstance(tree, bool | int | float) or is_symbolic(tree) and not isinstance(tree, tuple | list | dict):
        return [name]
    return [found for key, item in children(tree) for found in _numbers(item, f"{name}_{key}")]
