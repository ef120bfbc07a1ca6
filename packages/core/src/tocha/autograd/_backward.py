"""``autograd.backward`` and ``autograd.grad``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import engine
from .._core.tensor import Tensor, wrap
from .._core.views import edge


def _sequence(value: Any) -> tuple:
    if value is None:
        return ()
    return (value,) if isinstance(value, Tensor) else tuple(value)


def _seeds(outputs: tuple, gradients: Any, create: bool) -> list[tuple]:
    given: Sequence = (None,) * len(outputs) if gradients is None else _sequence(gradients)
    if len(given) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    seeds = []
    for i, (t, g) in enumerate(zip(outputs, given)):
        e = edge(t)
        if e is None:
            raise engine.no_history(i)
        if g is None:
            seed = engine.implicit_gradient(t)
            seeds.append((e, wrap(seed) if create else seed))
        else:
            seeds.append((e, engine.check_gradient(t, g, create)))
    return seeds


def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    grad_variables: Any = None, inputs: Any = None,
) -> None:  # fmt: skip
    """Accumulate the gradients of ``tensors`` into the leaves' ``grad`` (or into ``inputs`` only).

    Args:
        tensors: a tensor or several.
        grad_tensors: a gradient for each (None where it has one element).
        retain_graph: keep the graph (default: ``create_graph``).
        create_graph: record the pass, for higher derivatives.
        inputs: accumulate into these only.

    Raises:
        RuntimeError: a tensor has no history, or needs a gradient and got none.
    """
    if grad_tensors is None:
        grad_tensors = grad_variables
    outputs = _sequence(tensors)
    if not outputs:
        return
    targets = None if inputs is None else _sequence(inputs)
    if targets == ():
        raise RuntimeError("'inputs' argument to backward() cannot be empty.")
    seeds = _seeds(outputs, grad_tensors, create_graph)
    engine.run(seeds, create_graph if retain_graph is None else retain_graph, create_graph, targets, True)


def grad(
    outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple:  # fmt: skip
    """The gradients of ``outputs`` with respect to ``inputs``, as a tuple; no ``grad`` is touched.

    Args:
        grad_outputs: a gradient for each output (None where it has one element).
        allow_unused: give None for an input that the outputs do not depend on (default: ``materialize_grads``).
        is_grads_batched: ``grad_outputs`` have one more, first dimension: so do the results, one backward pass a slice.
        materialize_grads: give zeros instead of None.

    Raises:
        RuntimeError: an input is unused and ``allow_unused`` is False.

    Example:
        >>> import tocha
        >>> x = tocha.tensor(3.0, requires_grad=True)
        >>> tocha.autograd.grad(x * x, x)
        (tensor(6.),)
    """
    outs, targets = _sequence(outputs), _sequence(inputs)
    if allow_unused is False and materialize_grads:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    for t in targets:
        if not isinstance(t, Tensor):
            raise TypeError(f"grad(): argument 'inputs' must be Tensors, got {type(t).__name__}")
    if is_grads_batched:
        results: Any = _batched(outs, targets, grad_outputs, retain_graph, create_graph)
    else:
        results = engine.run(
            _seeds(outs, grad_outputs, create_graph),
            create_graph if retain_graph is None else retain_graph,
            create_graph,
            targets,
            False,
        )
    if materialize_grads:
        from .._ops.creation import zeros_like

        lead = len(_sequence(grad_outputs)[0]) if is_grads_batched else None
        return tuple(
            [
                (zeros_like(t) if lead is None else t.new_zeros((lead, *t.shape))) if r is None else r
                for t, r in zip(targets, results)
            ]
        )
    if not allow_unused and any(r is None for r in results):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if "
            "this is the desired behavior."
        )
    return tuple(results)


def _batched(outputs: tuple, targets: tuple, gradients: Any, retain: bool | None, create: bool) -> list:
    """The gradients for each slice of batched ``gradients``, stacked."""
    from .._ops.movement import stack

    given = _sequence(gradients)
    sizes = {len(g) for g in given if g is not None}
    if len(sizes) != 1 or len(given) != len(outputs):
        raise RuntimeError(
            f"is_grads_batched=True needs grad_outputs with one common batch size for {len(outputs)} outputs, got "
            f"sizes {sorted(sizes)}"
        )
    size = sizes.pop()
    for out, g in zip(outputs, given):
        if g is not None and tuple(g.shape[1:]) != tuple(out.shape):
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output has a shape of {g.shape} and output has a shape of "
                f"{out.shape}."
            )
    keep = create if retain is None else retain
    rows = []
    for i in range(size):
        seeds = _seeds(outputs, [None if g is None else g[i] for g in given], create)
        rows.append(engine.run(seeds, keep or i + 1 < size, create, targets, False))
    return (
        [None if column[0] is None else stack(column) for column in zip(*rows)]
        if rows
        else [t.new_zeros((0, *t.shape)) for t in targets]
    )
