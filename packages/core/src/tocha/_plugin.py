"""What core itself registers: the commands and checks of ``tocha``."""

from __future__ import annotations

from tocha.hookspecs import Register
from tocha.plugins import hookimpl


@hookimpl
def tocha_register_commands(register: Register) -> None:
    register("doctor", "tocha._cli.doctor:doctor")
    register("plugins", "tocha._cli.plugins:plugins")


@hookimpl
def tocha_register_doctor_checks(register: Register) -> None:
    register("versions", "tocha._cli.checks:versions")
    register("core", "tocha._cli.checks:core")
    register("devices", "tocha._cli.checks:devices")
    register("kernels", "tocha._cli.checks:kernels")
