"""Random mirroring, turning, moving, scaling, shearing."""

from __future__ import annotations

from collections.abc import Sequence

from tocha import nn
from tocha_vision.transforms import functional as F
from tocha_vision.transforms._draws import coin, uniform
from tocha_vision.transforms.functional._image import Image, InterpolationMode, interpolation_mode


class RandomHorizontalFlip(nn.Module):
    """Left and right swapped, with probability ``p``."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Image) -> Image:
        return F.hflip(img) if coin(self.p) else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomVerticalFlip(nn.Module):
    """Top and bottom swapped, with probability ``p``."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Image) -> Image:
        return F.vflip(img) if coin(self.p) else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomRotation(nn.Module):
    """The image turned by a random angle; PIL images and tensors.

    Args:
        degrees: (least, largest), or one number for (-degrees, degrees).
        interpolation, expand, center, fill: as in :func:`functional.rotate`.
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Sequence[int] | None = None,
        fill: float | Sequence[float] | None = 0,
    ) -> None:
        super().__init__()
        self.degrees = _range_of_angles(degrees, "degrees", 2)
        if center is not None:
            _check_sequence(center, "center", 2)
        if fill is not None and not isinstance(fill, (int, float, Sequence)):
            raise TypeError("Fill should be either a sequence or a number.")
        self.interpolation = interpolation_mode(interpolation)
        self.expand = expand
        self.center = center
        self.fill = 0 if fill is None else fill

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """Draws the angle, in degrees."""
        return uniform(degrees[0], degrees[1])

    def forward(self, img: Image) -> Image:
        angle = self.get_params(self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, self.fill)

    def __repr__(self) -> str:
        center = "" if self.center is None else f", center={self.center}"
        return (
            f"{type(self).__name__}(degrees={self.degrees}, interpolation={self.interpolation.value}, "
            f"expand={self.expand}{center}, fill={self.fill})"
        )


class RandomAffine(nn.Module):
    """The image turned, moved, scaled and sheared at random; PIL images and tensors.

    Args:
        degrees: (least, largest) angle, or one number for (-degrees, degrees).
        translate: largest shift (to the side, up or down), as a part of the width and height.
        scale: least and largest factor.
        shear: (least, largest) shear along x in degrees, four numbers for x and y, or one number for
            (-shear, shear) along x.
        interpolation, fill, center: as in :func:`functional.affine`.
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
        fill: float | Sequence[float] | None = 0,
        center: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        self.degrees = _range_of_angles(degrees, "degrees", 2)
        if translate is not None:
            _check_sequence(translate, "translate", 2)
            if not all(0.0 <= part <= 1.0 for part in translate):
                raise ValueError("translation values should be between 0 and 1")
        if scale is not None:
            _check_sequence(scale, "scale", 2)
            if not all(factor > 0 for factor in scale):
                raise ValueError("scale values should be positive")
        if center is not None:
            _check_sequence(center, "center", 2)
        if fill is not None and not isinstance(fill, (int, float, Sequence)):
            raise TypeError("Fill should be either a sequence or a number.")
        self.translate = translate
        self.scale = scale
        self.shear = None if shear is None else _range_of_angles(shear, "shear", 2, 4)
        self.interpolation = interpolation_mode(interpolation)
        self.fill = 0 if fill is None else fill
        self.center = center

    @staticmethod
    def get_params(
        degrees: Sequence[float],
        translate: Sequence[float] | None,
        scale_ranges: Sequence[float] | None,
        shears: Sequence[float] | None,
        img_size: Sequence[int],
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """Draws (angle, translation, scale, shear) for :func:`functional.affine`; ``img_size`` is [width, height]."""
        angle = uniform(degrees[0], degrees[1])
        shift = (0, 0)
        if translate is not None:
            x, y = (float(part * size) for part, size in zip(translate, img_size))
            shift = round(uniform(-x, x)), round(uniform(-y, y))
        scale = 1.0 if scale_ranges is None else uniform(scale_ranges[0], scale_ranges[1])
        shear_x = shear_y = 0.0
        if shears is not None:
            shear_x = uniform(shears[0], shears[1])
            if len(shears) == 4:
                shear_y = uniform(shears[2], shears[3])
        return angle, shift, scale, (shear_x, shear_y)

    def forward(self, img: Image) -> Image:
        drawn = self.get_params(self.degrees, self.translate, self.scale, self.shear, F.get_image_size(img))
        return F.affine(img, *drawn, self.interpolation, self.fill, self.center)

    def __repr__(self) -> str:
        parts = [f"degrees={self.degrees}"]
        parts += [
            f"{name}={value}"
            for name, value in (("translate", self.translate), ("scale", self.scale), ("shear", self.shear))
            if value is not None
        ]
        if self.interpolation is not InterpolationMode.NEAREST:
            parts.append(f"interpolation={self.interpolation.value}")
        if self.fill != 0:
            parts.append(f"fill={self.fill}")
        if self.center is not None:
            parts.append(f"center={self.center}")
        return f"{type(self).__name__}({', '.join(parts)})"


def _check_sequence(value: object, name: str, *lengths: int) -> None:
    message = f"{name} should be a sequence of length {' or '.join(map(str, lengths))}."
    if not isinstance(value, Sequence):
        raise TypeError(message)
    if len(value) not in lengths:
        raise ValueError(message)


def _range_of_angles(value: float | Sequence[float], name: str, *lengths: int) -> list[float]:
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be positive.")
        return [-float(value), float(value)]
    _check_sequence(value, name, *lengths)
    return [float(angle) for angle in value]
