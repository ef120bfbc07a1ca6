"""Calling a module with other parameters and buffers."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from tocha._core.tensor import Tensor

from ..modules.module import Module
from ..parameter import Parameter

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The deprecated home of ``tocha.func.functional_call``."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        category=FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """``module(*args, **kwargs)`` with the given tensors in the place of its own.

    Args:
        module: left as it was afterwards, whatever happens.
        parameters_and_buffers: by dotted name. A buffer that the module replaces during the call is replaced here too.
        args: a tuple of arguments, or one argument. kwargs: keyword arguments.
        tie_weights: a tensor given for one name of a shared parameter stands for its other names too.
        strict: every parameter and buffer has to be given, and nothing else.

    Raises:
        ValueError: different tensors for one shared parameter. RuntimeError: a missing or unknown name, with
        ``strict``.
    """
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*arguments, **(kwargs or {}))


@contextlib.contextmanager
def _reparametrize_module(
    module: Module, parameters_and_buffers: dict[str, Tensor], tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    given = _with_ties(module, parameters_and_buffers) if tie_weights else dict(parameters_and_buffers)
    if strict:
        _check_names(module, given)
    places: dict[str, tuple[Module, str, Any]] = {}
    try:
        for name, tensor in given.items():
            path, _, leaf = name.rpartition(".")
            owner = module.get_submodule(path)
            places[name] = (owner, leaf, _swap(owner, leaf, tensor))
        yield
    finally:
        for name, (owner, leaf, original) in reversed(places.items()):
            now = _swap(owner, leaf, original)
            if name in parameters_and_buffers:
                parameters_and_buffers[name] = now


_ABSENT = object()


def _swap(owner: Module, name: str, value: Any) -> Any:
    """Put ``value`` where the module keeps ``name``, past all checks; what was there before."""
    for table in (owner._parameters, owner._buffers):
        if name in table:
            kept = table[name]
            table[name] = value
            return kept
    before: Any = getattr(owner, name, _ABSENT)
    if before is not _ABSENT and not isinstance(before, Tensor):
        raise TypeError(f"{name}: {before} is not an instance of torch.Tensor")
    if value is _ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, value)
    return before


def _own_tensors(module: Module) -> dict[str, Tensor | Parameter]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers(remove_duplicate=False))
    }  # fmt: skip


def _with_ties(module: Module, given: dict[str, Tensor]) -> dict[str, Tensor]:
    names_of: dict[int, list[str]] = {}
    for name, tensor in _own_tensors(module).items():
        names_of.setdefault(id(tensor), []).append(name)
    complete = dict(given)
    for names in names_of.values():
        values = [given[name] for name in names if name in given]
        if len({id(value) for value in values}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. Consider using "
                "tie_weights=False"
            )
        if values:
            complete.update(dict.fromkeys(names, values[0]))
    return complete


def _check_names(module: Module, given: dict[str, Tensor]) -> None:
    own = _own_tensors(module)
    problems = []
    for label, names in (
        ("Unexpected", sorted(given.keys() - own.keys())),
        ("Missing", sorted(own.keys() - given.keys())),
    ):
        if names:
            problems.append(f"{label} key(s): {', '.join(map(repr, names))}.")
    if problems:
        raise RuntimeError(
            "Error(s) in reparametrizing for {}:\n\t{}".format(module._get_name(), "\n\t".join(problems))
        )
