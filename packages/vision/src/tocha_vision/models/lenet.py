"""LeNet-5: LeCun, Bottou, Bengio, Haffner (1998), *Gradient-based learning applied to document recognition*."""

from __future__ import annotations

import tocha
from tocha import nn
from tocha_vision.models._registry import Weights, load_weights, model_builder


class LeNet(nn.Module):
    """Two convolutions and three linear layers, with ReLU and max-pooling as it is usually built today.

    Args:
        num_classes: length of the output.
        in_channels: 1 for grey images, 3 for colour.
        image_size: height and width of the images, at least 12; the original has 32, and 28 is padded to that.

    Shape: (N, in_channels, image_size, image_size) to (N, num_classes).

    >>> import tocha
    >>> LeNet()(tocha.zeros(2, 1, 28, 28)).shape
    tocha.Size([2, 10])
    """

    def __init__(self, num_classes: int = 10, in_channels: int = 1, image_size: int = 28) -> None:
        super().__init__()
        if image_size < 12:
            raise ValueError(f"expected an image_size of at least 12, got {image_size}")
        padding = 2 if image_size < 32 else 0
        side = ((image_size + 2 * padding - 4) // 2 - 4) // 2
        self.features = nn.Sequential(
            nn.Conv2d(in_channels, 6, kernel_size=5, padding=padding),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, kernel_size=5),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Linear(16 * side * side, 120),
            nn.ReLU(inplace=True),
            nn.Linear(120, 84),
            nn.ReLU(inplace=True),
            nn.Linear(84, num_classes),
        )

    def forward(self, x: tocha.Tensor) -> tocha.Tensor:
        return self.classifier(tocha.flatten(self.features(x), 1))


@model_builder
def lenet(*, weights: Weights = None, num_classes: int = 10, in_channels: int = 1, image_size: int = 28) -> LeNet:
    """:class:`LeNet`, with the ``state_dict`` in the file ``weights`` if one is given."""
    model = LeNet(num_classes, in_channels, image_size)
    load_weights(model, weights, "lenet", None)
    return model
