"""What an exporter reads: the tracer, the graph that it records, symbolic sizes, and the operators' records.

This is the contract between core and whoever turns a traced graph into another language; ``tocha-onnx`` is written
against it alone.
"""

from __future__ import annotations

from .._core.abstract import Abstract
from .._core.broadcast import broadcast_shapes
from .._core.record import OPS, Op
from .._core.tensor import Tensor, wrap
from .._core.views import sync
from .._trace.graph import Graph, Node, Value
from .._trace.guards import Environment, GuardError
from .._trace.source import SourceLine
from .._trace.symbolic import evaluate, fold, free_symbols, is_symbolic, structural_key
from .._trace.tracer import Traced, Tracer, TracingError

__all__ = [
    "OPS", "Abstract", "Environment", "Graph", "GuardError", "Node", "Op", "SourceLine", "Traced", "Tracer",
    "TracingError", "Value",
    "broadcast_shapes", "evaluate", "fold", "free_symbols", "is_symbolic", "structural_key", "value_of", "wrap",
]  # fmt: skip


def value_of(tensor: Tensor, tracer: Tracer) -> Value:
    """The graph's value of a tensor that the traced program returned; a constant where nothing traced went into it."""
    if tensor._base is not None:  # a view follows what was written to its base since
        sync(tensor)
    raw = tensor._data
    return raw.value if isinstance(raw, Traced) else tracer.constant(raw).value
