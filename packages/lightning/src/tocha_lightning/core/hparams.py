"""`save_hyperparameters`: the arguments of a constructor, kept for loggers and checkpoints."""

from __future__ import annotations

import copy
import inspect
import types
from argparse import Namespace
from collections.abc import MutableMapping, Sequence
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from typing import Any

from tocha import nn
from tocha_lightning.utilities.rank_zero import rank_zero_warn

# set by the command line around an instantiation: the arguments as they were configured
given_hyperparameters: ContextVar[dict[str, Any] | None] = ContextVar("given_hyperparameters", default=None)


class AttributeDict(dict[str, Any]):
    """A dictionary whose keys are attributes too.

    >>> hparams = AttributeDict(lr=0.1)
    >>> hparams.lr
    0.1
    >>> hparams.layers = 2
    >>> hparams
    "layers": 2
    "lr":     0.1
    """

    def __getattr__(self, key: str) -> Any:
        try:
            return self[key]
        except KeyError:
            raise AttributeError(f"Missing attribute '{key}'") from None

    def __setattr__(self, key: str, value: Any) -> None:
        self[key] = value

    def __repr__(self) -> str:
        width = max((len(str(key)) for key in self), default=0) + 3
        return "\n".join(f"{chr(34) + str(key) + chr(34) + ':':<{width}} {self[key]}" for key in sorted(self))


def _class_of(frame: types.FrameType) -> type | None:
    """The hyperparameter class whose ``__init__`` runs in `frame`."""
    names = frame.f_code.co_varnames
    instance = frame.f_locals.get(names[0]) if frame.f_code.co_name == "__init__" and names else None
    if not isinstance(instance, HyperparametersMixin):
        return None
    for cls in type(instance).__mro__:
        init = cls.__dict__.get("__init__")
        if init is not None and getattr(inspect.unwrap(init), "__code__", None) is frame.f_code:
            return cls
    return None


def _constructor_arguments(frame: types.FrameType | None) -> dict[str, Any]:
    """The arguments of every ``__init__`` of hyperparameter classes on the stack; the most derived class wins."""
    found: dict[str, Any] = {}
    inside = False
    while frame is not None:
        cls = _class_of(frame)
        if cls is not None:
            inside = True
            found.update(_arguments_of(cls, frame.f_locals))
        elif inside:
            break
        frame = frame.f_back
    return found


def _arguments_of(cls: type, variables: dict[str, Any]) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for i, (name, param) in enumerate(inspect.signature(cls.__init__).parameters.items()):  # type: ignore[misc]
        if i == 0 or name not in variables or param.kind is inspect.Parameter.VAR_POSITIONAL:
            continue
        if param.kind is inspect.Parameter.VAR_KEYWORD:
            arguments.update(variables[name])
        else:
            arguments[name] = variables[name]
    return arguments


class HyperparametersMixin:
    """Gives a class `save_hyperparameters`, `hparams` and `hparams_initial`."""

    __jit_unused_properties__: list[str] = ["hparams", "hparams_initial"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._log_hyperparams = False

    def save_hyperparameters(
        self,
        *args: Any,
        ignore: Sequence[str] | str | None = None,
        frame: types.FrameType | None = None,
        logger: bool = True,
    ) -> None:
        """Keep the arguments of ``__init__`` in `hparams`, in checkpoints and in the loggers.

        Args:
            args: names of the arguments to keep (all of them without any), or one dictionary or namespace.
            ignore: names of arguments to leave out.
            frame: the frame whose arguments are meant; by default the caller's.
            logger: send them to the loggers.

        Raises:
            KeyError: a name is no argument of ``__init__``.
            ValueError: the one object given is neither a mapping nor a namespace.

        >>> class Model(HyperparametersMixin):
        ...     def __init__(self, lr, layers=2, debug=False):
        ...         super().__init__()
        ...         self.save_hyperparameters(ignore="debug")
        >>> Model(0.1).hparams
        "layers": 2
        "lr":     0.1
        """
        self._log_hyperparams = logger
        if len(args) == 1 and not isinstance(args[0], str) and not args[0]:
            return
        given = given_hyperparameters.get()
        if given is not None:
            arguments = dict(given)
        elif is_dataclass(self):
            arguments = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        else:
            if frame is None:
                current = inspect.currentframe()
                frame = current.f_back if current is not None else None
            arguments = _constructor_arguments(frame)
        ignored = {ignore} if isinstance(ignore, str) else set(ignore or ())
        arguments = {key: value for key, value in arguments.items() if key not in ignored}
        self._hparams_name: str | None
        objects = [arg for arg in args if not isinstance(arg, str)]
        if not args:
            kept: Any = arguments
            self._hparams_name = "kwargs" if kept else None
        elif len(objects) == 1:
            kept = objects[0]
            self._hparams_name = next((key for key, value in arguments.items() if value is kept), None)
        else:
            kept = {name: arguments[name] for name in args if isinstance(name, str)}
            self._hparams_name = "kwargs"
        self._set_hparams(kept)
        self.remove_ignored_hparams(list(ignored))
        for key, value in self.hparams.items():
            if isinstance(value, nn.Module):
                rank_zero_warn(
                    f"Attribute {key!r} is an instance of `nn.Module` and is already saved during checkpointing."
                    f" It is recommended to ignore them using `self.save_hyperparameters(ignore=[{key!r}])`."
                )
        self._hparams_initial = copy.deepcopy(self._hparams)

    def _set_hparams(self, hparams: Any) -> None:
        if isinstance(hparams, Namespace):
            hparams = vars(hparams)
        if not isinstance(hparams, MutableMapping):
            raise ValueError(
                f"Unsupported config type of {type(hparams)}: hyperparameters are a dictionary or a namespace."
            )
        if isinstance(hparams, dict) and not isinstance(hparams, AttributeDict):
            hparams = AttributeDict(hparams)
        if isinstance(hparams, dict) and isinstance(self.hparams, dict):
            self.hparams.update(hparams)
        else:
            self._hparams = hparams

    def remove_ignored_hparams(self, ignore_list: list[str]) -> None:
        """Forget the hyperparameters named in `ignore_list`, also those that a base class saved."""
        for key in ignore_list:
            self.hparams.pop(key, None)

    @property
    def hparams(self) -> Any:
        """The saved hyperparameters, open to changes."""
        if "_hparams" not in self.__dict__:
            self._hparams = AttributeDict()
        return self._hparams

    @property
    def hparams_initial(self) -> AttributeDict:
        """A copy of the hyperparameters as they were saved."""
        return copy.deepcopy(self.__dict__.get("_hparams_initial", AttributeDict()))
