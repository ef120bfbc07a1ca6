"""Control flow that PyTorch's compiler wants as operators: run at once here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.tensor import Tensor

__all__ = ["cond", "scan", "while_loop"]


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: tuple | list = ()) -> Any:
    """``true_fn(*operands)`` or ``false_fn(*operands)``, as ``pred`` (a bool, or a tensor with one element) says.

    Raises:
        RuntimeError: ``pred`` is something else, or ``operands`` is no tuple or list.

    Example:
        >>> import tocha
        >>> tocha.cond(tocha.tensor(False), lambda x: x + 1, lambda x: x - 1, (tocha.ones(1),))
        tensor([0.])
    """
    if not isinstance(pred, (bool, Tensor)) and not hasattr(pred, "scalar_category"):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred._data.size != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, "
            f"but got {operands}."
        )
    from .._trace.control import is_traced, traced_cond

    if is_traced(pred):
        return traced_cond(pred, true_fn, false_fn, operands)
    return (true_fn if pred else false_fn)(*operands)


def while_loop(cond_fn: Callable, body_fn: Callable, carried_inputs: tuple | list) -> Any:
    """Run ``carried = body_fn(*carried)`` while ``cond_fn(*carried)`` is true; gives the last ``carried``.

    Raises:
        RuntimeError: ``carried_inputs`` is no tuple or list, or ``body_fn`` returns another number of values.

    Example:
        >>> import tocha
        >>> tocha.while_loop(lambda i: i < 3, lambda i: (i + 1,), (tocha.tensor(0),))
        (tensor(3),)
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"Expect carried_inputs to be a tuple or list, but got {type(carried_inputs)}.")
    from .._trace.control import is_traced, leaves_of, traced_while

    carried: Any = carried_inputs
    if any(is_traced(leaf) for leaf in leaves_of(tuple(carried))):
        return traced_while(cond_fn, body_fn, carried)
    while cond_fn(*carried):
        result = body_fn(*carried)
        result = result if isinstance(result, (tuple, list)) else (result,)
        if len(result) != len(carried):
            raise RuntimeError(
                f"body_fn should return {len(carried)} values, as many as carried_inputs, but got {len(result)}"
            )
        carried = result
    return carried


def scan(combine_fn: Callable, init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> tuple[Any, Any]:
    """``carry, y = combine_fn(carry, x)`` for each slice ``x`` of ``xs`` along ``dim``; the last carry, and the ``y``
    stacked.

    Args:
        init: the first carry: a tensor, or a nest of tuples, lists and dicts of them.
        xs: a tensor or a nest of them, all of one size along ``dim``.
        dim: the dimension to walk along; the results have theirs there too.
        reverse: walk from the end.

    Raises:
        RuntimeError: ``xs`` has no tensor, or nothing to walk along.

    Example:
        >>> import tocha
        >>> total, sums = tocha.scan(lambda c, x: (c + x, c + x), tocha.tensor(0), tocha.arange(4))
        >>> sums.tolist()
        [0, 1, 3, 6]
    """
    from .._trace.control import filled, is_traced, leaves_of, traced_scan
    from .movement import stack

    leaves = leaves_of(xs)
    if not leaves:
        raise RuntimeError("scan() expected xs to hold at least one tensor")
    dim = dim % len(leaves[0]._data.shape) if leaves[0]._data.shape else 0
    if any(is_traced(leaf) for leaf in (*leaves, *leaves_of(init))):
        return traced_scan(combine_fn, init, xs, dim, reverse)
    length = leaves[0]._data.shape[dim] if leaves[0]._data.shape else 0
    if not length:
        raise RuntimeError("scan() expected xs to have at least one slice")
    carry, last = init, None
    columns: Any = None
    for i in reversed(range(length)) if reverse else range(length):
        carry, last = combine_fn(carry, filled(xs, [leaf.select(dim, i) for leaf in leaves]))
        found = leaves_of(last)
        columns = [[] for _ in found] if columns is None else columns
        for column, value in zip(columns, found):
            column.append(value)
    stacked = [stack(column[::-1] if reverse else column, dim) for column in columns or []]
    return carry, filled(last, stacked)
