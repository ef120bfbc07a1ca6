"""The data set."""

import math

import tocha
from tocha.utils.data import Dataset


class Spirals(Dataset):
    """``classes`` spiral arms of ``points`` points each, one turn long, around the origin.

    Args:
        classes: number of arms, and of labels.
        points: points on each arm.
        noise: standard deviation added to both coordinates; the arms reach a radius of 1.
        seed: of the noise; the same seed gives the same points.

    An item is a pair: the point, float32 of shape (2,), and its label, int64 of shape ().

    >>> data = Spirals(classes=3, points=50)
    >>> len(data), tuple(data[0][0].shape), data[149][1].item()
    (150, (2,), 2)
    """

    def __init__(self, classes: int = 2, points: int = 100, noise: float = 0.02, seed: int = 0) -> None:
        if classes < 1 or points < 2:
            raise ValueError(f"expected classes of at least 1 and points of at least 2, got {classes} and {points}")
        radius = tocha.linspace(0.05, 1.0, points)
        arms = []
        for label in range(classes):
            angle = 2 * math.pi * (radius + label / classes)
            arms.append(tocha.stack([radius * tocha.cos(angle), radius * tocha.sin(angle)], dim=1))
        exact = tocha.cat(arms)
        generator = tocha.Generator().manual_seed(seed)
        self.data = exact + noise * tocha.randn(classes * points, 2, generator=generator)
        self.targets = tocha.tensor([label for label in range(classes) for _ in range(points)])

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, index: int) -> tuple[tocha.Tensor, tocha.Tensor]:
        return self.data[index], self.targets[index]
