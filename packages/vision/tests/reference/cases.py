"""What tocha_vision is compared with torchvision on: one table, run by ``make_reference.py`` and by the tests.

A case is a function of the library's modules ``(m, T, U)``: ``torch``, ``torchvision.transforms`` and
``torchvision.utils``, or tocha's. It returns images: PIL images, tensors, or sequences of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

_random = np.random.RandomState(0)
_y, _x = np.mgrid[:12, :10]
_waves = 127 + 80 * np.sin(_x[..., None] * [0.7, 0.3, 1.1] + _y[..., None] * [0.2, 0.9, 0.5])
ARRAY = np.clip(_waves + _random.randint(-40, 41, (12, 10, 3)), 0, 255).astype(np.uint8)

RGB = Image.fromarray(ARRAY)
GREY = Image.fromarray(_random.randint(0, 256, (9, 14)).astype(np.uint8))
ALPHA = Image.fromarray(_random.randint(0, 256, (6, 5, 4)).astype(np.uint8))
PALETTE = RGB.convert("P", palette=Image.Palette.ADAPTIVE, colors=8)
BINARY = GREY.convert("1")
SHORT = Image.frombytes("I;16", (5, 4), (np.arange(20, dtype=np.uint16) * 3001).tobytes())
WHOLE = Image.frombytes("I", (5, 4), (np.arange(20, dtype=np.int32) * 70001 - 9).tobytes())
REAL = Image.frombytes("F", (5, 4), np.linspace(-1, 300, 20, dtype=np.float32).tobytes())

Case = Callable[[Any, Any, Any], Any]
CASES: dict[str, Case] = {}


def bytes_of(m: Any, array: np.ndarray = ARRAY) -> Any:
    """The image as a uint8 tensor of shape (3, 12, 10)."""
    return m.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))


def floats_of(m: Any) -> Any:
    """The image as a float32 tensor of shape (3, 12, 10), values from 0 to 1."""
    return bytes_of(m).to(m.float32) / 255


def seeded(make: Callable[[Any, Any], Any], image: Callable[[Any], Any], seed: int = 3, times: int = 6) -> Case:
    """A case that draws: the same transform ``times`` times from one seed."""

    def case(m: Any, T: Any, U: Any) -> list[Any]:
        transform, img = make(m, T), image(m)
        m.manual_seed(seed)
        return [transform(img) for _ in range(times)]

    return case


# Conversions
for _name, _image in (
    ("rgb", RGB), ("grey", GREY), ("alpha", ALPHA), ("binary", BINARY), ("short", SHORT), ("whole", WHOLE),
    ("real", REAL),
):  # fmt: skip
    CASES[f"to_tensor {_name}"] = lambda m, T, U, img=_image: T.ToTensor()(img)
    CASES[f"pil_to_tensor {_name}"] = lambda m, T, U, img=_image: T.PILToTensor()(img)
CASES["to_tensor array"] = lambda m, T, U: T.ToTensor()(ARRAY)
CASES["to_tensor array of two dimensions"] = lambda m, T, U: T.ToTensor()(ARRAY[..., 0].astype(np.float64))
CASES["to_pil_image floats"] = lambda m, T, U: T.ToPILImage()(floats_of(m))
CASES["to_pil_image bytes"] = lambda m, T, U: T.ToPILImage()(bytes_of(m))
CASES["to_pil_image hsv"] = lambda m, T, U: T.ToPILImage("HSV")(bytes_of(m))
CASES["to_pil_image one channel"] = lambda m, T, U: T.ToPILImage()(floats_of(m)[:1])
CASES["to_pil_image two channels"] = lambda m, T, U: T.ToPILImage()(bytes_of(m)[:2])
CASES["to_pil_image plane"] = lambda m, T, U: T.ToPILImage()(bytes_of(m)[0])
CASES["to_pil_image F"] = lambda m, T, U: T.ToPILImage("F")(floats_of(m)[:1])
CASES["to_pil_image int32"] = lambda m, T, U: T.ToPILImage()(bytes_of(m)[:1].to(m.int32) * 300)
CASES["to_pil_image array"] = lambda m, T, U: T.ToPILImage()(ARRAY)
for _source in ("uint8", "int16", "int32", "float32", "float64", "bool"):
    for _target in ("uint8", "int8", "int16", "int32", "int64", "float32", "float64"):
        if (_source, _target) not in {("float32", "int32"), ("float32", "int64"), ("float64", "int64")}:
            CASES[f"convert {_source} to {_target}"] = lambda m, T, U, a=_source, b=_target: T.ConvertImageDtype(
                getattr(m, b)
            )(T.ConvertImageDtype(getattr(m, a))(floats_of(m) if a != "bool" else bytes_of(m) > 99))
            if _source == "int32":
                CASES[f"convert {_source} to {_target}"] = lambda m, T, U, b=_target: T.ConvertImageDtype(
                    getattr(m, b)
                )(bytes_of(m).to(m.int32) * 8000001)
CASES["normalize"] = lambda m, T, U: T.Normalize((0.4, 0.5, 0.6), (0.2, 0.25, 0.3))(floats_of(m))
CASES["normalize one for all"] = lambda m, T, U: T.Normalize((0.5,), (0.5,))(floats_of(m)[None])

# Sizes and places
for _mode in ("NEAREST", "NEAREST_EXACT", "BILINEAR", "BICUBIC", "BOX", "HAMMING", "LANCZOS"):
    CASES[f"resize pil {_mode}"] = lambda m, T, U, k=_mode: [
        T.Resize((7, 5), getattr(T.InterpolationMode, k))(RGB),
        T.Resize((15, 21), getattr(T.InterpolationMode, k))(GREY),
    ]
CASES["resize shorter edge"] = lambda m, T, U: [T.Resize(6)(RGB), T.Resize([6])(GREY), T.Resize(20)(RGB)]
CASES["resize max_size"] = lambda m, T, U: [
    T.Resize(9, max_size=10)(GREY),
    T.Resize(9, max_size=100)(GREY),
]
CASES["resize same"] = lambda m, T, U: T.Resize((12, 10))(RGB)
for _mode in ("NEAREST", "NEAREST_EXACT", "BILINEAR", "BICUBIC"):
    for _smooth in (True, False):
        CASES[f"resize tensor {_mode} {_smooth}"] = lambda m, T, U, k=_mode, s=_smooth: [
            T.Resize(size, getattr(T.InterpolationMode, k), antialias=s)(image)
            for size in ((7, 5), (15, 21), 6)
            for image in (floats_of(m), bytes_of(m), floats_of(m)[None].expand(2, -1, -1, -1))
        ]
for _name, _image in (("pil", lambda m: RGB), ("tensor", bytes_of)):
    CASES[f"crop {_name}"] = lambda m, T, U, i=_image: [
        T.functional.crop(i(m), 2, 3, 4, 5), T.functional.crop(i(m), -2, -3, 7, 8), T.functional.crop(i(m), 9, 7, 6, 6),
        T.functional.crop(i(m), -1, -1, 20, 20),
    ]  # fmt: skip
    CASES[f"center_crop {_name}"] = lambda m, T, U, i=_image: [
        T.CenterCrop(size)(i(m)) for size in (5, (4, 7), (15, 5), (5, 13), (15, 17), (12, 10))
    ]
    CASES[f"flips {_name}"] = lambda m, T, U, i=_image: [T.functional.hflip(i(m)), T.functional.vflip(i(m))]
    CASES[f"five_crop {_name}"] = lambda m, T, U, i=_image: T.FiveCrop((5, 6))(i(m))
    CASES[f"ten_crop {_name}"] = lambda m, T, U, i=_image: [*T.TenCrop(4)(i(m)), *T.TenCrop(4, True)(i(m))]
    for _mode in ("constant", "edge", "reflect", "symmetric"):
        CASES[f"pad {_mode} {_name}"] = lambda m, T, U, i=_image, k=_mode: [
            T.Pad(padding, padding_mode=k)(i(m)) for padding in (2, (1, 3), (1, 2, 3, 4), (0, 0, 5, 0))
        ]
    CASES[f"pad fill {_name}"] = lambda m, T, U, i=_image: T.Pad((1, 2), fill=7)(i(m))
    CASES[f"pad negative {_name}"] = lambda m, T, U, i=_image: [
        T.Pad((-1, 2, 3, -4), padding_mode=k)(i(m)) for k in ("constant", "edge")
    ]
CASES["pad colours"] = lambda m, T, U: T.Pad(1, fill=(1, 2, 3))(RGB)
CASES["pad grey and floats"] = lambda m, T, U: [T.Pad(1, fill=9)(GREY), T.Pad(1, fill=0.5)(REAL)]
CASES["pad palette"] = lambda m, T, U: [
    T.Pad(2, padding_mode=k)(PALETTE).convert("RGB") for k in ("constant", "edge", "reflect")
]
for _mode in ("NEAREST", "BILINEAR", "BICUBIC"):
    CASES[f"rotate {_mode}"] = lambda m, T, U, k=_mode: [
        T.functional.rotate(img, angle, getattr(T.InterpolationMode, k), expand=expand, center=center, fill=fill)
        for img, angle, expand, center, fill in (
            (RGB, 30, False, None, None), (RGB, -75.5, True, None, 5), (GREY, 45, False, (2, 3), 9),
            (RGB, 90, True, None, (1, 2, 3)), (ALPHA, 10, False, None, [4, 5, 6, 7]),
        )
    ]  # fmt: skip
    CASES[f"affine {_mode}"] = lambda m, T, U, k=_mode: [
        T.functional.affine(img, angle, translate, scale, shear, getattr(T.InterpolationMode, k), fill, center)
        for img, angle, translate, scale, shear, fill, center in (
            (RGB, 30, (0, 0), 1.0, 0.0, None, None), (RGB, -20.5, (2, -1), 0.7, (10.0, -5.0), 5, None),
            (GREY, 0, (0, 3), 1.3, [20.0], 9, (1, 2)), (RGB, 200, [1, 1], 1.0, 15, (1, 2, 3), None),
        )
    ]  # fmt: skip

for _mode in ("NEAREST", "BILINEAR"):
    CASES[f"rotate tensor {_mode}"] = lambda m, T, U, k=_mode: [
        T.functional.rotate(img, angle, getattr(T.InterpolationMode, k), expand=expand, center=center, fill=fill)
        for img, angle, expand, center, fill in (
            (floats_of(m), 30, False, None, None), (bytes_of(m), -75.5, True, None, [5.0]),
            (floats_of(m)[None], 45, False, [2, 3], [0.1, 0.2, 0.3]), (bytes_of(m), 90, True, None, None),
        )
    ]  # fmt: skip
    CASES[f"affine tensor {_mode}"] = lambda m, T, U, k=_mode: [
        T.functional.affine(img, angle, translate, scale, shear, getattr(T.InterpolationMode, k), fill, center)
        for img, angle, translate, scale, shear, fill, center in (
            (floats_of(m), 30, [0, 0], 1.0, [0.0], None, None),
            (bytes_of(m), -20.5, [2, -1], 0.7, [10.0, -5.0], [5.0], None),
            (floats_of(m)[None], 0, [0, 3], 1.3, [20.0], [0.1, 0.2, 0.3], [1, 2]),
        )
    ]

# Colours
_FACTORS = {
    "adjust_brightness": (0.0, 0.4, 1.0, 1.9), "adjust_contrast": (0.0, 0.4, 1.0, 1.9),
    "adjust_saturation": (0.0, 0.4, 1.0, 1.9), "adjust_hue": (-0.5, -0.11, 0.0, 0.3, 0.5),
    "adjust_gamma": (0.0, 0.5, 1.0, 2.2),
}  # fmt: skip
for _name, _image in (
    ("pil", lambda m: RGB), ("pil grey", lambda m: GREY), ("bytes", bytes_of), ("floats", floats_of),
    ("batch", lambda m: m.stack([bytes_of(m), 255 - bytes_of(m)])), ("one channel", lambda m: floats_of(m)[:1]),
):  # fmt: skip
    for _function, _factors in _FACTORS.items():
        CASES[f"{_function} {_name}"] = lambda m, T, U, i=_image, f=_function, v=_factors: [
            getattr(T.functional, f)(i(m), factor) for factor in v
        ]
    if _name != "one channel":  # of which torchvision makes one channel again, though asked for three
        CASES[f"grayscale {_name}"] = lambda m, T, U, i=_image: [T.Grayscale()(i(m)), T.Grayscale(3)(i(m))]
    CASES[f"invert {_name}"] = lambda m, T, U, i=_image: T.functional.invert(i(m))
CASES["erase"] = lambda m, T, U: T.functional.erase(floats_of(m), 2, 3, 4, 5, m.tensor([1.0, 2.0, 3.0])[:, None, None])

# Drawn from the generator
_SQUARE = lambda m: RGB  # noqa: E731
CASES["random_crop"] = seeded(lambda m, T: T.RandomCrop(5), _SQUARE)
CASES["random_crop padding"] = seeded(lambda m, T: T.RandomCrop((12, 10), padding=4), _SQUARE)
CASES["random_crop pad_if_needed"] = seeded(lambda m, T: T.RandomCrop((14, 15), pad_if_needed=True, fill=3), bytes_of)
CASES["random_crop reflect"] = seeded(lambda m, T: T.RandomCrop(12, padding=(1, 2), padding_mode="reflect"), bytes_of)
CASES["random_flips"] = seeded(lambda m, T: T.Compose([T.RandomHorizontalFlip(), T.RandomVerticalFlip(0.7)]), bytes_of)
CASES["random_rotation"] = seeded(
    lambda m, T: T.RandomRotation((-30, 80), T.InterpolationMode.BILINEAR, fill=4), _SQUARE
)
CASES["random_rotation expand"] = seeded(lambda m, T: T.RandomRotation(60, expand=True), _SQUARE)
CASES["random_affine"] = seeded(
    lambda m, T: T.RandomAffine(25, (0.2, 0.3), (0.7, 1.4), 12, T.InterpolationMode.BILINEAR, fill=8), _SQUARE
)
CASES["random_affine shears"] = seeded(lambda m, T: T.RandomAffine((0, 0), shear=(-5, 5, -20, 30)), _SQUARE)
CASES["random_rotation tensor"] = seeded(
    lambda m, T: T.RandomRotation(50, T.InterpolationMode.BILINEAR, expand=True, fill=0.4), floats_of
)
CASES["random_affine tensor"] = seeded(lambda m, T: T.RandomAffine(25, (0.2, 0.3), (0.7, 1.4), 12, fill=8), bytes_of)
CASES["random_resized_crop"] = seeded(lambda m, T: T.RandomResizedCrop((6, 7)), _SQUARE)
CASES["random_resized_crop fallback"] = seeded(lambda m, T: T.RandomResizedCrop(4, (2.0, 3.0), (0.5, 0.6)), _SQUARE)
CASES["color_jitter"] = seeded(lambda m, T: T.ColorJitter(0.4, (0.5, 1.5), 0.3, 0.2), _SQUARE)
CASES["color_jitter tensor"] = seeded(lambda m, T: T.ColorJitter(0.4, 0.2, 0.3), floats_of)
CASES["random_apply"] = seeded(lambda m, T: T.RandomApply([T.RandomCrop(4), T.Pad(1)], 0.6), _SQUARE, times=10)
CASES["random_grayscale"] = seeded(lambda m, T: T.RandomGrayscale(0.5), bytes_of)
CASES["random_invert"] = seeded(lambda m, T: T.RandomInvert(0.5), bytes_of)
CASES["random_erasing"] = seeded(lambda m, T: T.RandomErasing(0.7), floats_of, times=10)
CASES["random_erasing noise"] = seeded(lambda m, T: T.RandomErasing(1.0, (0.2, 0.5), value="random"), floats_of)
CASES["random_erasing values"] = seeded(lambda m, T: T.RandomErasing(1.0, value=(0.1, 0.2, 0.3)), floats_of)
CASES["random_erasing too large"] = seeded(lambda m, T: T.RandomErasing(1.0, (0.9, 1.0), (4.0, 5.0)), floats_of)

# Pictures out of many
CASES["make_grid"] = lambda m, T, U: U.make_grid(floats_of(m)[None].repeat(7, 1, 1, 1), nrow=3)
CASES["make_grid grey"] = lambda m, T, U: U.make_grid(bytes_of(m)[:, None], nrow=2, padding=1, pad_value=9)
CASES["make_grid list"] = lambda m, T, U: U.make_grid([floats_of(m)[:1], floats_of(m)[1:2]], padding=0)
CASES["make_grid one"] = lambda m, T, U: [U.make_grid(floats_of(m)), U.make_grid(floats_of(m)[0])]
CASES["make_grid normalize"] = lambda m, T, U: [
    U.make_grid(floats_of(m)[:, None] * 5 - 2, normalize=True, scale_each=each, value_range=span, pad_value=0.5)
    for each in (True, False)
    for span in (None, (-1.0, 1.0))
]
