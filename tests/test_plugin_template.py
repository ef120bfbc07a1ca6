"""The template of a third-party plugin: installed as a user installs it, found by tocha, its own tests passing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TEMPLATE = Path(__file__).parent.parent / "docs" / "plugin_template"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs Python with the template installed into a folder of its own."""
    pytest.importorskip("hatchling", reason="the template is built with hatchling")
    site = tmp_path_factory.mktemp("site")
    copy = tmp_path_factory.mktemp("template")  # a build may write beside its sources
    for path in TEMPLATE.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            target = copy / path.relative_to(TEMPLATE)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", site, copy], check=True)

    def run(*arguments):
        environment = {**os.environ, "PYTHONPATH": str(site), "TOCHA_PLUGINS": "spirals"}
        return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=site)

    return run


def test_tocha_finds_what_it_registers(run):
    lines = run("-m", "tocha", "plugins").stdout.splitlines()
    at = lines.index("spirals (tocha-spirals 0.1.0): loaded")
    assert lines[at + 1:at + 3] == ["  datasets: Spirals", "  commands: spirals"]


def test_its_command_writes_a_file(run, tmp_path):
    path = tmp_path / "spirals.csv"
    done = run("-m", "tocha", "spirals", "--classes", "3", "--points", "5", str(path))
    assert (done.returncode, done.stdout) == (0, f"15 points in {path}\n"), done.stderr
    rows = path.read_text().splitlines()
    assert rows[0] == "x,y,label"
    assert [row.split(",")[2] for row in rows[1:]] == ["0"] * 5 + ["1"] * 5 + ["2"] * 5


def test_its_own_tests_and_examples_pass(run):
    done = run("-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "--rootdir", str(TEMPLATE),
               str(TEMPLATE / "tests"), "--doctest-modules", "--pyargs", "tocha_spirals")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout
