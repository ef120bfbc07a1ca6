"""Writes ONNX nodes: types follow the operators' schemas, equal nodes and constants are written once.

``builder.Mul(x, 0.5)`` adds a node of the ONNX operator ``Mul`` and returns its output. Python numbers become constants
of the type that the schema gives them. Where onnxruntime has no kernel for a type, the inputs are cast to one that it
has and the result is cast back.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tocha.onnx.tracing import is_symbolic

from .kernels import carrier, onnx_type
from .shapes import Shapes

__all__ = ["INT64_MAX", "INT64_MIN", "Array", "Builder", "Complex"]

INT64_MAX, INT64_MIN = 2**63 - 1, -(2**63) + 1
SMALL = 1 << 12  # elements of a filled array that the file may hold; a larger one is made when it runs
NP_BOOL, NP_INT64 = np.dtype("bool"), np.dtype("int64")
_TYPES = {
    f"tensor({onnx.TensorProto.DataType.Name(n).lower()})": n
    for n in onnx.TensorProto.DataType.values()
    if n != onnx.TensorProto.UNDEFINED
}


class Array:
    """A value of the ONNX graph. ``shape`` (sizes may be symbolic) is None where nobody asked for it."""

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, name: str, dtype: np.dtype, shape: Any = None) -> None:
        self.name, self.dtype, self.shape = name, dtype, shape

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        assert self.shape is not None
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        """Whether the type is a floating-point one, bfloat16 included."""
        return self.dtype.kind in "fV"

    def __repr__(self) -> str:
        return f"{self.name}: {self.dtype}{'' if self.shape is None else list(self.shape)}"


class Complex(NamedTuple):
    """A complex value: two real ones of one shape."""

    real: Array
    imag: Array


class Builder:
    """The nodes and initializers of one graph under construction, for one opset."""

    def __init__(self, opset: int, environment: Any = None) -> None:
        self.opset = opset
        self.shapes = Shapes(self, environment)
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, np.ndarray] = {}
        self.kept: dict[str, Array] = {}  # arrays that a lowering made of others, by a name of its own
        self.notes: dict[str, None] = {}
        self._scope = ("", "")
        self._names: dict[str, int] = {}
        self._seen: dict[Any, list[str]] = {}
        self._by_content: dict[Any, Array] = {}

    # -- names -----------------------------------------------------------------------------------------------------

    def unique(self, name: str) -> str:
        """``name``, or ``name_1`` and so on where it is taken."""
        if name not in self._names:
            self._names[name] = 0
            return name
        while True:
            self._names[name] += 1
            candidate = f"{name}_{self._names[name]}"
            if candidate not in self._names:
                self._names[candidate] = 0
                return candidate

    @contextmanager
    def at(self, module: str, source: str) -> Iterator[None]:
        """Nodes made inside belong to a module and come from a line of the program."""
        previous, self._scope = self._scope, (module, source)
        try:
            yield
        finally:
            self._scope = previous

    def note(self, text: str) -> None:
        """Say something about the export that its report should tell."""
        self.notes.setdefault(text)

    # -- values ----------------------------------------------------------------------------------------------------

    def initializer(self, name: str, data: np.ndarray) -> Array:
        """An array that the file holds under a name of its own."""
        name = self.unique(name)
        self.initializers[name] = data
        return Array(name, data.dtype, tuple(data.shape))

    def constant(self, value: Any, dtype: Any = None) -> Array:
        """A number or an array; equal ones are held once."""
        data = np.asarray(value)
        if dtype is not None and data.dtype != dtype:
            data = data.astype(dtype)
        elif dtype is None and not isinstance(value, np.ndarray | np.generic):
            data = data.astype({"f": np.float32, "i": np.int64}.get(data.dtype.kind, data.dtype))
        key = (data.dtype.str, data.dtype.name, data.shape, data.tobytes())
        found = self._by_content.get(key)
        if found is None:
            label = "constant"
            if data.size == 1 and data.dtype.kind in "iufb":
                label = f"{data.reshape(-1)[0]}".replace("-", "minus_").replace(".", "_").replace("+", "")
                label = f"{data.dtype.name}_{label}" if not data.ndim else f"{data.dtype.name}s_{label}"
            found = self._by_content[key] = self.initializer(label, np.ascontiguousarray(data).reshape(data.shape))
        return found

    def data(self, x: Array) -> np.ndarray | None:
        """The values of an initializer; None for anything that is computed."""
        return self.initializers.get(x.name)

    def size(self, n: Any) -> Array:
        """One size, a number or symbolic, as an int64 array of one element."""
        return self.shapes.vector((n,))

    def sizes(self, shape: Sequence[Any]) -> Array:
        """Sizes as an int64 vector."""
        return self.shapes.vector(tuple(shape))

    def scalar(self, n: Any, dtype: Any = NP_INT64) -> Array:
        """A number, or a symbolic size or float, as a 0-d array."""
        return self.shapes.scalar(n, np.dtype(dtype))

    # -- nodes -----------------------------------------------------------------------------------------------------

    def __getattr__(self, op: str) -> Any:
        if not op[:1].isupper():
            raise AttributeError(op)
        return functools.partial(self.add, op)

    def add(self, op: str, *inputs: Any, outputs: int = 1, dtype: Any = None, **attributes: Any) -> Any:
        """A node of the ONNX operator ``op``; its output, or a tuple where ``outputs`` is not 1.

        ``dtype`` is the type of outputs whose type the schema leaves to attributes.
        """
        schema = onnx.defs.get_schema(op, self.opset)
        parameters = self._parameters(schema, len(inputs))
        bound: dict[str, np.dtype] = {}
        for value, parameter in zip(inputs, parameters):
            if isinstance(value, Array):
                bound.setdefault(parameter, value.dtype)
        carriers: dict[str, np.dtype] = {}
        for parameter in [p for p in bound if p not in _TYPES]:
            carriers[parameter] = carrier(op, self.opset, {**bound, **carriers}, parameter)
        names = []
        for value, parameter in zip(inputs, parameters):
            names.append(self._operand(value, parameter, bound, carriers))
        attributes = {key: value for key, value in attributes.items() if value is not None}
        made = self.write(op, names, outputs, attributes)
        results = []
        for i, name in enumerate(made):
            parameter = schema.outputs[min(i, len(schema.outputs) - 1)].type_str
            if parameter in bound:
                result = Array(name, carriers.get(parameter, bound[parameter]))
                results.append(self.cast(result, bound[parameter]))
            elif parameter in _TYPES:
                results.append(Array(name, helper.tensor_dtype_to_np_dtype(_TYPES[parameter])))
            else:
                results.append(Array(name, np.dtype(self._only_type(schema, parameter) if dtype is None else dtype)))
        for parameter, used in carriers.items():
            if bound[parameter] == np.float64 and used == np.float32:
                self.note(f"{op} is computed in float32, not float64: onnxruntime has no other kernel")
        return results[0] if outputs == 1 else tuple(results)

    def _only_type(self, schema: Any, parameter: str) -> Any:
        for constraint in schema.type_constraints:
            if constraint.type_param_str == parameter and len(constraint.allowed_type_strs) == 1:
                return helper.tensor_dtype_to_np_dtype(_TYPES[constraint.allowed_type_strs[0]])
        raise TypeError(f"{schema.name}: say which dtype the output has")

    @staticmethod
    def _parameters(schema: Any, count: int) -> list[str]:
        formal = [i.type_str for i in schema.inputs]
        return formal[:count] + formal[-1:] * (count - len(formal))

    def _operand(self, value: Any, parameter: str, bound: dict, carriers: dict) -> str:
        if value is None:
            return ""
        if not isinstance(value, Array):
            dtype = bound.get(parameter)
            if dtype is None and parameter in _TYPES:
                dtype = helper.tensor_dtype_to_np_dtype(_TYPES[parameter])
            elif dtype is None and parameter in ("Tind", "tensor(int64)"):
                dtype = NP_INT64
            value = self.scalar(value, dtype or np.float64) if is_symbolic(value) else self.constant(value, dtype)
        wanted = carriers.get(parameter)
        if parameter in bound and value.dtype != bound[parameter]:
            raise TypeError(f"expected {bound[parameter]} as the other inputs, got {value}")
        return self.cast(value, wanted).name if wanted is not None else value.name

    def cast(self, x: Array, dtype: Any) -> Array:
        """``x`` in another type; itself where it has that type."""
        dtype = np.dtype(dtype)
        if x.dtype == dtype:
            return x
        (name,) = self.write("Cast", [x.name], 1, {"to": onnx_type(dtype)})
        return Array(name, dtype, x.shape)

    def write(self, op: str, names: list[str], outputs: int, attributes: dict[str, Any]) -> list[str]:
        """A node as it is given, without a look at its schema; the names of its outputs."""
        key = (op, tuple(names), outputs, _frozen(attributes))
        if key[-1] is not None and key in self._seen:
            return self._seen[key]
        module, source = self._scope
        label = f"{module}/{op}" if module else op
        made = [self.unique(label) for _ in range(outputs)]
        node = helper.make_node(op, names, made, name=made[0], **attributes)
        for text, value in (("module", module), ("source", source)):
            if value:
                node.metadata_props.add(key=text, value=value)
        self.nodes.append(node)
        if key[-1] is not None:
            self._seen[key] = made
        return made

    # -- loops -----------------------------------------------------------------------------------------------------

    def loop(self, count: Any, states: Sequence[Array], body: Callable[..., Sequence[Array]]) -> tuple[Array, ...]:
        """``states = body(builder, i, *states)`` for each ``i`` below ``count``; the states keep their types.

        ``body`` gets a builder of its own, and may read everything that was made before.
        """
        inner = self.inside()
        names = [self.unique("loop/state") for _ in states]
        step, going = self.unique("loop/step"), self.unique("loop/going")
        given = [Array(name, state.dtype, state.shape) for name, state in zip(names, states)]
        made = body(inner, Array(step, NP_INT64, ()), *given)
        outputs = []
        for result, state in zip(made, states):
            if result.dtype != state.dtype:
                raise TypeError(f"expected a state of {state.dtype} to stay one, got {result}")
            outputs.append(self.unique("loop/next"))
            inner.nodes.append(helper.make_node("Identity", [result.name], [outputs[-1]]))
        still = self.unique("loop/still")
        inner.nodes.append(helper.make_node("Identity", [going], [still]))
        info = lambda name, dtype: helper.make_tensor_value_info(name, onnx_type(np.dtype(dtype)), None)  # noqa: E731
        scalar = lambda name, dtype: helper.make_tensor_value_info(name, onnx_type(np.dtype(dtype)), [])  # noqa: E731
        graph = helper.make_graph(
            inner.nodes, self.unique("loop"),
            [scalar(step, np.int64), scalar(going, np.bool_), *[info(a.name, a.dtype) for a in given]],
            [scalar(still, np.bool_), *[info(n, s.dtype) for n, s in zip(outputs, states)]],
        )  # fmt: skip
        total = count if isinstance(count, Array) else self.scalar(count)
        names = self.write("Loop", [total.name, "", *[s.name for s in states]], len(states), {"body": graph})
        return tuple(Array(name, state.dtype, state.shape) for name, state in zip(names, states))

    def inside(self) -> Builder:
        """A builder for a subgraph: it shares names and arrays, and sees the nodes that are there, but keeps its
        own."""
        inner = Builder(self.opset)
        inner.initializers, inner.notes, inner.kept = self.initializers, self.notes, self.kept
        inner._names, inner._by_content, inner._scope = self._names, self._by_content, self._scope
        inner._seen = dict(self._seen)
        inner.shapes = self.shapes.inside(inner)
        return inner

    # -- what several lowerings need -------------------------------------------------------------------------------

    def reshape(self, x: Array, shape: Sequence[Any]) -> Array:
        """``x`` in another shape; sizes may be symbolic."""
        if x.shape is not None and self.shapes.same(x.shape, shape):
            return x
        target = tuple(shape)
        symbolic = [i for i, n in enumerate(target) if not isinstance(n, int)]
        if len(symbolic) == 1 and all(n > 0 for n in target if isinstance(n, int)):
            target = (*target[: symbolic[0]], -1, *target[symbolic[0] + 1 :])
        zero = any(isinstance(n, int) and n == 0 for n in target) or len(symbolic) > 1
        result = self.Reshape(x, self.sizes(target), allowzero=1 if zero else None)
        result.shape = tuple(shape)
        return result

    def expand(self, x: Array, shape: Sequence[Any]) -> Array:
        """``x`` broadcast to ``shape``."""
        if x.shape is not None and self.shapes.same(x.shape, shape):
            return x
        result = self.Expand(x, self.sizes(shape))
        result.shape = tuple(shape)
        return result

    def reduce(self, op: str, x: Array, axes: Sequence[int] | None, keepdims: bool = False) -> Array:
        """One of ``ReduceSum``, ``ReduceMax``, …; ``axes`` None reduces all, an empty tuple none."""
        if axes is not None and not len(axes):
            return x
        keep = int(keepdims)
        if op == "ReduceSum" or self.opset >= 18:
            return self.add(op, x, None if axes is None else self.constant(np.array(axes, np.int64)), keepdims=keep)
        return self.add(op, x, axes=None if axes is None else tuple(axes), keepdims=keep)

    def squeeze(self, x: Array, axes: Sequence[int]) -> Array:
        """``x`` without these dimensions of size 1."""
        return self.Squeeze(x, np.array(axes, np.int64)) if len(axes) else x

    def unsqueeze(self, x: Array, axes: Sequence[int]) -> Array:
        """``x`` with dimensions of size 1 at these places of the result."""
        return self.Unsqueeze(x, np.array(axes, np.int64)) if len(axes) else x

    def transpose(self, x: Array, order: Sequence[int]) -> Array:
        """``x`` with its dimensions in another order."""
        return x if tuple(order) == tuple(range(len(order))) else self.Transpose(x, perm=tuple(order))

    def slice(self, x: Array, axis: int, start: Any, stop: Any, step: int = 1) -> Array:
        """``x[start:stop:step]`` along one dimension; the bounds may be symbolic."""
        return self.Slice(x, self.size(start), self.size(stop), self.size(axis), self.size(step))

    def zeros(self, shape: Sequence[Any], dtype: Any) -> Array:
        """An array of zeros; sizes may be symbolic."""
        return self.full(shape, 0, dtype)

    def full(self, shape: Sequence[Any], value: Any, dtype: Any) -> Array:
        """An array filled with a number, or with a symbolic size."""
        if all(isinstance(n, int) for n in shape) and not is_symbolic(value) and math.prod(shape) <= SMALL:
            return self.constant(np.full(tuple(shape), value), dtype)
        scalar = self.scalar(value, dtype)
        return self.expand(Array(scalar.name, scalar.dtype, ()), shape)

    def range(self, length: Any, dtype: Any = NP_INT64) -> Array:
        """0, 1, … below ``length``."""
        if isinstance(length, int):
            return self.constant(np.arange(length), dtype)
        return self.cast(self.Range(self.scalar(0), self.scalar(length), self.scalar(1)), dtype)

    def same_shape(self, x: Array, like: Array) -> Array:
        """``x`` broadcast to the shape of another array."""
        return self.Expand(x, self.Shape(like))


def _frozen(attributes: dict[str, Any]) -> Any:
    """A key for attributes, None where they hold a graph."""
    items = []
    for name in sorted(attributes):
        value = attributes[name]
        if isinstance(value, onnx.GraphProto):
            return None
        if isinstance(value, onnx.TensorProto):
            value = value.SerializeToString()
        items.append((name, tuple(value) if isinstance(value, list) else value))
    return tuple(items)


def tensor(data: np.ndarray, name: str) -> onnx.TensorProto:
    """An array as ONNX stores it."""
    return numpy_helper.from_array(np.ascontiguousarray(data).reshape(data.shape), name)
