"""1,797 real handwritten digits that come with the package."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

import tocha
from tocha_vision.datasets.vision import VisionDataset

if TYPE_CHECKING:
    from PIL.Image import Image

HELD_OUT = 5  # every fifth image of each digit
LEVELS = 16  # a pixel counts the inked points of a 4 x 4 block


class Digits(VisionDataset):
    """Optical Recognition of Handwritten Digits: 8 x 8 grey images of the digits 0 to 9, nothing to download.

    Of each digit's images, in the order of the original file, every fifth is held out: 1,442 are for training, 355 for
    testing, and the split never changes. The original's 17 grey levels (0 is paper, 16 is ink) are spread over the
    bytes 0 to 255, so that :class:`~tocha_vision.transforms.ToTensor` gives values from 0 to 1.

    Args:
        root: accepted, so that this class can stand where ``MNIST`` stands; the images come with the package.
        train: the training images, or else the held-out ones.
        transform: callable on the PIL image (mode ``"L"``, 8 x 8).
        target_transform: callable on the label, an ``int`` from 0 to 9.

    Attributes:
        data: uint8 tensor of shape (N, 8, 8).
        targets: int64 tensor of shape (N,).
        classes, class_to_idx: names of the ten classes, and their labels.

    Source: E. Alpaydin and C. Kaynak (1998), *Optical Recognition of Handwritten Digits*, UCI Machine Learning
    Repository, https://doi.org/10.24432/C50P49, licensed CC BY 4.0; these are its test images, drawn by 13 people, as
    scikit-learn distributes them. See ``digits_data/NOTICE`` in this package.

    >>> from tocha_vision.datasets import Digits
    >>> image, label = Digits(train=True)[0]
    >>> image.size, image.mode, label
    ((8, 8), 'L', 0)
    """

    classes = [
        "0 - zero", "1 - one", "2 - two", "3 - three", "4 - four",
        "5 - five", "6 - six", "7 - seven", "8 - eight", "9 - nine",
    ]  # fmt: skip

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        train: bool = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        source = resources.files("tocha_vision.datasets") / "digits_data" / "digits.npz"
        with source.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            images, labels = arrays["images"], arrays["labels"].astype(np.int64)
        chosen = held_out(labels) != train
        pixels = np.rint(images[chosen] * (255 / LEVELS)).astype(np.uint8)
        self.data = tocha.from_numpy(pixels)
        self.targets = tocha.from_numpy(labels[chosen])

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The label of each class's name."""
        return {name: index for index, name in enumerate(self.classes)}

    def __getitem__(self, index: int) -> tuple[Image | Any, Any]:
        from PIL import Image

        return self._transformed(Image.fromarray(self.data[index].numpy()), int(self.targets[index]))

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


def held_out(labels: np.ndarray) -> np.ndarray:
    """Marks every fifth image of each label: boolean, one for each image."""
    marks = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        marks[np.flatnonzero(labels == label)[HELD_OUT - 1 :: HELD_OUT]] = True
    return marks
