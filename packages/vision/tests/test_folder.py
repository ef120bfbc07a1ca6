from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import tocha
from tocha_vision.datasets import DatasetFolder, FakeData, ImageFolder, VisionDataset
from tocha_vision.transforms import ToTensor


@pytest.fixture
def root(tmp_path):
    for name, color in (("cat/b.png", 10), ("cat/deep/er/a.JPG", 20), ("dog/x.bmp", 30), ("dog/y.gif", 40)):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (5, 4), color).save(path)
    (tmp_path / "cat" / "notes.txt").write_text("not a picture")
    (tmp_path / "stray.png").write_bytes(b"not in a class folder")
    return tmp_path


def test_image_folder_numbers_the_classes_and_reads_rgb(root):
    dataset = ImageFolder(root)
    assert dataset.classes == ["cat", "dog"] and dataset.class_to_idx == {"cat": 0, "dog": 1}
    names = [path.removeprefix(str(root)) for path, _ in dataset.samples]
    assert names == ["/cat/b.png", "/cat/deep/er/a.JPG", "/dog/x.bmp"]
    assert dataset.imgs == dataset.samples and dataset.targets == [0, 0, 1]
    image, label = dataset[2]
    assert image.mode == "RGB" and image.size == (5, 4) and label == 1
    assert np.asarray(image)[0, 0].tolist() == [30, 30, 30]


def grey(path):
    with Image.open(path) as image:
        return image.convert("L")


def test_image_folder_with_everything_given(root):
    dataset = ImageFolder(
        root,
        ToTensor(),
        lambda label: -label,
        grey,
        lambda path: path.endswith("y.gif"),
        allow_empty=True,
    )
    assert [path.rpartition("/")[2] for path, _ in dataset.samples] == ["y.gif"]
    image, label = dataset[0]
    assert image.shape == (1, 4, 5) and label == -1


def test_empty_classes(root):
    (root / "bird").mkdir()
    with pytest.raises(
        FileNotFoundError, match="Found no valid file for the classes bird. Supported extensions are: .jpg"
    ):
        ImageFolder(root)
    dataset = ImageFolder(root, allow_empty=True)
    assert dataset.classes == ["bird", "cat", "dog"] and dataset.targets == [1, 1, 2]
    with pytest.raises(FileNotFoundError, match="Couldn't find any class folder"):
        ImageFolder(root / "bird")
    with pytest.raises(FileNotFoundError):
        ImageFolder(root / "nowhere")


def test_dataset_folder(root):
    dataset = DatasetFolder(root, loader=lambda path: Path(path).read_text(), extensions=(".txt",), allow_empty=True)
    assert dataset[0] == ("not a picture", 0) and len(dataset) == 1
    for wrong in ({}, {"extensions": (".txt",), "is_valid_file": bool}):
        with pytest.raises(ValueError, match="Both extensions and is_valid_file cannot be None or not None"):
            DatasetFolder(root, loader=open, **wrong)


def test_a_subclass_chooses_its_classes(root):
    class Dogs(ImageFolder):
        def find_classes(self, directory):
            return ["dog"], {"dog": 5}

    assert Dogs(root).targets == [5]


def test_representation_lists_the_transforms(root):
    assert repr(ImageFolder(root, ToTensor(), int)).splitlines() == [
        "Dataset ImageFolder",
        "    Number of datapoints: 3",
        f"    Root location: {root}",
        "    StandardTransform",
        "Transform: ToTensor()",
        "Target transform: <class 'int'>",
    ]


def test_joint_transforms():
    class Pairs(VisionDataset):
        def __getitem__(self, index):
            return self._transformed(index, index)

        def __len__(self):
            return 2

    assert Pairs("~", lambda image, target: (image + 1, target - 1))[1] == (2, 0)
    assert "~" not in Pairs("~").root
    with pytest.raises(ValueError, match="Only transforms or transform/target_transform"):
        Pairs(None, transforms=max, transform=abs)


def test_fake_data():
    dataset = FakeData(size=3, image_size=(1, 4, 6), num_classes=2, transform=ToTensor(), target_transform=str)
    image, label = dataset[2]
    assert image.shape == (1, 4, 6) and label in ("0", "1")
    assert tocha.equal(image, dataset[2][0]) and not tocha.equal(image, dataset[1][0])
    with pytest.raises(IndexError, match="FakeData index out of range"):
        dataset[3]
    assert len(list(dataset)) == 3
