"""Between PIL images, NumPy arrays and tensors, and between the types of their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tocha
from tocha_vision.transforms.functional._image import Image, is_pil

# The type of the values decides the mode of a picture with one channel; more channels are always bytes.
GREY_MODES = {"uint8": "L", "int16": "I;16", "uint16": "I;16", "int32": "I", "float32": "F"}
COLOR_MODES = {2: ["LA"], 3: ["RGB", "YCbCr", "HSV"], 4: ["RGBA", "CMYK", "RGBX"]}


def to_tensor(pic: Any) -> tocha.Tensor:
    """A PIL image or array of shape (H, W) or (H, W, C) as a tensor of shape (C, H, W).

    Bytes 0 to 255 (and PIL's mode ``"1"``) become values from 0 to 1 of the default dtype; other types keep their
    values.

    Raises:
        TypeError: ``pic`` is neither.
        ValueError: an array without two or three dimensions.

    >>> import numpy as np
    >>> to_tensor(np.array([[0, 51], [102, 255]], dtype=np.uint8))
    tensor([[[0.0000, 0.2000],
             [0.4000, 1.0000]]])
    """
    if is_pil(pic):
        array = np.array(pic, dtype=np.uint8) * 255 if pic.mode == "1" else np.array(pic)
        if pic.mode == "I;16":  # torchvision's choice, although values above 32767 become negative
            array = array.astype(np.int16)
    elif isinstance(pic, np.ndarray):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        array = pic
    else:
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    tensor = _channels_first(array)
    if tensor.dtype == tocha.uint8:
        return tensor.to(tocha.get_default_dtype()).div(255)
    return tensor


def pil_to_tensor(pic: Any) -> tocha.Tensor:
    """A PIL image as a tensor of shape (C, H, W) with the same values; raises ``TypeError`` for anything else."""
    if not is_pil(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    return _channels_first(np.array(pic, copy=True))


def _channels_first(array: np.ndarray) -> tocha.Tensor:
    planes = array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
    return tocha.from_numpy(np.ascontiguousarray(planes))


def to_pil_image(pic: Any, mode: str | None = None) -> Image:
    """A tensor of shape (C, H, W) or (H, W), or an array of shape (H, W, C) or (H, W), as a PIL image.

    A floating-point tensor is taken to run from 0 to 1 and becomes bytes, unless ``mode`` is ``"F"``.

    Args:
        pic: 1 to 4 channels.
        mode: a mode of Pillow; by default that of the type for one channel, then ``"LA"``, ``"RGB"`` and ``"RGBA"``.

    Raises:
        TypeError: neither a tensor nor an array, or of a type that no mode has.
        ValueError: another number of dimensions or channels, or a mode that does not fit.
    """
    from PIL import Image as pillow

    if isinstance(pic, tocha.Tensor):
        planes = _with_channels(pic, pic.unsqueeze, -3)
        if planes.is_floating_point() and mode != "F":
            planes = planes.mul(255).to(tocha.uint8)
        array = planes.detach().cpu().numpy().transpose(1, 2, 0)
    elif isinstance(pic, np.ndarray):
        array = _with_channels(pic, lambda _: pic[..., None], -1)
    else:
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    mode = _mode_of(array, mode)
    return pillow.frombytes(mode, (array.shape[1], array.shape[0]), np.ascontiguousarray(array).tobytes())


def _with_channels(pic: Any, add_channels: Any, axis: int) -> Any:
    if pic.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
    if pic.ndim == 2:
        pic = add_channels(0)
    if pic.shape[axis] > 4:
        raise ValueError(f"pic should not have > 4 channels. Got {pic.shape[axis]} channels.")
    return pic


def _mode_of(array: np.ndarray, mode: str | None) -> str:
    channels, dtype = array.shape[2], array.dtype.name
    if channels == 1:
        expected = GREY_MODES.get(dtype)
        if mode is not None and mode != expected:
            raise ValueError(f"Incorrect mode ({mode}) supplied for input type {dtype}. Should be {expected}")
        mode = expected
    elif mode is not None and mode not in COLOR_MODES[channels]:
        raise ValueError(f"Only modes {COLOR_MODES[channels]} are supported for {channels}D inputs")
    elif dtype != "uint8":
        mode = None
    else:
        mode = mode or COLOR_MODES[channels][0]
    if mode is None:
        raise TypeError(f"Input type {dtype} is not supported")
    return mode


def convert_image_dtype(image: tocha.Tensor, dtype: tocha.dtype = tocha.float32) -> tocha.Tensor:
    """Another type for an image's values, scaled so that white stays white.

    White is 1 in floating-point types and the largest value in the others: 255 in uint8, 32767 in int16.

    Raises:
        TypeError: ``image`` is no tensor.
        RuntimeError: from float32 to int32 or int64, or from float64 to int64: white would not fit.
    """
    if not isinstance(image, tocha.Tensor):
        raise TypeError("Input img should be Tensor Image")
    source = image.dtype
    if source == dtype or (source.is_floating_point and dtype.is_floating_point):
        return image.to(dtype)
    if source.is_floating_point:
        if dtype.itemsize > source.itemsize or (dtype.itemsize >= 4 and dtype.itemsize == source.itemsize):
            raise RuntimeError(f"The cast from {source} to {dtype} cannot be performed safely.")
        # 255.999 rather than 255 splits 0 to 1 into 256 parts of equal width; 256 itself would overflow at 1.
        return image.mul(_white(dtype) + 1.0 - 1e-3).to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / _white(source)
    if _white(source) > _white(dtype):
        step = (_white(source) + 1) // (_white(dtype) + 1)
        return tocha.div(image, step, rounding_mode="floor").to(dtype)
    return image.to(dtype) * ((_white(dtype) + 1) // (_white(source) + 1))


def _white(dtype: tocha.dtype) -> int:
    if dtype == tocha.bool:
        return 1
    return 2 ** (8 * dtype.itemsize - dtype.is_signed) - 1


def normalize(tensor: tocha.Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> tocha.Tensor:
    """``(tensor - mean) / std``, channel by channel, of a floating-point tensor of shape (..., C, H, W).

    Raises:
        TypeError: not a tensor, or not of a floating-point type.
        ValueError: fewer than three dimensions, or a ``std`` of zero.
    """
    if not isinstance(tensor, tocha.Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
    if not tensor.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(
            f"Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = {tensor.size()}"
        )
    center = tocha.as_tensor(mean, dtype=tensor.dtype, device=tensor.device)
    spread = tocha.as_tensor(std, dtype=tensor.dtype, device=tensor.device)
    if bool((spread == 0).any()):
        raise ValueError(f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero.")
    if not inplace:
        tensor = tensor.clone()
    return tensor.sub_(center.reshape(-1, 1, 1)).div_(spread.reshape(-1, 1, 1))
