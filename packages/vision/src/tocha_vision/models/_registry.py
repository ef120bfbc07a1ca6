"""Finding a model by name, and its weights in a file."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import tocha
from tocha import nn
from tocha.serialization import safetensors

Builder = TypeVar("Builder", bound=Callable[..., nn.Module])

Weights: TypeAlias = "str | os.PathLike[str] | None"

_BUILDERS: dict[str, Callable[..., nn.Module]] = {}


def model_builder(function: Builder) -> Builder:
    """Decorator: makes a function that builds a model known under its own name."""
    _BUILDERS[function.__name__] = function
    return function


def list_models(include: Iterable[str] | str | None = None, exclude: Iterable[str] | str | None = None) -> list[str]:
    """The models' names, sorted; ``include`` and ``exclude`` are patterns such as ``"resnet*"``.

    >>> list_models(include="resnet*", exclude="*1*")
    ['resnet34', 'resnet50']
    """
    names = set(_BUILDERS)
    if include is not None:
        names = {name for pattern in _patterns(include) for name in fnmatch.filter(names, pattern)}
    for pattern in _patterns(exclude or ()):
        names -= set(fnmatch.filter(names, pattern))
    return sorted(names)


def _patterns(patterns: Iterable[str] | str) -> list[str]:
    return [patterns] if isinstance(patterns, str) else list(patterns)


def get_model_builder(name: str) -> Callable[..., nn.Module]:
    """The function that builds the model of this name; raises ``ValueError`` if there is none."""
    builder = _BUILDERS.get(name.lower())
    if builder is None:
        raise ValueError(f"Unknown model {name}. Known models: {', '.join(list_models())}")
    return builder


def get_model(name: str, **config: Any) -> nn.Module:
    """Builds the model of this name; ``config`` goes to its builder.

    >>> type(get_model("resnet18", num_classes=10)).__name__
    'ResNet'
    """
    return get_model_builder(name)(**config)


def load_weights(model: nn.Module, weights: Weights, name: str, url: str | None) -> None:
    """Loads the ``state_dict`` in the file ``weights`` into the model.

    Raises ``ValueError`` for the name of weights that would have to be downloaded, ``FileNotFoundError`` for a path
    without a file, ``RuntimeError`` where the keys or the shapes differ.
    """
    if weights is None:
        return
    if not isinstance(weights, (str, os.PathLike)):
        raise TypeError(f"expected the path of a state_dict file or None for weights, got {type(weights).__name__}")
    path = Path(weights).expanduser()
    if not path.is_file():
        if path.suffix or path.parent != Path("."):
            raise FileNotFoundError(f"there is no file {path}")
        source = f"such as {url}, " if url else ""
        raise ValueError(
            f"{str(weights)!r} names weights that would have to be downloaded, which tocha does not do: "
            f"fetch a state_dict file, {source}and give its path, as in {name}(weights='{name}.pth')"
        )
    model.load_state_dict(_read_state_dict(path))


def _read_state_dict(path: Path) -> Any:
    if path.suffix == ".safetensors":
        return safetensors.load_file(path)
    return tocha.load(path, map_location="cpu", weights_only=True)
