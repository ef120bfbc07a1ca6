"""Control flow that PyTorch's compiler wants as operators: run at once here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.tensor import Tensor

__all__ = ["cond", "while_loop"]


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
        raise RuntimeError(f"Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but got {operands}.")
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
    carried: Any = carried_inputs
    while cond_fn(*carried):
        result = body_fn(*carried)
        result = result if isinstance(result, (tuple, list)) else (result,)
        if len(result) != len(carried):
            raise RuntimeError(f"body_fn should return {len(carried)} values, as many as carried_inputs, but got {len(result)}")
        carried = result
    return carried
