"""What the recurrent operators share: steps of a batch of sequences, gates, gradients through their decomposition.

A sequence operator runs one layer in one direction over rows. Padded input is (T, B, I); packed input is (rows, I)
with ``sizes``, how many sequences have a first, second, … step: its rows are those of the first step, then those of
the second, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._core.tensor import Tensor
from .conversion import clone_op
from .dims import product

Sizes = tuple[int, ...] | None


def steps(shape: tuple, sizes: Sizes, reverse: bool) -> Iterator[tuple[int, int, int]]:
    """For each step in the order of time (or reversed): its first row, the row after its last, how many rows."""
    if sizes is None:
        sizes = (shape[1],) * shape[0]
    starts, total = [], 0
    for n in sizes:
        starts.append(total)
        total += n
    order = range(len(sizes))
    for t in reversed(order) if reverse else order:
        yield starts[t], starts[t] + sizes[t], sizes[t]


def rows_of(x: Any) -> Any:
    """Padded input as rows."""
    return x.reshape(-1, x.shape[-1]) if len(x.shape) == 3 else x


def previous_states(xp: Any, states: Any, first: Any, shape: tuple, sizes: Sizes, reverse: bool) -> Any:
    """For each row of ``states`` the state before it; ``first`` is the one before the first step."""
    if sizes is None:
        batch = shape[1]
        parts = (states[batch:], first) if reverse else (first, states[: states.shape[0] - batch])
        return xp.concatenate(parts)
    out, now = xp.empty_like(states), first.copy()
    for start, stop, n in steps(shape, sizes, reverse):
        out[start:stop] = now[:n]
        now[:n] = states[start:stop]
    return out


def sequence_infer(x: Any, width: Any, sizes: Sizes) -> tuple[tuple, Any, Any]:
    """The shape of the output, the number of rows, and the batch size."""
    batch = x.shape[1] if sizes is None else sizes[0] if sizes else 0
    return (*x.shape[:-1], width), product(x.shape[:-1]), batch


def is_recorded(g: dict) -> bool:
    """Whether the gradients of an operator's outputs are Tensors: its rule is to be recorded."""
    return any([isinstance(v, Tensor) for v in g.values()])


def through(decomposition: Callable, inputs: tuple, edges: Any, g: dict) -> tuple:
    """Gradients of an operator through its decomposition, recorded, so that they have gradients themselves.

    Each input is cloned first: the clone's node is nobody else's, so that the inner pass ends there.
    """
    from ..autograd import grad

    again = tuple([t if t is None or e is None else clone_op(t, "K") for t, e in zip(inputs, edges)])
    outputs = decomposition(*again)
    wanted = [t for t, e in zip(again, edges) if e is not None]
    found = iter(grad([outputs[i] for i in g], wanted, list(g.values()), create_graph=True, allow_unused=True))
    return tuple([None if e is None else next(found) for e in edges])


def run_by_steps(cell: Callable, x: Any, states: tuple, sizes: Sizes, reverse: bool) -> tuple:
    """Run ``cell(rows, *states) -> states`` step by step over rows ``x``, in operators.

    Returns the first state of each row, in the shape of ``x``, and the last states.
    """
    from .movement import cat

    padded = len(x.shape) == 3
    rows = x.flatten(0, 1) if padded else x
    outputs: dict[int, Any] = {}
    for start, stop, n in steps(tuple(x.shape), sizes, reverse):
        part = tuple([s[:n] for s in states])
        new = cell(rows[start:stop], *part)
        outputs[start] = new[0]
        states = tuple([a if n == s.shape[0] else cat((a, s[n:])) for a, s in zip(new, states)])
    y = cat([outputs[start] for start in sorted(outputs)])
    return (y.view(*x.shape[:-1], y.shape[-1]) if padded else y, *states)
