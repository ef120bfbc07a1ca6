"""The plugin system: laziness, isolation, refusals, and the environment variables."""

import os
import subprocess
import sys
import textwrap
import threading
import warnings
from importlib import metadata

import pytest

from tocha import plugins
from tocha.plugins import Plugins, hookimpl


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Installs small distributions into a folder of its own: ``site.install("acme", source)``."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("TOCHA_PLUGINS", raising=False)
    return Site(tmp_path)


class Site:
    def __init__(self, folder):
        self.folder, self.modules = folder, []

    def install(self, name, source, dist=None):
        module = f"plugin_{self.folder.name}_{name}".replace("-", "_")
        source = "from tocha.plugins import hookimpl\n" + textwrap.dedent(source)
        (self.folder / f"{module}.py").write_text(source)
        info = self.folder / f"{(dist or name).replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist or name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[tocha]\n{name} = {module}\n")
        return module

    def entry_points(self):
        for dist in metadata.distributions(path=[str(self.folder)]):
            yield from dist.entry_points

    def plugins(self):
        return Plugins([], self.entry_points)


def registers(kind, name, target="'math:pi'"):
    return f"@hookimpl\ndef tocha_register_{kind}(register):\n    register({name!r}, {target})\n"


def states(found):
    return {plugin.name: plugin.state for plugin in found.loaded()}


def test_built_in_commands_come_through_the_hooks():
    found = Plugins(["tocha._plugin"], lambda: ())
    (core,) = found.loaded()
    assert (core.name, core.origin, core.state) == ("tocha", "built in", "loaded")
    assert core.provides["commands"] == found.names("commands") == ["doctor", "plugins"]


def test_no_variable_excludes_what_is_built_in(monkeypatch):
    monkeypatch.setenv("TOCHA_PLUGINS", "none,-tocha")
    assert Plugins(["tocha._plugin"], lambda: ()).names("commands") == ["doctor", "plugins"]


def test_every_kind_is_documented():
    for kind in plugins.kinds():
        assert getattr(plugins.hookspecs, f"tocha_register_{kind}").__doc__
    assert {"operators", "kernels", "lowerings", "compile_backends", "exporters", "datasets", "models", "callbacks",
            "loggers", "strategies", "commands", "doctor_checks"} <= set(plugins.kinds())


def test_a_target_is_imported_when_it_is_asked_for(site):
    (site.folder / "heavy_thing.py").write_text("class Data:\n    pass\n")
    site.install("acme", registers("datasets", "Data", "'heavy_thing:Data'"))
    found = site.plugins()
    assert found.names("datasets") == ["Data"]
    assert "heavy_thing" not in sys.modules
    data = found.get("datasets", "Data")
    assert data is sys.modules["heavy_thing"].Data
    assert found.get("datasets", "Data") is data


def test_objects_are_registered_as_they_are(site):
    found = site.plugins()
    thing = object()

    class Acme:
        @hookimpl
        def tocha_register_models(self, register):
            register("thing", thing)

    found.register(Acme())
    assert found.get("models", "thing") is thing
    assert [(p.name, p.origin, p.provides) for p in found.loaded()] == [
        ("Acme", "registered by hand", {"models": ["thing"]})]


def test_installed_plugins_are_searched_on_first_need_and_once():
    searches = []
    found = Plugins([], lambda: searches.append(1) or ())
    assert searches == []
    with pytest.raises(LookupError):
        found.get("models", "x")
    found.names("models"), found.loaded(), found.load()
    assert searches == [1]


def test_threads_share_one_search(site):
    site.install("acme", "import time\ntime.sleep(0.05)\n" + registers("models", "acme"))
    found, seen = site.plugins(), []
    threads = [threading.Thread(target=lambda: seen.append(found.names("models"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [["acme"]] * 4


BROKEN = {
    "import": ("import no_such_module_at_all\n", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
    "syntax": ("def (\n", "SyntaxError"),
    "exit": ("raise SystemExit(3)\n", "SystemExit: 3"),
    "hook": (registers("models", "half") + "    raise RuntimeError('no licence')\n", "RuntimeError: no licence"),
    "misspelt": (registers("dataset", "x"), "unknown hook 'tocha_register_dataset'"),
    "argument": ("@hookimpl\ndef tocha_register_models(add):\n    pass\n", "PluginValidationError"),
    "target": (registers("models", "x", "'math.pi'"), "expected an object or 'package.module:attribute' for 'x'"),
    "twice": (registers("models", "x") + "    register('x', 1)\n", "plugin 'bad' has registered that name"),
}


@pytest.mark.parametrize("source, reason", BROKEN.values(), ids=BROKEN)
def test_a_broken_plugin_is_named_once_and_harms_nothing(site, source, reason):
    site.install("bad", source)
    site.install("good", registers("models", "good"))
    found = site.plugins()
    with pytest.warns(RuntimeWarning, match="plugin 'bad' of bad 1.0 was not loaded: ") as caught:
        assert found.names("models") == ["good"]
    assert len(caught) == 1
    assert reason in str(caught[0].message)
    assert states(found) == {"bad": "failed", "good": "loaded"}
    found.get("models", "good")  # and no second warning


def test_a_warning_turned_into_an_error_leaves_the_other_plugins_loaded(site):
    site.install("bad", "1 / 0\n")
    site.install("good", registers("models", "good"))
    found = site.plugins()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="'bad'"):
            found.load()
        assert found.names("models") == ["good"]


def test_a_taken_name_refuses_the_whole_later_plugin(site):
    site.install("aaa", registers("models", "net", "'math:e'") + registers("datasets", "data"))
    site.install("zzz", registers("models", "net", "'math:pi'") + registers("datasets", "other"))
    found = site.plugins()
    with pytest.warns(RuntimeWarning, match="plugin 'zzz' cannot register 'net' among the models: plugin 'aaa' has"):
        found.load()
    assert found.get("models", "net") == pytest.approx(2.718281828)
    assert found.names("datasets") == ["data"]


def test_the_projects_own_packages_come_first(site):
    site.install("aaa", registers("models", "net", "'math:e'"))
    site.install("vision", registers("models", "net", "'math:pi'"), dist="tocha-vision")
    found = site.plugins()
    with pytest.warns(RuntimeWarning, match="plugin 'aaa' cannot register 'net'"):
        assert found.get("models", "net") == pytest.approx(3.14159265)
    assert states(found) == {"vision": "loaded", "aaa": "failed"}


def test_two_distributions_cannot_offer_plugins_of_one_name(site):
    site.install("acme", registers("models", "one"), dist="first")
    module = site.install("other", registers("models", "two"), dist="second")
    (site.folder / "second-1.0.dist-info" / "entry_points.txt").write_text(f"[tocha]\nacme = {module}\n")
    found = site.plugins()
    with pytest.warns(RuntimeWarning, match="the name 'acme' is taken by the plugin of (first|second) 1.0"):
        assert len(found.names("models")) == 1


def test_by_hand_a_taken_name_raises_and_registers_nothing(site):
    site.install("acme", registers("models", "net"))
    found = site.plugins()

    class Other:
        @hookimpl
        def tocha_register_datasets(self, register):
            register("data", 1)

        @hookimpl
        def tocha_register_models(self, register):
            register("net", 1)

    with pytest.raises(ValueError, match="plugin 'other' cannot register 'net' among the models: plugin 'acme' has"):
        found.register(Other(), "other")
    assert found.names("datasets") == []
    with pytest.raises(ValueError, match="the name 'acme' is taken by the plugin of acme 1.0"):
        found.register(Other(), "acme")


@pytest.mark.parametrize("variable, loaded", [
    (None, ["a", "b", "c"]), ("", []), ("none", []), ("b", ["b"]), ("a, c", ["a", "c"]), ("-b", ["a", "c"]),
    ("-a,-c", ["b"]), ("a,b,-b", ["a"]),
])
def test_the_environment_chooses(site, monkeypatch, variable, loaded):
    for name in "abc":
        site.install(name, registers("models", name))
    if variable is not None:
        monkeypatch.setenv("TOCHA_PLUGINS", variable)
    found = site.plugins()
    assert found.names("models") == loaded
    assert states(found) == {name: "loaded" if name in loaded else "excluded" for name in "abc"}


def test_asking_for_a_plugin_that_is_not_installed_warns(site, monkeypatch):
    monkeypatch.setenv("TOCHA_PLUGINS", "acme")
    with pytest.warns(RuntimeWarning, match="TOCHA_PLUGINS asks for the plugin 'acme', which is not installed"):
        site.plugins().load()


def test_a_miss_says_what_there_is(site):
    site.install("acme", registers("models", "resnet18") + "    register('vgg', 1)\n")
    site.install("bad", "1 / 0\n")
    found = site.plugins()
    with pytest.warns(RuntimeWarning), pytest.raises(LookupError, match="did you mean 'resnet18'.*failed to load: bad"):
        found.get("models", "resnet81")
    with pytest.raises(LookupError, match="no plugin registers 'lstm' among the models; registered: resnet18, vgg"):
        found.get("models", "lstm")
    with pytest.raises(ValueError, match="expected one of operators, .*, got 'model'"):
        found.get("model", "lstm")
    with pytest.raises(ValueError, match="got 'model'"):
        found.names("model")


def test_a_target_that_cannot_be_imported_names_its_plugin(site):
    site.install("acme", registers("models", "net", "'no_such_module_at_all:net'"))
    with pytest.raises(ModuleNotFoundError) as caught:
        site.plugins().get("models", "net")
    assert caught.value.__notes__ == [
        "while importing 'no_such_module_at_all:net': plugin 'acme' registered it as 'net' of the models"]


@pytest.mark.parametrize("value, traced", [("1", True), ("0", False), (None, False)])
def test_the_trace_prints_hook_calls(value, traced):
    environment = {**os.environ, "TOCHA_PLUGINS": "none"}
    environment.pop("TOCHA_PLUGINS_TRACE", None)
    if value is not None:
        environment["TOCHA_PLUGINS_TRACE"] = value
    code = "import tocha.plugins; tocha.plugins.load()"
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert ("tocha_register_commands" in run.stderr) == traced
    assert run.stdout == ""
