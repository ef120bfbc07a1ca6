"""Transforms of images, under torchvision's names and with its arguments.

They take PIL images and tensors of shape (..., C, H, W), unless they say otherwise. Random ones draw from tocha's
generator, in the order in which torchvision draws from PyTorch's, so that the same seed gives the same crop.

>>> from tocha_vision import datasets, transforms
>>> prepare = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
>>> image, label = datasets.Digits(transform=prepare)[0]
>>> tuple(image.shape), image.min().item(), image.max().item()
((1, 8, 8), -1.0, 0.8745098114013672)
"""

from tocha_vision.transforms import functional
from tocha_vision.transforms.color import ColorJitter, Grayscale, RandomGrayscale, RandomInvert
from tocha_vision.transforms.containers import Compose, Lambda, RandomApply, RandomChoice, RandomOrder
from tocha_vision.transforms.conversion import ConvertImageDtype, Normalize, PILToTensor, ToPILImage, ToTensor
from tocha_vision.transforms.cropping import CenterCrop, FiveCrop, Pad, RandomCrop, RandomResizedCrop, Resize, TenCrop
from tocha_vision.transforms.erasing import RandomErasing
from tocha_vision.transforms.functional import InterpolationMode
from tocha_vision.transforms.placement import RandomAffine, RandomHorizontalFlip, RandomRotation, RandomVerticalFlip

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ConvertImageDtype",
    "FiveCrop",
    "Grayscale",
    "InterpolationMode",
    "Lambda",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandomAffine",
    "RandomApply",
    "RandomChoice",
    "RandomCrop",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomOrder",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Resize",
    "TenCrop",
    "ToPILImage",
    "ToTensor",
    "functional",
]
