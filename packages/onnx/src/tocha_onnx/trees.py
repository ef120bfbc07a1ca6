"""Nested inputs and outputs as flat lists of tensors with predictable names, and back."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import tocha

__all__ = ["bind_arguments", "children", "flatten", "rebuild", "unique_names"]


def flatten(tree: Any, name: str) -> list[tuple[str, Any]]:
    """The tensors of a nest of tuples, lists, mappings and dataclasses, each with the path to it: ``batch_image_0``."""
    if isinstance(tree, tocha.Tensor):
        return [(name, tree)]
    found: list[tuple[str, Any]] = []
    for key, item in children(tree):
        found += flatten(item, f"{name}_{key}" if name else str(key))
    return found


def rebuild(tree: Any, leaves: list[Any]) -> Any:
    """The nest with its tensors replaced, in order, by what ``leaves`` holds (which is consumed)."""
    if isinstance(tree, tocha.Tensor):
        return leaves.pop(0)
    if isinstance(tree, tuple):
        items = [rebuild(item, leaves) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
    if isinstance(tree, list):
        return [rebuild(item, leaves) for item in tree]
    if isinstance(tree, Mapping):
        made = {key: rebuild(item, leaves) for key, item in tree.items()}
        return made if type(tree) is dict else type(tree)(made)  # type: ignore[call-arg]
    if _is_dataclass(tree):
        return dataclasses.replace(tree, **{key: rebuild(item, leaves) for key, item in children(tree)})
    return tree


def _is_dataclass(tree: Any) -> bool:
    return dataclasses.is_dataclass(tree) and not isinstance(tree, type)


def children(tree: Any) -> list[tuple[Any, Any]]:
    """The items of a container with their keys; nothing for anything else."""
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return list(zip(tree._fields, tree))
    if isinstance(tree, tuple | list):
        return list(enumerate(tree))
    if isinstance(tree, Mapping):
        return list(tree.items())
    if _is_dataclass(tree):
        return [(field.name, getattr(tree, field.name)) for field in dataclasses.fields(tree)]
    return []


def bind_arguments(call: Callable, args: tuple, kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Each argument of a call with the name that the function's signature gives it.

    Raises:
        TypeError: the arguments do not fit the signature.
    """
    bound = inspect.signature(call).bind(*args, **kwargs)
    named: list[tuple[str, Any]] = []
    for name, parameter in bound.signature.parameters.items():
        if name not in bound.arguments:
            continue
        value = bound.arguments[name]
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            named += [(f"{name}_{i}", item) for i, item in enumerate(value)]
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            named += list(value.items())
        else:
            named.append((name, value))
    return named


def unique_names(names: list[str], given: list[str] | None, what: str) -> list[str]:
    """The names that the caller gave, then the predicted ones, without doubles.

    Raises:
        ValueError: too many names were given, or one twice.
    """
    given = list(given or [])
    if len(given) > len(names):
        raise ValueError(f"expected at most {len(names)} {what} names ({', '.join(names)}), got {len(given)}: {given}")
    if len(set(given)) != len(given):
        raise ValueError(f"expected each {what} name once, got {given}")
    chosen = list(given)
    for name in names[len(given) :]:
        candidate, number = name, 1
        while candidate in chosen:
            candidate, number = f"{name}_{number}", number + 1
        chosen.append(candidate)
    return chosen
