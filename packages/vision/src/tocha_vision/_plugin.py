"""What this package adds to tocha's plugins: datasets, transforms and models by name, imported when asked for."""

from __future__ import annotations

from tocha.hookspecs import Register
from tocha.plugins import hookimpl

DATASETS = ("DatasetFolder", "Digits", "FakeData", "FashionMNIST", "ImageFolder", "MNIST")
TRANSFORMS = (
    "CenterCrop", "ColorJitter", "Compose", "ConvertImageDtype", "FiveCrop", "Grayscale", "Lambda", "Normalize",
    "PILToTensor", "Pad", "RandomAffine", "RandomApply", "RandomChoice", "RandomCrop", "RandomErasing",
    "RandomGrayscale", "RandomHorizontalFlip", "RandomInvert", "RandomOrder", "RandomResizedCrop", "RandomRotation",
    "RandomVerticalFlip", "Resize", "TenCrop", "ToPILImage", "ToTensor",
)  # fmt: skip
MODELS = ("lenet", "mobilenet_v2", "resnet101", "resnet152", "resnet18", "resnet34", "resnet50")


@hookimpl
def tocha_register_datasets(register: Register) -> None:
    for name in DATASETS:
        register(name, f"tocha_vision.datasets:{name}")


@hookimpl
def tocha_register_transforms(register: Register) -> None:
    for name in TRANSFORMS:
        register(name, f"tocha_vision.transforms:{name}")


@hookimpl
def tocha_register_models(register: Register) -> None:
    for name in MODELS:
        register(name, f"tocha_vision.models:{name}")
