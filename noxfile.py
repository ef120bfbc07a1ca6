"""Everything that is run on the repository: ``nox --list`` shows the sessions, ``nox -s quickstart`` the main job.

Nox and pip are all that has to be there. Each session makes an environment of its own and installs from this checkout.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree
import zipfile
from collections.abc import Iterable
from pathlib import Path

import nox

nox.needs_version = ">=2024.4.15"
nox.options.sessions = ["tests", "lint"]
nox.options.error_on_missing_interpreters = True

ROOT = Path(__file__).parent
VERSIONS = ["3.11", "3.12", "3.13"]
MODULES = {"core": "tocha"} | {name: f"tocha_{name}" for name in ("vision", "text", "lightning", "onnx")}
# whose tests say more when these are there
EXTRAS = {"lightning": "cli,monitor,rich,tensorboard"}
TORCH = "torch==2.13.0"
# what is added to the labels of a sweep's totals -> script in tests/conformance and its arguments
SWEEPS = [
    ("", "ops.py"),
    (" to second order", "ops.py", "--dtype", "float64", "--second-order"),
    ("", "modules.py"),
    ("", "api.py"),
    ("", "seeds.py"),
    ("", "export.py"),
]
MOST_BYTES_OF_CORE = 1_000_000


def pythons() -> list[str] | None:
    """The interpreter that runs nox; with TOCHA_ALL_PYTHONS=1 every supported one that starts (a shim may not)."""
    if os.environ.get("TOCHA_ALL_PYTHONS", "0") in ("", "0"):
        return None

    def starts(version: str) -> bool:
        try:
            return subprocess.run([f"python{version}", "-c", "import ssl"], capture_output=True).returncode == 0
        except OSError:
            return False

    return [version for version in VERSIONS if starts(version)]


def project(package: str) -> dict:
    return nox.project.load_toml(ROOT / "packages" / package / "pyproject.toml")["project"]


def paths(*packages: str) -> list[str]:
    """The packages with those of the repository that they need, as pip takes them."""
    needed = list(dict.fromkeys(["core", *packages]))
    return [str(ROOT / "packages" / package) for package in needed]


def test_tools(packages: Iterable[str]) -> list[str]:
    return sorted({tool for package in packages for tool in project(package)["optional-dependencies"]["test"]})


def pytest(session: nox.Session, *arguments: str) -> None:
    """Run pytest and make sure that it ran tests."""
    report = Path(session.create_tmp()) / "report.xml"
    session.run("python", "-m", "pytest", f"--junitxml={report}", *arguments, *session.posargs)
    suites = xml.etree.ElementTree.parse(report).getroot().iter("testsuite")
    ran = sum(int(suite.get("tests", 0)) - int(suite.get("skipped", 0)) for suite in suites)
    if ran == 0:
        session.error("no test ran")


@nox.session(python=pythons())
@nox.parametrize("package", [*MODULES, "cross"], ids=[*MODULES, "cross"])
def tests(session: nox.Session, package: str) -> None:
    """One package's tests beside what it declares alone; ``cross``: those across packages. ``nox -s 'tests(core)'``."""
    if package == "cross":
        session.install(*paths(*MODULES), *test_tools(MODULES), "hatchling>=1.27", "matplotlib>=3.8")
        pytest(session, "tests", "docs", "README.md", "README.pt-BR.md", "--doctest-glob=*.md")
        return
    session.install(*paths(package))
    session.run("python", "-P", "-W", "error", "tests/import_all.py", MODULES[package])
    session.install(*test_tools([package]))
    arguments = [f"packages/{package}/tests", "--doctest-modules", "--pyargs", MODULES[package]]
    pytest(session, *arguments)
    if package in EXTRAS:  # the first run showed that they are not needed
        session.install(f"{paths(package)[-1]}[{EXTRAS[package]}]", "matplotlib>=3.8")
        pytest(session, *arguments)


@nox.session(reuse_venv=True)
def lint(session: nox.Session) -> None:
    """Ruff over the repository."""
    session.install("ruff>=0.9")
    session.run("ruff", "check", ".")


@nox.session(reuse_venv=True)
def typecheck(session: nox.Session) -> None:
    """Mypy over the sources of the packages."""
    everything = [f"{path}[{EXTRAS[name]}]" if name in EXTRAS else path for name, path in zip(MODULES, paths(*MODULES))]
    session.install("mypy>=1.15", *everything)
    sources = [f"packages/{package}/src" for package in MODULES]
    session.run("mypy", *sources, env={"MYPYPATH": os.pathsep.join(sources)})


@nox.session(reuse_venv=True)
def conformance(session: nox.Session) -> None:
    """PyTorch as the reference: its operator and module databases, its names, and the same numbers from the same seed.

    Each sweep prints where the project stands; falling below ``tests/conformance/floors.json`` is an error.
    """
    session.install(TORCH, "expecttest", *paths(*MODULES), *test_tools(MODULES))
    pytest(session, "tests/conformance")
    floors = json.loads((ROOT / "tests/conformance/floors.json").read_text())
    below, summary = [], []
    for suffix, script, *arguments in SWEEPS:
        command = ["python", f"tests/conformance/{script}", *arguments]
        text = session.run(*command, silent=True, success_codes=[0, 1]) or ""
        print(text)
        totals = re.findall(r"([a-z][a-z ]*): (\d+) of (\d+)", text)
        if not totals:
            session.error(f"{script} ended without its totals")
        for label, passed, total in totals:
            floor = floors.get(label + suffix, 0)
            summary.append(f"{label + suffix:<28}{passed:>6} of {total:>5}   floor {floor}")
            if int(passed) < floor:
                below.append(label + suffix)
    session.log("\n".join(["where the project stands:", *summary]))
    if below:
        session.error(f"fewer than the floor: {', '.join(below)}")


@nox.session(reuse_venv=True)
def bench(session: nox.Session) -> None:
    """The same workloads under tocha and PyTorch in turn, as ratios: ``nox -s bench -- --only import,mlp``."""
    session.install(TORCH, *paths(*MODULES))
    session.run("python", "benchmarks/compare.py", *session.posargs)


@nox.session
def build(session: nox.Session) -> None:
    """Wheels and source distributions into dist/, and what a fresh environment with each package weighs."""
    session.install("build")
    dist = ROOT / "dist"
    wheels = {}
    for package, module in MODULES.items():
        version = project(package)["version"]
        session.run("python", "-m", "build", "--outdir", str(dist), f"packages/{package}", silent=True)
        wheels[package] = dist / f"{module}-{version}-py3-none-any.whl"
        names = zipfile.ZipFile(wheels[package]).namelist()
        for wanted in (f"{module}/py.typed", f"{module}-{version}.dist-info/licenses/LICENSE"):
            if wanted not in names:
                session.error(f"{wheels[package].name} lacks {wanted}")
    if (size := wheels["core"].stat().st_size) > MOST_BYTES_OF_CORE:
        session.error(f"core's wheel has {size} bytes, more than {MOST_BYTES_OF_CORE}")
    rows = []
    for package, wheel in wheels.items():
        target = Path(session.create_tmp()) / package
        needed = dict.fromkeys([str(wheels["core"]), str(wheel)])
        session.run("python", "-m", "pip", "install", "--quiet", "--upgrade", "--target", str(target), *needed)
        total = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
        rows.append(f"{package:<12}{wheel.stat().st_size / 1e3:>14.0f}{total / 1e6:>18.1f}")
    session.log("\n".join([f"{'package':<12}{'wheel, kB':>14}{'environment, MB':>18}", *rows]))


@nox.session(reuse_venv=True)
def quickstart(session: nox.Session) -> None:
    """Train a convolutional network on real digits and export it: ``nox -s quickstart -- --data fashion-mnist``."""
    session.install(*paths("vision", "lightning", "onnx"), "matplotlib>=3.8")
    session.run("python", "examples/quickstart.py", *session.posargs)


@nox.session(reuse_venv=True)
def docs(session: nox.Session) -> None:
    """The reference of all packages from their docstrings, into site/."""
    session.install("pdoc", *paths(*MODULES))
    hidden = [rf"!{name}\._" for name in MODULES.values()] + [r"!tocha\.testing\.strict_device"]
    session.run("pdoc", "--output-directory", "site", *MODULES.values(), *hidden)


if __name__ == "__main__":
    sys.exit("run this with nox: pip install nox && nox --list")
