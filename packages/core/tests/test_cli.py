"""The ``tocha`` command, run as a user runs it, with a plugin of its own on the path."""

import os
import subprocess
import sys
from importlib import metadata

import pytest

PLUGIN = """
from tocha.plugins import hookimpl

def greet(parser):
    '''Say hello to somebody.'''
    parser.add_argument("who")
    parser.add_argument("--times", type=int, default=1)
    return lambda arguments: print(*["hello " + arguments.who] * arguments.times, sep="\\n")

def fail(parser):
    return lambda arguments: 7

def check():
    yield "licence", "valid"

def broken_check():
    yield "server", "asked"
    raise OSError("no answer")

@hookimpl
def tocha_register_commands(register):
    register("greet", greet)
    register("fail", fail)
    register("lost", "no_such_module_at_all:main")

@hookimpl
def tocha_register_doctor_checks(register):
    register("acme", check)
    register("acme server", broken_check)
"""


@pytest.fixture
def tocha(tmp_path):
    """Runs ``python -m tocha`` with the plugin above, and with no other unless ``TOCHA_PLUGINS`` says so."""
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tocha]\nacme = acme_plugin\nworse = acme_worse\n")
    (tmp_path / "acme_plugin.py").write_text(PLUGIN)
    (tmp_path / "acme_worse.py").write_text("raise RuntimeError('worse')\n")

    def run(*arguments, plugins="acme"):
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "TOCHA_PLUGINS": plugins, "COLUMNS": "200"}
        command = [sys.executable, "-W", "error", "-m", "tocha", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    return run


def test_version(tocha):
    run = tocha("--version")
    assert (run.returncode, run.stdout) == (0, f"tocha {metadata.version('tocha')}\n")


def test_without_a_command_it_says_which_there_are(tocha):
    run = tocha()
    assert run.returncode == 2
    assert "COMMAND" in run.stderr
    listing = tocha("--help").stdout
    assert "doctor" in listing and "greet" in listing and "from acme (acme 1.0)" in listing


def test_a_plugin_adds_a_command(tocha):
    run = tocha("greet", "world", "--times", "2")
    assert (run.returncode, run.stdout, run.stderr) == (0, "hello world\nhello world\n", "")
    assert "Say hello to somebody." in tocha("greet", "--help").stdout
    assert tocha("greet").returncode == 2
    assert tocha("fail").returncode == 7


def test_a_command_that_cannot_be_imported_is_named_with_its_plugin(tocha):
    run = tocha("lost")
    assert run.returncode == 1
    assert run.stderr.startswith("tocha: the command 'lost' of plugin 'acme' failed: ModuleNotFoundError")


def test_unknown_commands_are_refused(tocha):
    run = tocha("train")
    assert run.returncode == 2
    assert "invalid choice: 'train'" in run.stderr


def test_plugins_lists_what_each_registers(tocha):
    run = tocha("plugins", plugins="acme,worse")
    assert run.returncode == 1
    lines = run.stdout.splitlines()
    assert "acme (acme 1.0): loaded" in lines
    assert "  commands: fail, greet, lost" in lines
    assert lines[lines.index("worse (acme 1.0): failed") + 1] == "  RuntimeError('worse')"
    assert "tocha: plugin 'worse' of acme 1.0 was not loaded: RuntimeError: worse" in run.stderr
    assert "Traceback" in tocha("plugins", "--traceback", plugins="worse").stdout
    assert "acme (acme 1.0): excluded" in tocha("plugins", plugins="none").stdout
    assert tocha("plugins", plugins="none").returncode == 0


def test_plugins_lists_the_names_of_a_kind(tocha):
    assert tocha("plugins", "--kind", "commands").stdout.split() == ["doctor", "fail", "greet", "lost", "plugins"]
    assert tocha("plugins", "--kind", "command").returncode == 2


def test_doctor_reports_versions_devices_kernels_and_plugins(tocha):
    run = tocha("doctor", plugins="acme,worse")
    assert run.returncode == 0, run.stdout + run.stderr
    for name in ("python", "numpy", "scipy", "BLAS"):
        assert f"\n  {name:<14} " in run.stdout
    for heading in ("versions", "core", "devices", "kernels", "plugins", "acme (from acme)"):
        assert f"\n{heading}\n" in "\n" + run.stdout
    assert "licence        valid" in run.stdout
    assert "worse          failed, acme 1.0: RuntimeError('worse')" in run.stdout
    assert run.stdout.endswith("core is healthy\n")


def test_doctor_survives_a_plugins_check_that_raises(tocha):
    run = tocha("doctor")
    assert "  server         asked\n  FAILED: OSError: no answer\n" in run.stdout
    assert run.returncode == 0


def test_doctor_fails_with_the_reason_when_core_is_broken(tocha, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import tocha._cli.checks as checks\n"
        "def core():\n    raise AssertionError('gradient of a small graph: expected 1, got 2')\n    yield\n"
        "checks.core = core\n")
    run = tocha("doctor", plugins="none")
    assert run.returncode == 1
    assert "FAILED: AssertionError: gradient of a small graph: expected 1, got 2" in run.stdout
    assert run.stdout.endswith("core is not healthy: the checks of core failed\n")
