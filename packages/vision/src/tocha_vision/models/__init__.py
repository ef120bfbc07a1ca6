"""Networks for images, with torchvision's module names: a state_dict of one loads into the other.

>>> from tocha_vision import models
>>> sum(p.numel() for p in models.resnet18().parameters())
11689512
"""

from tocha_vision.models._registry import get_model, get_model_builder, list_models
from tocha_vision.models.lenet import LeNet, lenet
from tocha_vision.models.mobilenetv2 import MobileNetV2, mobilenet_v2
from tocha_vision.models.resnet import ResNet, resnet18, resnet34, resnet50, resnet101, resnet152

__all__ = [
    "LeNet",
    "MobileNetV2",
    "ResNet",
    "get_model",
    "get_model_builder",
    "lenet",
    "list_models",
    "mobilenet_v2",
    "resnet101",
    "resnet152",
    "resnet18",
    "resnet34",
    "resnet50",
]
