"""Rules of the repository that no single package can check: who imports whom, sizes, documentation, what is written."""

import ast
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SIBLINGS = ["vision", "text", "lightning", "onnx"]
MODULES = {"core": "tocha"} | {name: f"tocha_{name}" for name in SIBLINGS}
# import name -> distribution, where the two differ
DISTRIBUTIONS = {
    "PIL": "pillow", "cupy": "cupy-cuda12x", "cupyx": "cupy-cuda12x", "google": "protobuf", "yaml": "pyyaml",
}
# imported only where it is there already: threadpoolctl to tell more, matplotlib to close a figure that the user made
OPPORTUNISTIC = {"core": {"threadpoolctl"}, "lightning": {"matplotlib"}}
# the methods of these classes are CuPy's, and so is their documentation
IMITATIONS = "tocha.testing.strict_device."
MOST_LINES = 600


def none(offenders):
    """Fails with the whole list, one a line: pytest's own comparison would cut it."""
    found = sorted(offenders)
    assert not found, f"{len(found)} found:\n" + "\n".join(found)


def sources(package):
    return sorted((ROOT / "packages" / package / "src").rglob("*.py"))


def repository_files():
    """The files that belong to the repository, wherever it was copied from."""
    written = {"dist", "build", "runs", "data", "site", "__pycache__"}

    def ours(folder):  # hidden folders are caches of tools, at the top and inside of packages
        return folder not in written and (folder == ".ci" or not folder.startswith("."))

    for folder in sorted(ROOT.iterdir()):
        if folder.is_file():
            yield folder
        elif ours(folder.name):
            yield from (p for p in sorted(folder.rglob("*"))
                        if p.is_file() and all(map(ours, p.relative_to(ROOT).parts[:-1])))


def project(package):
    return tomllib.loads((ROOT / "packages" / package / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def imports(path):
    """(line, dotted name) of each absolute import in a file, those inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def offenders(package, wrong):
    found = [f"{path.relative_to(ROOT)}:{line}: {name}" for path in sources(package) for line, name in imports(path)
             if wrong(name)]
    return sorted(set(found))


@pytest.mark.parametrize("package", MODULES)
def test_core_imports_no_sibling_and_siblings_import_core_alone(package):
    others = {"core": set(SIBLINGS)}.get(package, set(SIBLINGS) - {package})
    forbidden = {MODULES[other] for other in others}
    none(offenders(package, lambda name: name.partition(".")[0] in forbidden))


@pytest.mark.parametrize("package", SIBLINGS)
def test_siblings_use_the_public_names_of_core(package):
    def private(name):
        parts = name.split(".")
        return parts[0] == "tocha" and any(part.startswith("_") and not part.startswith("__") for part in parts)

    none(offenders(package, private))


@pytest.mark.parametrize("package", MODULES)
def test_every_import_is_declared(package):
    meta = project(package)
    requirements = meta["dependencies"] + sum(
        (extra for name, extra in meta["optional-dependencies"].items() if name != "test"), [])
    declared = {normal(re.match(r"[\w.-]+", requirement)[0]) for requirement in requirements}

    def undeclared(name):
        top = name.partition(".")[0]
        known = top in sys.stdlib_module_names or top == MODULES[package] or top in OPPORTUNISTIC.get(package, ())
        return not known and normal(DISTRIBUTIONS.get(top, top)) not in declared

    none(offenders(package, undeclared))


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def modules_after(code):
    code += "\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT / "docs", check=True)
    return set(json.loads(run.stdout.splitlines()[-1]))


def test_import_tocha_loads_numpy_and_the_standard_library_alone():
    loaded = {name.partition(".")[0] for name in modules_after("import tocha") - modules_after("import numpy")}
    theirs = {name for name in loaded if name.startswith(("numpy", "cython_runtime", "_cython_"))}
    none(loaded - {"tocha"} - theirs - sys.stdlib_module_names)
    heavy = {"asyncio", "multiprocessing", "sqlite3", "unittest", "xml"}
    none(loaded & heavy)


def test_listing_the_plugins_imports_nothing_heavy():
    code = "import tocha.plugins as p; [p.names(kind) for kind in p.kinds()]"
    loaded = {name.partition(".")[0] for name in modules_after(code)}
    heavy = "PIL cupy jsonargparse llvmlite onnx onnxruntime rich scipy tensorboard tokenizers"
    none(loaded & set(heavy.split()))


@pytest.mark.parametrize("package", SIBLINGS)
def test_each_package_of_the_project_is_loaded_as_a_plugin(package):
    import tocha.plugins

    plugin = next(plugin for plugin in tocha.plugins.loaded() if plugin.name == package)
    assert (plugin.state, plugin.error) == ("loaded", None)
    for kind, names in plugin.provides.items():
        for name in names:
            assert tocha.plugins.get(kind, name) is not None


def public_modules(package):
    root = importlib.import_module(MODULES[package])
    yield root
    for info in pkgutil.walk_packages(root.__path__, root.__name__ + "."):
        if not any(part.startswith("_") for part in info.name.split(".")):
            yield importlib.import_module(info.name)


def undocumented(module):
    """Public functions and classes without a docstring, and public methods of those classes.

    Public is what a package exports and what a module lists in ``__all__``.
    """
    exported = [name for name in vars(module) if not name.startswith("_")] if hasattr(module, "__path__") else []
    for name in getattr(module, "__all__", exported):
        value = getattr(module, name)
        ours = (getattr(value, "__module__", None) or "").partition(".")[0] in MODULES.values()
        if not ours or not (inspect.isroutine(value) or inspect.isclass(value)):
            continue
        qualified = f"{value.__module__}.{value.__qualname__}"
        if not inspect.getdoc(value):
            yield qualified
        if inspect.isclass(value) and not qualified.startswith(IMITATIONS):
            for attribute, member in vars(value).items():
                if attribute.startswith("_") or not (inspect.isroutine(member) or isinstance(member, property)):
                    continue
                if not inspect.getdoc(getattr(value, attribute)):
                    yield f"{qualified}.{attribute}"


@pytest.mark.parametrize("package", MODULES)
def test_every_public_name_is_documented(package):
    found = []
    for module in public_modules(package):
        if not module.__doc__:
            found.append(module.__name__)
        found += undocumented(module)
    none(set(found))


@pytest.mark.parametrize("package", MODULES)
def test_every_listed_name_exists(package):
    for module in public_modules(package):
        none(f"{module.__name__}.{name}" for name in getattr(module, "__all__", ()) if not hasattr(module, name))


def test_no_file_is_longer_than_the_budget():
    lengths = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n") for path in repository_files()
               if path.suffix == ".py"}
    none(f"{path}: {lines} lines" for path, lines in lengths.items() if lines > MOST_LINES)


# written in pieces, so that this file does not contain what it looks for
PLACES = re.compile("|".join([
    "/ro" + "ot/", "/wo" + "rk/", "/ho" + r"me/\w", "/o" + "pt/", "/Us" + r"ers/\w", r"\.py" + "env/",
    "py" + r"pi\.org", "python" + r"hosted\.org", "registry" + r"\.npm", "deb" + r"ian\.org",
]))


def test_no_path_of_a_machine_and_no_registry_is_written_down():
    found = []
    for path in repository_files():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue  # a picture or an archive
        found += [f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}" for number, line in enumerate(lines, 1)
                  if PLACES.search(line)]
    none(found)


def test_the_packages_agree():
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    version = project("core")["version"]
    for package, module in MODULES.items():
        meta = project(package)
        assert (ROOT / "packages" / package / "LICENSE").read_text(encoding="utf-8") == licence
        assert (ROOT / "packages" / package / "src" / module / "py.typed").exists()
        assert meta["version"] == version
        assert meta["requires-python"] == ">=3.11,<3.14"
    assert importlib.import_module("tocha").__version__ == version
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_both_readmes_give_the_same_commands_and_each_names_a_session():
    english, portuguese, noxfile = (
        (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.pt-BR.md", "noxfile.py"))
    commands = re.findall(r"```.*?```", english, re.S)
    assert commands and commands == re.findall(r"```.*?```", portuguese, re.S)
    sessions = set(re.findall(r"^def (\w+)\(session", noxfile, re.M))
    assert set(re.findall(r"nox -s (\w+)", "".join(commands))) <= sessions
