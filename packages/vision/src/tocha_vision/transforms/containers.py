"""Transforms made of transforms."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from tocha import nn
from tocha_vision.transforms._draws import coin

Transform = Callable[[Any], Any]


def _listing(name: str, lines: list[str]) -> str:
    return "\n".join([f"{name}(", *("    " + line for line in lines), ")"])


class Compose:
    """One transform after the other.

    >>> from tocha_vision import transforms
    >>> transforms.Compose([transforms.CenterCrop(8), transforms.ToTensor()])
    Compose(
        CenterCrop(size=(8, 8))
        ToTensor()
    )
    """

    def __init__(self, transforms: Sequence[Transform]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return _listing(type(self).__name__, [str(transform) for transform in self.transforms])


class Lambda:
    """A function of one's own; raises ``TypeError`` if it cannot be called."""

    def __init__(self, lambd: Transform) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class RandomApply(nn.Module):
    """All of the transforms with probability ``p``, or else none; they may be an ``nn.ModuleList``."""

    def __init__(self, transforms: Sequence[Transform] | nn.ModuleList, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, img: Any) -> Any:
        if not coin(self.p):
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return _listing(type(self).__name__, [f"p={self.p}", *(str(transform) for transform in self.transforms)])


class _RandomTransforms:
    def __init__(self, transforms: Sequence[Transform]) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError("Argument transforms should be a sequence")
        self.transforms = transforms

    def __repr__(self) -> str:
        return _listing(type(self).__name__, [str(transform) for transform in self.transforms])


class RandomOrder(_RandomTransforms):
    """All of the transforms, in an order drawn from Python's ``random``, as torchvision does."""

    def __call__(self, img: Any) -> Any:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for index in order:
            img = self.transforms[index](img)
        return img


class RandomChoice(_RandomTransforms):
    """One of the transforms, drawn from Python's ``random``, as torchvision does; ``p`` gives their weights."""

    def __init__(self, transforms: Sequence[Transform], p: Sequence[float] | None = None) -> None:
        super().__init__(transforms)
        if p is not None and not isinstance(p, Sequence):
            raise TypeError("Argument p should be a sequence")
        self.p = p

    def __call__(self, img: Any) -> Any:
        return random.choices(self.transforms, weights=self.p)[0](img)

    def __repr__(self) -> str:
        return f"{super().__repr__()}(p={self.p})"
