import subprocess
import sys

import pytest

import tocha_vision
from tocha_vision import _plugin, transforms


def test_import_is_light():
    code = "import sys, tocha_vision; assert not {'PIL', 'torch', 'scipy'} & set(sys.modules), sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pillow_waits_for_a_picture():
    code = (
        "import sys, tocha, tocha_vision; from tocha_vision import datasets, models, transforms, utils\n"
        "transforms.functional.hflip(tocha.zeros(1, 2, 2)); assert 'PIL' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_names():
    for module in (tocha_vision.datasets, tocha_vision.models, tocha_vision.transforms, tocha_vision.utils):
        assert module.__all__ and all(hasattr(module, name) for name in module.__all__)
    assert set(tocha_vision.__all__) <= set(dir(tocha_vision))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tocha_vision.nothing


def test_plugin_registers_what_the_package_has():
    from tocha import plugins

    for kind, names in (
        ("datasets", _plugin.DATASETS), ("transforms", _plugin.TRANSFORMS), ("models", _plugin.MODELS),
    ):  # fmt: skip
        registered = set(plugins.names(kind))
        assert set(names) <= registered
        assert all(plugins.get(kind, name).__name__ == name for name in names)
    classes = {name for name in transforms.__all__ if name not in ("functional", "InterpolationMode")}
    assert classes == set(_plugin.TRANSFORMS)
    assert list(_plugin.MODELS) == tocha_vision.models.list_models()
