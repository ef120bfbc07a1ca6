"""Stepping other tensors with an optimizer."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tocha._core.tensor import Tensor

from .optimizer import Optimizer

__all__ = ["swap_in_optimizer_params_and_state"]

_NAME = "swap_in_optimizer_params_and_state"


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Inside the block the optimizer has other parameters and another state; afterwards its own again.

    Args:
        optimizer: has taken a step, so that it has a state.
        swapin_parameters: what it steps in the block, in the order of its parameters.
        swapin_optim_state: as ``optimizer.state_dict()`` gives it; its tensors are changed in place.

    Raises:
        RuntimeError: the state or the parameters do not fit the optimizer.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.swap_in_optimizer_params_and_state.html

    >>> import copy, tocha
    >>> w, other = (tocha.ones(1, requires_grad=True) for _ in range(2))
    >>> optimizer = tocha.optim.SGD([w], lr=0.5, momentum=0.9)
    >>> w.grad = other.grad = tocha.ones(1)
    >>> optimizer.step()
    >>> with swap_in_optimizer_params_and_state(optimizer, {"w": other}, copy.deepcopy(optimizer.state_dict())):
    ...     optimizer.step()
    >>> w.item(), round(other.item(), 4)
    (0.5, 0.05)
    """
    groups, state = _checked(optimizer, swapin_parameters, swapin_optim_state)
    own_state, own_groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        for group, other in zip(optimizer.param_groups, groups, strict=True):
            group.update(other)
        optimizer.state = state
        yield
    finally:
        for group, own in zip(optimizer.param_groups, own_groups, strict=True):
            group.clear()
            group.update(own)
        optimizer.state = own_state


def _checked(
    optimizer: Optimizer, parameters: dict[str, Tensor], saved: dict[str, Any]
) -> tuple[list[dict[str, Any]], defaultdict[Any, Any]]:
    """The groups and the state to swap in."""
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} requires initialized optimizer state.")
    if not isinstance(saved, dict) or not isinstance(saved.get("state"), dict):
        raise RuntimeError(f"{_NAME} requires swapin_optim_state['state'] to be a dict mapping packed parameter ids")
    if not isinstance(saved.get("param_groups"), list) or len(saved["param_groups"]) != len(optimizer.param_groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    tensors = iter(parameters.values())
    groups: list[dict[str, Any]] = []
    state: defaultdict[Any, Any] = defaultdict(dict)
    for i, (group, other) in enumerate(zip(optimizer.param_groups, saved["param_groups"], strict=True)):
        if not isinstance(other, dict) or group.keys() != other.keys():
            raise RuntimeError(f"{_NAME} requires the keys of param group {i} to match the live optimizer group's.")
        if len(other["params"]) != len(group["params"]):
            raise RuntimeError(
                f"swapin_optim_state param group {i} has a different number of params than the live optimizer param "
                "group."
            )
        given = [tensor for _, tensor in zip(other["params"], tensors, strict=False)]
        if len(given) != len(group["params"]):
            raise RuntimeError(f"{_NAME} requires as many parameters as the optimizer has.")
        for tensor, index in zip(given, other["params"], strict=True):
            # A copy of the dictionary: what the step puts in stays inside the block, what it writes does not.
            state[tensor] = dict(saved["state"].get(index, {}))
        groups.append({**other, "params": given})
    return groups, state
