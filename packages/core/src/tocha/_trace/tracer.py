"""The tracer: runs a program on traced arrays and records its operators in a graph.

A traced array is one more kind of raw array: a tensor holds it, the call templates see that it is no memory and
run the operator through its shape rule, and what ran becomes a node. Arrays that the program brings along
(parameters, buffers, constants) join the graph by identity, so shared ones stay shared.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._core import tracing
from .._core.abstract import Abstract, specs
from .._core.devices import CPU, device
from .._core.record import ABSTRACT, OPS, Op
from .._core.tensor import Tensor, wrap
from .graph import Graph, Value
from .source import source_line
from .symbolic import SymInt, is_symbolic

__all__ = ["Traced", "Tracer", "TracingError"]


class TracingError(RuntimeError):
    """The program did something that cannot be recorded; the message names the line."""

    @classmethod
    def for_value(cls, raw: Any, what: str) -> TracingError:
        """The error of a use of values that are not known while tracing; ``what`` needed them."""
        return cls(
            f"{source_line()}: {what} needs the values of a tensor, which are not known while tracing. A branch or "
            "loop on a tensor's values cannot be recorded: use tocha.where for elementwise choices"
        )


class Traced(Abstract):
    """An array of a trace: its shape, its dtype and the graph's value."""

    __slots__ = ("tracer", "value")
    records = True

    def __init__(self, value: Value, tracer: Tracer) -> None:
        super().__init__(value.shape, value.dtype)
        self.value, self.tracer = value, tracer

    @property
    def device(self) -> device:
        """The CPU: that is where models are traced."""
        return CPU

    def __bool__(self) -> bool:
        raise TracingError.for_value(self, "a branch (bool())")

    def copy(self) -> Traced:
        """The value itself: nothing writes to it."""
        return self

    def __repr__(self) -> str:
        return f"Traced({self.value!r})"


class Tracer:
    """Records into ``graph`` while ``active()``.

    With ``recompute`` gradients get nothing that an operator keeps beside its outputs: the graph then has only what
    operators are documented to give.
    """

    def __init__(self, graph: Graph | None = None, *, recompute: bool = False) -> None:
        self.graph = Graph() if graph is None else graph
        self.recompute = recompute
        self.depth = 0  # how many branches and loops this trace is inside of
        self.modules: list[str] = []
        self._names: dict[int, str] = {}
        self._known: dict[int, Traced] = {}
        self._unknown: dict[int, SymInt] = {}
        self._keep: list[Any] = []  # ids stay valid while the tracer holds the arrays

    def input(self, name: str, shape: tuple, dtype: np.dtype) -> Tensor:
        """A tensor for an input of the graph."""
        return wrap(Traced(self.graph.input(name, shape, dtype), self))

    def name_parameter(self, array: Any, name: str) -> None:
        """Call an array by a name when it enters the graph; the first name of a shared array stays."""
        self._names.setdefault(id(array), name)
        self._keep.append(array)

    @contextlib.contextmanager
    def active(self) -> Iterator[Tracer]:
        """Record operators, and factory functions, inside.

        Operators on concrete arrays run at once, unless an attribute is symbolic: ``weight.expand(batch, 3)``.
        """
        previous, tracing.active = tracing.active, self
        kernels = {op: op.kern for op in OPS.values()}
        for op, kernel in kernels.items():
            op.kern = op.table[np.ndarray] = self._unless_symbolic(op, kernel)
        try:
            yield self
        finally:
            tracing.active = previous
            for op, kernel in kernels.items():
                op.kern = op.table[np.ndarray] = kernel

    def _unless_symbolic(self, op: Op, kernel: Callable) -> Callable:
        first = 1 if op.arity is None else op.arity

        def run(*args: Any, **kwargs: Any) -> Any:
            for a in args[first:]:
                if (type(a) is tuple or hasattr(a, "scalar_category")) and is_symbolic(a):
                    return self.run(op, args)
            return kernel(*args, **kwargs)

        return run

    def unknown(self, of: Any) -> SymInt:
        """A size that the values of ``of`` decide: a symbol without a hint, which no branch may depend on."""
        found = self._unknown.get(id(of))
        if found is None:
            name = f"u{len(self._unknown)}"
            found = self._unknown[id(of)] = self.graph.environment.symbol(name, minimum=0)
            self._keep.append(of)
        return found

    # ---- what the core calls

    def constant(self, raw: Any) -> Traced:
        """A concrete array as a value of the graph; the same array is the same value."""
        found = self._known.get(id(raw))
        if found is None:
            name = self._names.get(id(raw))
            value = self.graph.parameter(name, raw) if name is not None else self.graph.constant(raw)
            found = self._known[id(raw)] = Traced(value, self)
            self._keep.append(raw)
        return found

    def create(self, op: Op, attrs: tuple) -> Traced:
        """Record an operator without array arguments."""
        pure = not op.meta.get("random", False)
        (out,) = self.graph.add(op, (), attrs, specs(op, attrs)[0], module=self._module(), pure=pure)
        return Traced(out, self)

    def run(self, op: Op, args: tuple) -> Any:
        """Record ``op(*args)``: its outputs, and where it keeps something for its rule, those values too."""
        arity = op.arity
        if arity is None:
            arguments: tuple = (tuple([self._argument(a) for a in args[0]]),)
            attrs = args[1:]
        else:
            like = _dtype_for_numbers(op, args)
            arguments = tuple([self._argument(a, like) for a in args[:arity]])
            attrs = args[arity:]
        outs, aux = specs(op, args)
        if self.recompute:
            aux = [None if isinstance(a, tuple) else a for a in aux]
        kept = [a for a in aux if isinstance(a, tuple)]
        pure = not op.meta.get("random", False)
        values = self.graph.add(op, arguments, attrs, [*outs, *kept], module=self._module(), pure=pure)
        made = [Traced(v, self) for v in values[: len(outs)]]
        rest = iter(values[len(outs) :])
        extras = [Traced(next(rest), self) if isinstance(a, tuple) else a for a in aux]
        if op.outputs == 1 and not op.aux:
            return made[0]
        return (*made, *extras)

    def number(self, number: Any, dtype: np.dtype) -> Traced:
        """A symbolic size, or a number computed from some, as a 0-d array of the graph."""
        from .._ops.creation import full_op

        return self.create(full_op, ((), number, dtype))

    def _argument(self, a: Any, dtype: Any = None) -> Value | None:
        if a is None or type(a) is Traced:
            return None if a is None else a.value
        if dtype is not None and isinstance(a, (bool, int, float)):
            a = np.asarray(a, dtype)
        elif dtype is not None and hasattr(a, "scalar_category"):
            return self.number(a, dtype).value
        return self.constant(a if isinstance(a, (np.ndarray, Abstract)) else np.asarray(a)).value

    def _module(self) -> str:
        return self.modules[-1] if self.modules else ""


def _dtype_for_numbers(op: Op, args: tuple) -> Any:
    """What Python numbers beside an array become in a pointwise operator: rules write ``g * 0.5`` on raw arrays."""
    if op.family != "binary" and op.name != "where":
        return None
    found = [a.dtype for a in args[:3] if hasattr(a, "dtype")]
    return found[-1] if found else None


def _traced_kernel(op: Op) -> Callable:
    def run(*args: Any) -> Any:
        return _tracer_of(args).run(op, args)

    return run


def _tracer_of(args: Any) -> Tracer:
    """The tracer of the traced values among some arguments: the innermost, or the one in charge inside of a branch."""
    found: Tracer | None = None
    for a in args:
        for b in a if type(a) is tuple else (a,):
            if type(b) is Traced and (found is None or b.tracer.depth > found.depth):
                found = b.tracer
    if found is None:
        raise TypeError("no traced value among the arguments")
    active = tracing.active
    return active if active is not None and active.depth > found.depth else found


ABSTRACT[Traced] = _traced_kernel
