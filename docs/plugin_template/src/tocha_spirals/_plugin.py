"""What this package registers with tocha. A place written as a string is imported when it is asked for."""

from tocha import hookimpl
from tocha.hookspecs import Register


@hookimpl
def tocha_register_datasets(register: Register) -> None:
    register("Spirals", "tocha_spirals.dataset:Spirals")


@hookimpl
def tocha_register_commands(register: Register) -> None:
    register("spirals", "tocha_spirals.command:spirals")
