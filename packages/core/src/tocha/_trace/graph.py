"""The graph that a trace records: operators in the order in which they ran, over values with symbolic sizes.

Values never change (a traced in-place write gives a new value), and a node comes after the nodes that it reads from.
What an operator is stays its own business: the graph calls it, prints its `name`, and compares it by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .guards import Environment
from .render import dot, table
from .source import SourceLine, source_line
from .symbolic import SymInt, evaluate, is_symbolic, structural_key

__all__ = ["Graph", "Node", "Value"]


class Value:
    """One array of the graph.

    `kind` is "input", "parameter", "constant" or "result"; `data` is the array of a parameter or a constant;
    `producer` is the node of a result.
    """

    __slots__ = ("_name", "data", "dtype", "kind", "number", "producer", "shape")

    def __init__(
        self, number: int, kind: str, shape: Sequence[Any], dtype: Any, name: str | None = None, data: Any = None
    ) -> None:
        self.number = number
        self.kind = kind
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        self.data = data
        self.producer: Node | None = None
        self._name = name

    @property
    def name(self) -> str:
        """The name in the printed graph: what ``rename`` gave, else ``v`` and the number."""
        return self._name or f"v{self.number}"

    def rename(self, name: str) -> None:
        """Give the value a name that a reader of the graph knows."""
        self._name = name

    def __repr__(self) -> str:
        return f"{self.name}: {self.dtype.name}[{', '.join(map(str, self.shape))}]"


class Node:
    """One run of an operator: `op(*arguments, *attributes)`.

    `arguments` are values, None, or tuples of them (an operator over a list of arrays); `attributes` are everything
    else, and may contain symbolic sizes. `module` is the path of the module that ran it ("body.0.conv1"), `source` the
    user's line. A node that is not `pure` (it draws random numbers) is neither merged with another nor dropped.
    """

    __slots__ = ("arguments", "attributes", "module", "op", "outputs", "pure", "source")

    def __init__(
        self,
        op: Any,
        arguments: tuple[Any, ...],
        attributes: tuple[Any, ...],
        source: SourceLine | None,
        module: str,
        pure: bool,
    ) -> None:
        self.op = op
        self.arguments = arguments
        self.attributes = attributes
        self.outputs: tuple[Value, ...] = ()
        self.source = source
        self.module = module
        self.pure = pure

    @property
    def name(self) -> str:
        """The operator's name."""
        return str(getattr(self.op, "name", None) or getattr(self.op, "__name__", None) or self.op)

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The values that the node reads, in order (one that is read twice comes twice)."""
        return tuple(_values(self.arguments))

    def __repr__(self) -> str:
        return (
            f"{', '.join(value.name for value in self.outputs)} = {self.name}({', '.join(v.name for v in self.inputs)})"
        )


class Graph:
    """Inputs, nodes in order of execution, outputs, and the arrays that the trace found in the program.

    >>> graph = Graph()
    >>> x = graph.input("x", (graph.environment.symbol("batch", hint=4), 3), np.float32)
    >>> (y,) = graph.add(np.tanh, (x,), (), [(x.shape, x.dtype)])
    >>> graph.outputs = [y]
    >>> graph.run([np.zeros((5, 3), np.float32)])[0].shape
    (5, 3)
    """

    def __init__(self, environment: Environment | None = None) -> None:
        self.environment = Environment() if environment is None else environment
        self.inputs: list[Value] = []
        self.parameters: list[Value] = []
        self.constants: list[Value] = []
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []
        self._count = 0
        self._by_array: dict[int, Value] = {}

    # -- building ------------------------------------------------------------------------------------------------

    def input(self, name: str, shape: Sequence[Any], dtype: Any) -> Value:
        """A value that the caller of the graph provides."""
        self.inputs.append(self._value("input", shape, dtype, name))
        return self.inputs[-1]

    def parameter(self, name: str, array: Any) -> Value:
        """A named array that belongs to the model; the same array gives the same value."""
        return self._held(self.parameters, "parameter", array, name)

    def constant(self, array: Any, name: str | None = None) -> Value:
        """An array that the program computed or loaded outside the trace; the same array gives the same value."""
        return self._held(self.constants, "constant", array, name)

    def add(
        self,
        op: Any,
        arguments: Sequence[Any],
        attributes: Sequence[Any],
        outputs: Iterable[tuple[Sequence[Any], Any]],
        *,
        source: SourceLine | None = None,
        module: str = "",
        pure: bool = True,
    ) -> tuple[Value, ...]:
        """Append a node; `outputs` are the `(shape, dtype)` of its results, which are returned."""
        node = Node(op, tuple(arguments), tuple(attributes), source or source_line(), module, pure)
        node.outputs = tuple([self._value("result", shape, dtype) for shape, dtype in outputs])
        for value in node.outputs:
            value.producer = node
        self.nodes.append(node)
        return node.outputs

    def _value(self, kind: str, shape: Sequence[Any], dtype: Any, name: str | None = None, data: Any = None) -> Value:
        self._count += 1
        return Value(self._count - 1, kind, shape, dtype, name, data)

    def _held(self, group: list[Value], kind: str, array: Any, name: str | None) -> Value:
        value = self._by_array.get(id(array))
        if value is None:
            value = self._by_array[id(array)] = self._value(kind, array.shape, array.dtype, name, array)
            group.append(value)
        return value

    # -- reading -------------------------------------------------------------------------------------------------

    def values(self) -> Iterator[Value]:
        """Every value, in order of definition."""
        yield from (*self.inputs, *self.parameters, *self.constants)
        for node in self.nodes:
            yield from node.outputs

    def users(self) -> dict[Value, list[Node]]:
        """The nodes that read each value (a value that nobody reads has an empty list)."""
        users: dict[Value, list[Node]] = {value: [] for value in self.values()}
        for node in self.nodes:
            for value in dict.fromkeys(node.inputs):
                users[value].append(node)
        return users

    def validate(self) -> None:
        """Check that every value is defined before it is read, once, and that names are unique.

        Raises:
            ValueError: naming the node and the value.
        """
        defined: dict[str, Value] = {}

        def define(value: Value) -> None:
            if defined.setdefault(value.name, value) is not value:
                raise ValueError(f"two values of the graph are named {value.name!r}")

        for value in (*self.inputs, *self.parameters, *self.constants):
            define(value)
        for node in self.nodes:
            for value in node.inputs:
                if defined.get(value.name) is not value:
                    raise ValueError(f"{node} reads {value.name!r} before it is defined")
            for value in node.outputs:
                define(value)
        for value in self.outputs:
            if defined.get(value.name) is not value:
                raise ValueError(f"the graph returns {value.name!r}, which no node defines")

    def __str__(self) -> str:
        return table(self)

    def print(self) -> None:
        """Print the graph as a table, one node a line."""
        print(self)

    def to_dot(self) -> str:
        """The graph in Graphviz's language."""
        return dot(self)

    # -- running -------------------------------------------------------------------------------------------------

    def run(
        self,
        inputs: Sequence[Any],
        symbols: Mapping[str, int] | None = None,
        call: Callable[[Any, list[Any]], Any] | None = None,
    ) -> list[Any]:
        """Replay the graph on arrays; a value is let go at its last use.

        Args:
            inputs: one array for each input.
            symbols: values of the symbolic sizes; read off the inputs' shapes where they are not given.
            call: `call(op, arguments)` runs an operator, for instance on another device; without it `op.replay`, or the
                operator itself, is called.

        Raises:
            RuntimeError: the inputs do not fit (number, dtype, shape), or a guard of the trace does not hold.
        """
        known = self.bind(inputs, symbols)
        call = call or _call
        store: dict[Value, Any] = dict(zip(self.inputs, inputs))
        store.update((value, value.data) for value in (*self.parameters, *self.constants))
        for node, finished in self._schedule():
            arguments = [_replaced(item, store.__getitem__) for item in node.arguments]
            arguments += [evaluate(item, known) if is_symbolic(item) else item for item in node.attributes]
            results = call(node.op, arguments)
            del arguments
            results = results if isinstance(results, tuple | list) else (results,)
            for value, result in zip(node.outputs, results):
                self._read_sizes(value, result, known)
            store.update(zip(node.outputs, results))
            del results
            for value in finished:
                store.pop(value, None)
        return [store[value] for value in self.outputs]

    def bind(self, inputs: Sequence[Any], symbols: Mapping[str, int] | None = None) -> dict[str, int]:
        """The value of every symbol for these inputs; raises as `run` does where they do not fit."""
        if len(inputs) != len(self.inputs):
            names = ", ".join(value.name for value in self.inputs)
            raise RuntimeError(f"the graph takes {len(self.inputs)} inputs ({names}), got {len(inputs)}")
        known = dict(symbols or {})
        for value, array in zip(self.inputs, inputs):
            if len(array.shape) != len(value.shape) or array.dtype != value.dtype:
                raise RuntimeError(f"expected input {value}, got {array.dtype}{list(array.shape)}")
            self._read_sizes(value, array, known)
        for value, array in zip(self.inputs, inputs):
            expected_shape = evaluate(value.shape, known)
            if tuple(array.shape) != expected_shape:
                sizes = ", ".join(f"{name}={size}" for name, size in known.items())
                raise RuntimeError(
                    f"expected input {value}, that is {list(expected_shape)} for {sizes or 'a fixed shape'}, "
                    f"got {list(array.shape)}"
                )
        missing = [
            name for name, symbol in self.environment.symbols.items() if name not in known and symbol.hint is not None
        ]
        if missing:
            raise RuntimeError(f"no input has {', '.join(missing)} as a size: pass symbols={{{missing[0]!r}: ...}}")
        broken = self.environment.violations(known)
        if broken:
            raise RuntimeError("the graph was traced under conditions that do not hold here: " + "; ".join(broken))
        return known

    def _read_sizes(self, value: Value, array: Any, known: dict[str, int]) -> None:
        """Note the symbols that are sizes of a value."""
        for expected, found in zip(value.shape, getattr(array, "shape", ())):
            if isinstance(expected, SymInt) and str(expected) in self.environment.symbols:
                known.setdefault(str(expected), found)

    def _schedule(self) -> Iterator[tuple[Node, list[Value]]]:
        """Each node with the values that nobody reads after it."""
        last: dict[Value, int] = {}
        for position, node in enumerate(self.nodes):
            last.update((value, position) for value in (*node.outputs, *node.inputs))
        kept = set(self.outputs)
        finished: list[list[Value]] = [[] for _ in self.nodes]
        for value, position in last.items():
            if value not in kept:
                finished[position].append(value)
        return zip(self.nodes, finished)

    # -- rewriting -----------------------------------------------------------------------------------------------

    def replace(self, values: Mapping[Value, Value]) -> None:
        """Let every reader of a key read its value instead."""
        for node in self.nodes:
            node.arguments = _replaced(node.arguments, lambda value: values.get(value, value))
        self.outputs = [values.get(value, value) for value in self.outputs]

    def dead_code_elimination(self) -> int:
        """Drop nodes, constants and parameters that no output depends on; returns the number of nodes dropped."""
        live = set(self.outputs)
        kept = []
        for node in reversed(self.nodes):
            if not node.pure or any(value in live for value in node.outputs):
                live.update(node.inputs)
                kept.append(node)
        dropped = len(self.nodes) - len(kept)
        self.nodes = kept[::-1]
        self.constants = [value for value in self.constants if value in live]
        self.parameters = [value for value in self.parameters if value in live]
        held = {*self.constants, *self.parameters}
        self._by_array = {key: value for key, value in self._by_array.items() if value in held}
        return dropped

    def common_subexpressions(self) -> int:
        """Merge pure nodes that run the same operator on the same values; returns the number of nodes merged."""
        same: dict[Value, Value] = {}
        first: dict[Any, Node] = {}
        kept = []
        for node in self.nodes:
            node.arguments = _replaced(node.arguments, lambda value: same.get(value, value))
            key = (id(node.op), structural_key(node.arguments), structural_key(node.attributes))
            earlier = first.setdefault(key, node) if node.pure else node
            if earlier is node:
                kept.append(node)
            else:
                same.update(zip(node.outputs, earlier.outputs))
        merged = len(self.nodes) - len(kept)
        self.nodes = kept
        self.outputs = [same.get(value, value) for value in self.outputs]
        return merged


def _call(op: Any, arguments: list[Any]) -> Any:
    return getattr(op, "replay", op)(*arguments)


def _values(arguments: Any) -> Iterator[Value]:
    for item in arguments:
        if isinstance(item, Value):
            yield item
        elif isinstance(item, tuple | list):
            yield from _values(item)


def _replaced(item: Any, change: Callable[[Value], Any]) -> Any:
    """The nest with `change` applied to the values in it."""
    if isinstance(item, Value):
        return change(item)
    if isinstance(item, tuple | list):
        return type(item)([_replaced(part, change) for part in item])
    return item
