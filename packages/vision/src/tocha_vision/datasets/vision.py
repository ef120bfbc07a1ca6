"""What all datasets of this package share: where the files are, what is done to a sample, how it prints."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tocha.utils.data import Dataset


class StandardTransform:
    """One callable on ``(input, target)`` out of one on the input and one on the target; either may be ``None``."""

    def __init__(
        self, transform: Callable[[Any], Any] | None = None, target_transform: Callable[[Any], Any] | None = None
    ) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input: Any, target: Any) -> tuple[Any, Any]:
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def __repr__(self) -> str:
        lines = [type(self).__name__]
        for label, transform in (("Transform: ", self.transform), ("Target transform: ", self.target_transform)):
            if transform is not None:
                lines.append(label + repr(transform).replace("\n", "\n" + " " * len(label)))
        return "\n".join(lines)


class VisionDataset(Dataset):
    """Base class of the datasets here; a subclass defines ``__getitem__`` and ``__len__``.

    Args:
        root: folder of the files; ``~`` is expanded in a ``str``.
        transforms: callable on ``(image, target)``, returns the changed pair.
        transform: callable on the image alone.
        target_transform: callable on the target alone.

    Raises:
        ValueError: if ``transforms`` is given together with one of the other two.

    Like torchvision's class of this name.
    """

    _repr_indent = 4

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        transforms: Callable[[Any, Any], tuple[Any, Any]] | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        separate = transform is not None or target_transform is not None
        if transforms is not None and separate:
            raise ValueError("Only transforms or transform/target_transform can be passed as argument")
        self.transform = transform
        self.target_transform = target_transform
        self.transforms = StandardTransform(transform, target_transform) if separate else transforms

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def _transformed(self, image: Any, target: Any) -> tuple[Any, Any]:
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def extra_repr(self) -> str:
        """Lines that a subclass adds to the representation."""
        return ""

    def __repr__(self) -> str:
        lines = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            lines.append(f"Root location: {self.root}")
        lines += self.extra_repr().splitlines()
        if self.transforms is not None:
            lines.append(repr(self.transforms))
        return "\n".join([f"Dataset {type(self).__name__}"] + [" " * self._repr_indent + line for line in lines])
