"""The hooks that a plugin may implement: one for each kind of thing that can be added to tocha.

Every hook gets a function ``register(name, target)``. The target is the object itself or, better, the place to
import it from, written ``"package.module:attribute"``: it is then imported when somebody asks for that name, and a
listing of names imports nothing. What an object of each kind has to be is said by its hook below.

The hooks are called once, when a plugin is loaded. Operators, backward and optimizer steps never pass through them.

>>> from tocha.plugins import kinds
>>> "datasets" in kinds()
True
"""

from __future__ import annotations

from typing import Protocol

import pluggy

PREFIX = "tocha_register_"

hookspec = pluggy.HookspecMarker("tocha")


class Register(Protocol):
    """Adds one name of the hook's kind; ``target`` is an object or ``"package.module:attribute"``.

    Raises ``ValueError`` when the name is taken, in which case the whole plugin is refused.
    """

    def __call__(self, name: str, target: object) -> None: ...


@hookspec
def tocha_register_operators(register: Register) -> None:
    """A function that users call on tensors, under the name that it has there."""


@hookspec
def tocha_register_kernels(register: Register) -> None:
    """A function without arguments that installs a set of kernels for the operators and devices it serves.

    Names can be looked up; nothing in tocha uses them yet.
    """


@hookspec
def tocha_register_lowerings(register: Register) -> None:
    """The ONNX lowering of the operator of this name, in the form that ``tocha_onnx`` documents.

    Names can be looked up; nothing in tocha uses them yet.
    """


@hookspec
def tocha_register_compile_backends(register: Register) -> None:
    """A function ``(graph, example_inputs) -> callable`` that turns a traced graph into something faster.

    Names can be looked up; nothing in tocha uses them yet.
    """


@hookspec
def tocha_register_exporters(register: Register) -> None:
    """A function ``(model, args, path, **options)`` that writes a model in the format of this name, say ``onnx``."""


@hookspec
def tocha_register_datasets(register: Register) -> None:
    """A subclass of ``tocha.utils.data.Dataset`` or a function that returns one."""


@hookspec
def tocha_register_models(register: Register) -> None:
    """A function or class that makes a ``tocha.nn.Module``."""


@hookspec
def tocha_register_tokenizers(register: Register) -> None:
    """A class with ``encode(text) -> list[int]`` and ``decode(ids) -> str``."""


@hookspec
def tocha_register_transforms(register: Register) -> None:
    """A class whose instances are called with a sample and return the changed one."""


@hookspec
def tocha_register_callbacks(register: Register) -> None:
    """A subclass of ``tocha_lightning.Callback``."""


@hookspec
def tocha_register_loggers(register: Register) -> None:
    """A subclass of ``tocha_lightning``'s ``Logger``."""


@hookspec
def tocha_register_strategies(register: Register) -> None:
    """A class that tells a ``Trainer`` how to run a step on its devices and processes."""


@hookspec
def tocha_register_commands(register: Register) -> None:
    """A subcommand of ``tocha``: a function that gets its ``argparse.ArgumentParser``, adds the arguments to it, and
    returns the function to run, which gets the parsed namespace and returns the exit status (``None`` means 0)."""


@hookspec
def tocha_register_doctor_checks(register: Register) -> None:
    """A part of ``tocha doctor``: a function without arguments that returns (label, value) pairs of text, and raises
    with the reason when something is broken."""
