"""Resizing of signals, images and volumes."""

from __future__ import annotations

from typing import Any

from .._core.templates import expected_tensor, scalar_type_name
from .._core.tensor import Tensor
from .adaptive_pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from .resampling import resample

__all__: list[str] = []

# mode -> (the kernel's name, the input's number of dimensions, or 0 for 3 to 5)
_MODES = {
    "nearest": ("nearest", 0), "nearest-exact": ("nearest-exact", 0), "linear": ("linear", 3),
    "bilinear": ("linear", 4), "trilinear": ("linear", 5), "bicubic": ("cubic", 4), "lanczos": ("lanczos", 4),
}  # fmt: skip


def _is_integer(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, Tensor):
        return value._data.dtype.kind in "iu"
    return hasattr(value, "__index__") or hasattr(value, "scalar_category")


def _sizes(input: Tensor, size: Any) -> list:
    spatial = input._data.shape[2:]
    if isinstance(size, (tuple, list)):
        if len(size) != len(spatial):
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got "
                f"input with spatial dimensions of {list(spatial)} and output size of {size}. "
                "Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) "
                "format."
            )
        if not all([_is_integer(s) for s in size]):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], "
                f"but got size with types {[type(s) for s in size]}"
            )
    elif not _is_integer(size):
        raise TypeError(f"interpolate(): argument 'size' must be int or tuple of ints, not {type(size).__name__}")
    else:
        size = [size] * len(spatial)
    return [int(s) if isinstance(s, Tensor) else s if hasattr(s, "scalar_category") else s.__index__() for s in size]


def _factors(input: Tensor, scale_factor: Any) -> list:
    spatial = input._data.shape[2:]
    if isinstance(scale_factor, (tuple, list)):
        if len(scale_factor) != len(spatial):
            raise ValueError(
                "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
                f"dimensions of {list(spatial)} and scale_factor of shape {scale_factor}. Please provide input tensor "
                f"in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format."
            )
        return [float(f) for f in scale_factor]
    return [float(scale_factor)] * len(spatial)


def _scaled(n: Any, factor: float) -> Any:
    """A size times a factor, rounded down; a symbolic size stays symbolic where the factor is a whole number."""
    if type(n) is int:
        return int(n * factor)
    return n * int(factor) if factor == int(factor) else int(n * factor)


def _check(input: Tensor, mode: str, size: list) -> None:
    shape = input._data.shape
    names = ("D", "H", "W")[-len(size) :]
    if any([type(n) is int and n <= 0 for n in (*shape[2:], *size)]):
        have, want = [", ".join([f"{a}: {n}" for a, n in zip(names, ns)]) for ns in (shape[2:], size)]
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input ({have}) output ({want})")
    if type(shape[1]) is int and shape[1] == 0:
        raise RuntimeError(f"Non-empty {len(shape)}D data tensor expected but got a tensor with sizes {list(shape)}")
    dtype = input._data.dtype
    if dtype.kind not in "fV" and dtype.name != "uint8":
        raise NotImplementedError(f"\"upsample_{mode}{len(size)}d\" not implemented for '{scalar_type_name(dtype)}'")


def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    """``(N, C, *spatial)`` resized to ``size``, or by ``scale_factor``.

    Args:
        input: 3-D to 5-D, floating, or uint8 images.
        size: a number or one a dimension.
        scale_factor: a number or one a dimension; the size is rounded down.
        mode: "nearest", "nearest-exact", "area"; "linear" (3-D), "bilinear", "bicubic", "lanczos" (4-D), "trilinear"
            (5-D).
        align_corners: whether the corner pixels' centres, and not their outer corners, stay where they are.
        recompute_scale_factor: use the ratio of the sizes rather than ``scale_factor`` for the positions.
        antialias: widen the kernel where the image becomes smaller, as Pillow does ("bilinear", "bicubic", "lanczos").

    Raises:
        ValueError: the arguments do not fit together. NotImplementedError: nor the mode the input. RuntimeError: empty
            sizes.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.interpolate.html

    Example:
        >>> import tocha
        >>> tocha.nn.functional.interpolate(tocha.tensor([[[1.0, 3.0]]]), scale_factor=2.0, mode="linear").tolist()
        [[[1.0, 1.5, 2.5, 3.0]]]
    """
    if not isinstance(input, Tensor):
        raise expected_tensor("interpolate", 1, input)
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                "trilinear"
            )
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    ndim = len(input._data.shape)
    factors: list
    if size is not None:
        if recompute_scale_factor and not isinstance(size, Tensor):
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        output, factors = _sizes(input, size), [None] * (ndim - 2)
    elif scale_factor is not None:
        factors = _factors(input, scale_factor)
        output = [_scaled(n, f) for n, f in zip(input._data.shape[2:], factors)]
        if recompute_scale_factor:
            factors = [None] * (ndim - 2)
    else:
        raise ValueError("either size or scale_factor should be defined")
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "area" and ndim in (3, 4, 5):
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[ndim - 3](input, tuple(output))
    kernel, wanted = _MODES.get(mode, (None, 0))
    if kernel is None or ndim not in (3, 4, 5) or (wanted and ndim != wanted and mode in ("bicubic", "lanczos")):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: nearest | linear | "
            f"bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )
    if wanted and ndim != wanted:
        raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {wanted}D input")
    if mode == "lanczos":
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
    _check(input, mode, output)
    return resample(input, tuple(output), kernel, bool(align_corners), tuple(factors), bool(antialias))
