"""Random images with random labels, for trying a pipeline without data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tocha
from tocha_vision.datasets.vision import VisionDataset


class FakeData(VisionDataset):
    """Images of noise that depend on the index alone: the same index always gives the same image and label.

    Args:
        size: number of images.
        image_size: channels, height, width.
        num_classes: labels are drawn from ``range(num_classes)``.
        transform: callable on the PIL image.
        target_transform: callable on the label, an ``int``.
        random_offset: added to the index to seed the image; another offset gives another dataset.

    Equal to torchvision's, pixel by pixel. The global random generator is neither used nor changed.

    >>> from tocha_vision.datasets import FakeData
    >>> image, label = FakeData(size=4, image_size=(3, 8, 6))[0]
    >>> image.size, 0 <= label < 10
    ((6, 8), True)
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(None, transform=transform, target_transform=target_transform)
        self.size = size
        self.num_classes = num_classes
        self.image_size = image_size
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        from tocha_vision.transforms.functional import to_pil_image

        if not 0 <= index < len(self):
            raise IndexError(f"{type(self).__name__} index out of range")
        generator = tocha.Generator().manual_seed(index + self.random_offset)
        noise = tocha.randn(*self.image_size, generator=generator)
        label = int(tocha.randint(0, self.num_classes, (1,), generator=generator).item())
        return self._transformed(to_pil_image(noise), label)

    def __len__(self) -> int:
        return self.size
