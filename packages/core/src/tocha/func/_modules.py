"""Modules as functions: ``functional_call``, ``stack_module_state``, ``replace_all_batch_norm_modules_``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from .._core.tensor import Tensor


def functional_call(
    module: Any, parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]], args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """``module(*args, **kwargs)`` with the given tensors in the place of its own.

    Args:
        parameter_and_buffer_dicts: tensors by dotted name, or several such dictionaries without a common name.
        args: a tuple of arguments, or one argument.
        tie_weights: a tensor given for one name of a shared parameter stands for its other names too.
        strict: every parameter and buffer has to be given, and nothing else.

    Raises:
        ValueError: no dictionaries, or a name in two of them.

    Example:
        >>> import tocha
        >>> layer = tocha.nn.Linear(1, 1, bias=False)
        >>> tocha.func.functional_call(layer, {"weight": tocha.ones(1, 1)}, tocha.ones(1)).item()
        1.0
    """
    from ..nn.utils.stateless import _functional_call

    if isinstance(parameter_and_buffer_dicts, dict):
        state = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        if not all(isinstance(d, dict) for d in parameter_and_buffer_dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        counts = Counter(k for d in parameter_and_buffer_dicts for k in d)
        repeated = [k for k, n in counts.items() if n > 1]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        state = {k: v for d in parameter_and_buffer_dicts for k, v in d.items()}
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    return _functional_call(module, state, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several models of one class, each stacked along a new first dimension.

    Raises:
        RuntimeError: no models, of different classes or modes, or with different ``requires_grad``.

    Example:
        >>> import tocha
        >>> params, buffers = tocha.func.stack_module_state([tocha.nn.Linear(2, 3) for _ in range(4)])
        >>> params["weight"].shape
        tocha.Size([4, 3, 2])
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({bool(m.training) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return (
        {k: _stacked([p[k] for p in parameters], k) for k in parameters[0]},
        {k: _stacked([b[k] for b in buffers], k) for k in buffers[0]},
    )


def _stacked(tensors: list[Tensor], name: str) -> Tensor:
    from .._ops.movement import stack

    wants = {t.requires_grad for t in tensors}
    if len(wants) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    return stack(tensors).detach().requires_grad_(wants.pop())


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Make every batch-norm module in ``root`` work without running statistics, in place; returns ``root``."""
    from ..nn.modules.batchnorm import BatchNorm

    for module in root.modules():
        if isinstance(module, BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
