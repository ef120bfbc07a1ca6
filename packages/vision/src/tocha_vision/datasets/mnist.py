"""MNIST and Fashion-MNIST, read from the files in which they are published."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tocha
from tocha_vision.datasets._download import download as fetch
from tocha_vision.datasets._idx import read_idx
from tocha_vision.datasets.vision import VisionDataset

if TYPE_CHECKING:
    from PIL.Image import Image


class MNIST(VisionDataset):
    """Handwritten digits: 28 x 28 grey images, 60,000 for training and 10,000 for testing.

    The files are looked for in ``root/MNIST/raw``, where ``download`` and torchvision put them, then in ``root``
    itself; gzipped (``train-images-idx3-ubyte.gz``) or not (``train-images-idx3-ubyte``).

    Args:
        root: folder under which the files are.
        train: the training images, or else the test images.
        transform: callable on the PIL image (mode ``"L"``).
        target_transform: callable on the label, an ``int`` from 0 to 9.
        download: fetch the files that are missing, show how it goes, and check their MD5 sums.

    Attributes:
        data: uint8 tensor of shape (N, 28, 28).
        targets: int64 tensor of shape (N,).
        classes, class_to_idx: names of the ten classes, and their labels.

    Raises:
        RuntimeError: the files are not there, cannot be fetched, or are damaged; it says where they belong.

    Source: Y. LeCun, C. Cortes, C. Burges, http://yann.lecun.com/exdb/mnist/.

    >>> from tocha_vision.datasets import MNIST
    >>> test = MNIST("data", train=False, download=True)  # doctest: +SKIP
    """

    mirrors = ["https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/"]
    resources = [
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    ]
    classes = [
        "0 - zero", "1 - one", "2 - two", "3 - three", "4 - four",
        "5 - five", "6 - six", "7 - seven", "8 - eight", "9 - nine",
    ]  # fmt: skip
    system_folders: tuple[str, ...] = ()

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        part = "train" if train else "t10k"
        paths = self._find(f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte")
        if paths is None:
            raise RuntimeError(f"Dataset not found. You can use download=True to download it, or {self._advice()}")
        images, labels = read_idx(paths[0], ndim=3), read_idx(paths[1], ndim=1)
        if len(images) != len(labels):
            raise RuntimeError(f"{paths[0]} has {len(images)} images, but {paths[1]} has {len(labels)} labels")
        self.data = tocha.from_numpy(images)
        self.targets = tocha.from_numpy(labels.astype("int64"))

    @property
    def raw_folder(self) -> str:
        """Where ``download`` puts the files: ``root``, the name of the class, ``raw``."""
        return os.path.join(self.root or "", type(self).__name__, "raw")

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The label of each class's name."""
        return {name: index for index, name in enumerate(self.classes)}

    def download(self) -> None:
        """Fetches into :attr:`raw_folder` those of the four files that are nowhere yet.

        Raises ``RuntimeError`` if no mirror gives a file with the right MD5 sum.
        """
        for name, md5 in self.resources:
            if self._find(name.removesuffix(".gz")) is not None:
                continue
            troubles = []
            for mirror in self.mirrors:
                try:
                    fetch(mirror + name, Path(self.raw_folder, name), md5)
                    break
                except OSError as error:
                    troubles.append(f"{mirror}: {getattr(error, 'reason', error)}")
            else:
                reasons = "\n  ".join(troubles)
                raise RuntimeError(f"Error downloading {name}:\n  {reasons}\nTry again, or {self._advice()}")

    def _find(self, *names: str) -> list[Path] | None:
        """Paths of the files of these names, all from the first folder that has every one of them."""
        for folder in (self.raw_folder, self.root or "", *self.system_folders):
            found = [path for name in names for path in _variants(folder, name)]
            if len(found) == len(names):
                return found
        return None

    def _advice(self) -> str:
        names = ", ".join(name for name, _ in self.resources)
        return f"put the files {names} into {self.raw_folder}, as they are or unpacked"

    def __getitem__(self, index: int) -> tuple[Image | Any, Any]:
        from PIL import Image

        return self._transformed(Image.fromarray(self.data[index].numpy()), int(self.targets[index]))

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


class FashionMNIST(MNIST):
    """Photographs of articles of clothing: 28 x 28 grey images, 60,000 for training and 10,000 for testing.

    Arguments, attributes and errors are those of :class:`MNIST`, with ``FashionMNIST`` for the folder's name. The
    folder in which Debian's and Ubuntu's package ``dataset-fashion-mnist`` lays the files is looked into last.

    Source: H. Xiao, K. Rasul, R. Vollgraf (2017), https://github.com/zalandoresearch/fashion-mnist, MIT licence.
    """

    mirrors = ["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"]
    resources = [
        ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    ]
    classes = [
        "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
    ]  # fmt: skip
    system_folders = ("/usr/share/datasets/fashion-mnist",)


def _variants(folder: str | os.PathLike[str], name: str) -> list[Path]:
    """The file of this name in ``folder``, plain or gzipped, if it is there."""
    return [path for path in (Path(folder, name), Path(folder, name + ".gz")) if path.is_file()][:1]
