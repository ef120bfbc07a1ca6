"""The transforms as functions of an image and explicit parameters.

An image is a PIL image, or a tensor of shape (..., C, H, W). Whatever draws random parameters is a class in
``tocha_vision.transforms``.
"""

from tocha_vision.transforms.functional._image import (
    InterpolationMode,
    get_dimensions,
    get_image_num_channels,
    get_image_size,
)
from tocha_vision.transforms.functional.color import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    invert,
    rgb_to_grayscale,
    to_grayscale,
)
from tocha_vision.transforms.functional.conversion import (
    convert_image_dtype,
    normalize,
    pil_to_tensor,
    to_pil_image,
    to_tensor,
)
from tocha_vision.transforms.functional.geometry import (
    center_crop,
    crop,
    erase,
    five_crop,
    hflip,
    pad,
    ten_crop,
    vflip,
)
from tocha_vision.transforms.functional.resampling import affine, resize, resized_crop, rotate

__all__ = [
    "InterpolationMode",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "affine",
    "center_crop",
    "convert_image_dtype",
    "crop",
    "erase",
    "five_crop",
    "get_dimensions",
    "get_image_num_channels",
    "get_image_size",
    "hflip",
    "invert",
    "normalize",
    "pad",
    "pil_to_tensor",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "rotate",
    "ten_crop",
    "to_grayscale",
    "to_pil_image",
    "to_tensor",
    "vflip",
]
