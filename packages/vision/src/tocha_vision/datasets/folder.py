"""Datasets out of a tree of folders, one folder a class."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tocha_vision.datasets.vision import VisionDataset

if TYPE_CHECKING:
    from PIL.Image import Image

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def default_loader(path: str | os.PathLike[str]) -> Image:
    """Reads a picture as RGB through Pillow, whatever its own mode."""
    from PIL import Image

    with open(path, "rb") as file:
        return Image.open(file).convert("RGB")


def find_classes(directory: str | os.PathLike[str]) -> tuple[list[str], dict[str, int]]:
    """The names of the folders in ``directory``, sorted, and the label of each.

    Raises ``FileNotFoundError`` if there are none.
    """
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: label for label, name in enumerate(classes)}


def make_dataset(
    directory: str | os.PathLike[str],
    class_to_idx: dict[str, int] | None = None,
    extensions: str | tuple[str, ...] | None = None,
    is_valid_file: Callable[[str], bool] | None = None,
    allow_empty: bool = False,
) -> list[tuple[str, int]]:
    """``(path, label)`` of each file under ``directory``'s class folders, at any depth, in a fixed order.

    Exactly one of ``extensions`` (lower case, with the dot) and ``is_valid_file`` says which files count.

    Raises:
        ValueError: both or neither of the two are given, or ``class_to_idx`` is empty.
        FileNotFoundError: a class has no file, unless ``allow_empty``.
    """
    directory = os.path.expanduser(directory)
    if class_to_idx is None:
        class_to_idx = find_classes(directory)[1]
    elif not class_to_idx:
        raise ValueError("'class_to_index' must have at least one entry to collect any samples.")
    if (extensions is None) == (is_valid_file is None):
        raise ValueError("Both extensions and is_valid_file cannot be None or not None at the same time")
    if is_valid_file is None:

        def is_valid_file(path: str) -> bool:
            return path.lower().endswith(extensions)  # type: ignore[arg-type]

    samples: list[tuple[str, int]] = []
    empty = []
    for name in sorted(class_to_idx):
        before = len(samples)
        for folder, _, files in sorted(os.walk(os.path.join(directory, name), followlinks=True)):
            paths = (os.path.join(folder, file) for file in sorted(files))
            samples += [(path, class_to_idx[name]) for path in paths if is_valid_file(path)]
        if len(samples) == before:
            empty.append(name)
    if empty and not allow_empty:
        message = f"Found no valid file for the classes {', '.join(empty)}. "
        if extensions is not None:
            names = extensions if isinstance(extensions, str) else ", ".join(extensions)
            message += f"Supported extensions are: {names}"
        raise FileNotFoundError(message)
    return samples


class DatasetFolder(VisionDataset):
    """Files laid out as ``root/class_name/[any/depth/]file``; the class folders' sorted names number the labels.

    Args:
        root: folder that holds the class folders.
        loader: reads one sample, given its path.
        extensions: endings of the files that count, lower case with the dot; matched without regard to case.
        transform: callable on what ``loader`` returned.
        target_transform: callable on the label, an ``int``.
        is_valid_file: says of a path whether it counts; instead of ``extensions``.
        allow_empty: accept class folders without a file.

    Attributes:
        classes, class_to_idx: the classes' names, and their labels.
        samples: ``(path, label)`` of each sample.
        targets: the labels alone.

    Raises:
        ValueError: both or neither of ``extensions`` and ``is_valid_file`` are given.
        FileNotFoundError: no class folder, or one without a file.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        folder = os.path.expanduser(root)
        self.classes, self.class_to_idx = self.find_classes(folder)
        self.loader = loader
        self.extensions = extensions
        self.samples = self.make_dataset(folder, self.class_to_idx, extensions, is_valid_file, allow_empty)
        self.targets = [label for _, label in self.samples]

    def find_classes(self, directory: str | os.PathLike[str]) -> tuple[list[str], dict[str, int]]:
        """Names of the classes and their labels; override it for folders that are numbered another way."""
        return find_classes(directory)

    @staticmethod
    def make_dataset(
        directory: str | os.PathLike[str],
        class_to_idx: dict[str, int],
        extensions: tuple[str, ...] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> list[tuple[str, int]]:
        """``(path, label)`` of each sample; override it to leave some out, say, or to look elsewhere."""
        if class_to_idx is None:
            raise ValueError("The class_to_idx parameter cannot be None.")
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, label = self.samples[index]
        return self._transformed(self.loader(path), label)

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Pictures laid out as ``root/dog/xxx.png``, ``root/cat/123.jpg``; see :class:`DatasetFolder`.

    Args:
        root: folder that holds the class folders.
        transform: callable on the PIL image (RGB).
        target_transform: callable on the label, an ``int``.
        loader: reads one picture, given its path.
        is_valid_file: says of a path whether it counts; by default the endings in ``IMG_EXTENSIONS`` do.
        allow_empty: accept class folders without a picture.

    Attributes:
        imgs: another name for ``samples``.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        super().__init__(root, loader, extensions, transform, target_transform, is_valid_file, allow_empty)
        self.imgs = self.samples
