import numpy as np
import pytest

import tocha
from tocha_vision.datasets import Digits
from tocha_vision.transforms import ToTensor


def test_digits_are_the_1797_images_in_two_parts():
    train, test = Digits(train=True), Digits(train=False)
    assert (len(train), len(test)) == (1442, 355)
    assert train.data.shape == (1442, 8, 8) and train.data.dtype == tocha.uint8
    assert test.targets.shape == (355,) and test.targets.dtype == tocha.int64
    counts = np.bincount(train.targets.numpy()) + np.bincount(test.targets.numpy())
    assert counts.tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert np.bincount(test.targets.numpy()).tolist() == [35, 36, 35, 36, 36, 36, 36, 35, 34, 36]


def test_levels_are_spread_over_the_bytes():
    levels = np.unique(np.concatenate([Digits(train=part).data.numpy().ravel() for part in (True, False)]))
    assert levels.tolist() == [round(level * 255 / 16) for level in range(17)]


def test_the_first_image_is_the_first_of_the_original_file():
    first_row = [0, 0, 5, 13, 9, 1, 0, 0]
    image, label = Digits()[0]
    assert label == 0 and image.mode == "L" and image.size == (8, 8)
    assert np.asarray(image)[0].tolist() == [round(level * 255 / 16) for level in first_row]


def test_no_image_is_in_both_parts():
    parts = [{image.tobytes() for image in Digits(train=part).data.numpy()} for part in (True, False)]
    assert len(parts[0] | parts[1]) == 1797 and not parts[0] & parts[1]


def test_transforms_are_applied():
    image, label = Digits(train=False, transform=ToTensor(), target_transform=lambda label: label + 10)[-1]
    assert image.shape == (1, 8, 8) and image.dtype == tocha.float32 and 0 <= image.min() and image.max() <= 1
    assert label == Digits(train=False).targets[-1] + 10


def test_iteration_ends():
    assert sum(1 for _ in Digits(train=False)) == 355
    with pytest.raises(IndexError):
        Digits()[1442]


def test_a_batch_comes_out_of_a_data_loader():
    loader = tocha.utils.data.DataLoader(Digits(transform=ToTensor()), batch_size=50)
    images, labels = next(iter(loader))
    assert images.shape == (50, 1, 8, 8) and labels.shape == (50,) and labels.dtype == tocha.int64


def test_representation():
    assert repr(Digits(train=False, transform=ToTensor())) == (
        "Dataset Digits\n    Number of datapoints: 355\n    Split: Test\n    StandardTransform\nTransform: ToTensor()"
    )
    assert Digits().class_to_idx["9 - nine"] == 9
