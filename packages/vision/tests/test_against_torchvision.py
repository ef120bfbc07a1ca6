"""Every case of ``reference/cases.py``, against what torchvision gave (``reference/make_reference.py``)."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import tocha
from tocha_vision import datasets, models, transforms, utils

FOLDER = Path(__file__).parent / "reference"
CASES = runpy.run_path(str(FOLDER / "cases.py"))["CASES"]
REFERENCE = np.load(FOLDER / "reference.npz", allow_pickle=False)

# Bytes are compared exactly but here, where a rounding error before the cut to a byte may move it by one.
OFF_BY_ONE = ("adjust_hue", "resize tensor BILINEAR", "resize tensor BICUBIC")


@pytest.mark.parametrize("name", CASES)
def test_images_equal_torchvisions(name):
    result = CASES[name](tocha, transforms, utils)
    images = result if isinstance(result, (list, tuple)) else [result]
    assert sum(key.rpartition("/")[0] == name for key in REFERENCE.files) == len(images)
    for index, image in enumerate(images):
        actual, expected = np.asarray(image), REFERENCE[f"{name}/{index}"]
        assert actual.shape == expected.shape and actual.dtype == expected.dtype
        if np.issubdtype(expected.dtype, np.floating):
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=2e-6)
        elif name.startswith(OFF_BY_ONE):
            assert np.abs(actual.astype(int) - expected.astype(int)).max() <= 1
        else:
            np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("index", [0, 3])
def test_fake_data_equals_torchvisions(index):
    tocha.manual_seed(11)
    before = tocha.rand(3).tolist()
    tocha.manual_seed(11)
    image, label = datasets.FakeData(4, (3, 6, 5), 10, random_offset=7)[index]
    np.testing.assert_array_equal(np.asarray(image), REFERENCE[f"fakedata/{index}"])
    assert label == int(REFERENCE[f"fakedata label/{index}"])
    assert tocha.rand(3).tolist() == before


@pytest.mark.parametrize("name", ["resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "mobilenet_v2"])
def test_state_dicts_have_torchvisions_layout(name):
    import hashlib

    model = models.get_model(name, num_classes=7)
    lines = [
        f"{key} {tuple(value.shape)} {str(value.dtype).split('.')[1]}" for key, value in model.state_dict().items()
    ]
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == str(REFERENCE[f"layout {name}"])


@pytest.mark.parametrize("name", ["resnet18", "resnet50", "mobilenet_v2"])
def test_models_compute_what_torchvisions_compute_from_the_same_seed(name):
    tocha.manual_seed(0)
    model = models.get_model(name, num_classes=7)
    x = tocha.randn(2, 3, 64, 64)
    expected = REFERENCE[f"output {name}"]
    np.testing.assert_allclose(
        model.train()(x).detach().numpy(), expected, rtol=2e-3, atol=2e-3 * np.abs(expected).max()
    )
    for module in model.modules():
        if isinstance(module, tocha.nn.BatchNorm2d):
            module.momentum = 0.7
    model(x)
    expected = REFERENCE[f"output {name} eval"]
    np.testing.assert_allclose(
        model.eval()(x).detach().numpy(), expected, rtol=2e-3, atol=2e-3 * np.abs(expected).max()
    )
