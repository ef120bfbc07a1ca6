"""Datasets of images: bundled, downloaded, read from folders, or made up.

Every one is a map-style ``tocha.utils.data.Dataset`` of ``(image, target)`` pairs, whose images are PIL images until a
``transform`` says otherwise.
"""

from tocha_vision.datasets.digits import Digits
from tocha_vision.datasets.fakedata import FakeData
from tocha_vision.datasets.folder import IMG_EXTENSIONS, DatasetFolder, ImageFolder, default_loader
from tocha_vision.datasets.mnist import MNIST, FashionMNIST
from tocha_vision.datasets.vision import StandardTransform, VisionDataset

__all__ = [
    "IMG_EXTENSIONS",
    "MNIST",
    "DatasetFolder",
    "Digits",
    "FakeData",
    "FashionMNIST",
    "ImageFolder",
    "StandardTransform",
    "VisionDataset",
    "default_loader",
]
