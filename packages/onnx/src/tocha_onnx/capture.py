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
    """What is exported, as a function of a flat list of arrays.

    Args:
        model: a module or a callable.
        owner: the module whose parameters, modes and names count, where ``model`` is a function around one.
        gradients: whether the program computes gradients itself.
        training: the mode in which the owner runs.
    """

    def __init__(
        self,
        model: Any,
        args: tuple,
        kwargs: Mapping[str, Any],
        *,
        owner: nn.Module | None = None,
        gradients: bool = False,
        training: bool = False,
    ) -> None:
        self.model, self.args, self.kwargs = model, args, dict(kwargs)
        self.is_module = isinstance(model, nn.Module)
        self.owner = model if self.is_module else owner
        self.gradients, self.training = gradients, training
        call = model.forward if self.is_module else model
        self.arguments = bind_arguments(call, args, self.kwargs)
        self.leaves = [leaf for name, value in self.arguments for leaf in flatten(value, name)]

    @property
    def examples(self) -> list[np.ndarray]:
        """The tensors of the example call, as arrays."""
        return [tensor.detach()._data for _, tensor in self.leaves]

    @property
    def named(self) -> list[tuple[str, Any]]:
        """The owner's parameters and buffers, each under every name that it has."""
        if self.owner is None:
            return []
        own = [*self.owner.named_parameters(remove_duplicate=False), *self.owner.named_buffers(remove_duplicate=False)]
        return [(name, tensor) for name, tensor in own if tensor is not None]

    def call(self, tensors: list[Any]) -> Any:
        """Run the program with other tensors in the place of the example's."""
        args, kwargs = rebuild((self.args, self.kwargs), list(tensors))
        return self.model(*args, **kwargs)

    @contextlib.contextmanager
    def prepared(self) -> Iterator[None]:
        """The owner in its mode inside; its modes, parameters and buffers as they were afterwards."""
        with in_mode(self.owner, self.training), restored(self.owner), tocha.set_grad_enabled(self.gradients):
            yield

    def run(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """The outputs, in order, of the program itself, eagerly."""
        with self.prepared():
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
    notes: list[str] = field(default_factory=list)


@contextlib.contextmanager
def in_mode(owner: nn.Module | None, training: bool) -> Iterator[None]:
    """Train or eval mode inside, each submodule's own mode again afterwards."""
    modules = [] if owner is None else list(owner.modules())
    before = [module.training for module in modules]
    if owner is not None and any(mode is not training for mode in before):
        owner.train(training)
    try:
        yield
    finally:
        for module, mode in zip(modules, before):
            module.training = mode


@contextlib.contextmanager
def restored(owner: nn.Module | None) -> Iterator[None]:
    """Parameters and buffers hold the same arrays with the same values afterwards (a cache may be written inside)."""
    if owner is None:
        yield
        return
    owners = [(module, dict(module._buffers)) for module in owner.modules()]
    buffers = [tensor for _, table in owners for tensor in table.values() if tensor is not None]
    kept = [(tensor, tensor._data, np.array(tensor._data)) for tensor in buffers if tensor.device.type == "cpu"]
    parameters = [(tensor, tensor._data, tensor.grad) for tensor in owner.parameters()]
    try:
        yield
    finally:
        for module, table in owners:
            module._buffers.clear()
            module._buffers.update(table)
        for tensor, data, values in kept:
            tensor._data, tensor._node = data, None
            if data.flags.writeable and not np.array_equal(data, values, equal_nan=data.dtype.kind == "f"):
                data[...] = values
        for tensor, data, grad in parameters:
            tensor._data = data
            tensor.grad = grad


@contextlib.contextmanager
def _module_paths(owner: nn.Module | None, tracer: Tracer) -> Iterator[None]:
    """Nodes carry the path of the module that ran them."""
    handles = []
    seen: set[int] = set()
    if owner is not None:
        for path, module in owner.named_modules():
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


def _check_devices(program: Program) -> None:
    for name, tensor in [*program.leaves, *program.named]:
        if tensor.device.type != "cpu":
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
    if program.owner is not None and program.owner.training and not program.training:
        warnings.warn(
            "the model is in training mode and is exported in eval mode: call model.eval() first to say that you know",
            UserWarning,
            stacklevel=4,
        )
    tracer = Tracer(Graph(environment), recompute=True)
    result = Capture(program, tracer.graph, names, [], dimensions)
    for name, tensor in program.named:
        tracer.name_parameter(tensor._data, name)
    inputs = [
        tracer.input(name, shape, tensor._data.dtype) for name, shape, (_, tensor) in zip(names, shapes, program.leaves)
    ]
    with program.prepared(), _module_paths(program.owner, tracer):
        if not fold:
            for _, tensor in program.named:
                if isinstance(tensor._data, np.ndarray):
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
