"""Datasets, transforms and models for images, under the names that torchvision gives them.

Submodules are imported on first use, and Pillow only by what works on pictures.

>>> import tocha_vision
>>> digits = tocha_vision.datasets.Digits(train=False)
>>> len(digits), digits.classes[3]
(355, '3 - three')
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tocha_vision import datasets, models, transforms, utils

__version__ = "0.1.0"
__all__ = ["datasets", "models", "transforms", "utils"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"tocha_vision.{name}")
    raise AttributeError(f"module 'tocha_vision' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
