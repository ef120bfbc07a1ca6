"""The arguments of pools, checked and normalised in PyTorch's words."""

from __future__ import annotations

from typing import Any

from .._core.broadcast import operators
from .._core.templates import expected_tensor, scalar_type_name
from .._core.tensor import Tensor
from .max_pooling import pooled_size

WORDS = {1: "one int", 2: "two ints", 3: "three ints"}
AXES = {1: "W", 2: "HW", 3: "THW"}


def check_tensor(name: str, input: Any) -> None:
    if not isinstance(input, Tensor):
        raise expected_tensor(name, 1, input)


def integers(name: str, argument: str, value: Any, nd: int, position: int = 2, optional: bool = False) -> tuple:
    """A number, or a sequence of one or ``nd`` of them, as a tuple of ``nd``."""
    if type(value) is int:
        return (value,) * nd
    if isinstance(value, (tuple, list)) and all([hasattr(v, "__index__") and not isinstance(v, bool) for v in value]):
        values = tuple([v if hasattr(v, "scalar_category") else v.__index__() for v in value])
        if len(values) == nd:
            return values
        if len(values) == 1:
            return values * nd
        if nd == 1:
            raise RuntimeError(f"{name}() argument '{argument}' should contain one int (got {len(values)})")
        either = (
            "either be omitted, a single int, or a tuple of" if optional else "either be a single int, or a tuple of"
        )
        raise RuntimeError(f"{name}: {argument} must {either} {WORDS[nd]}")
    if hasattr(value, "__index__") and not isinstance(value, bool):
        return (value if hasattr(value, "scalar_category") else value.__index__(),) * nd
    raise TypeError(
        f"{name}(): argument '{argument}' (position {position}) must be tuple of ints, not {type(value).__name__}"
    )


def check_dimensions(name: str, input: Tensor, nd: int) -> None:
    """Refuse other inputs than ``(N, C, *spatial)`` and ``(C, *spatial)``, and empty ones other than an empty batch."""
    shape = input._data.shape
    if len(shape) not in (nd + 1, nd + 2) or any([type(n) is int and n == 0 for n in shape[len(shape) - nd - 1 :]]):
        lead = f"{name}: " if nd == 1 else ""
        raise RuntimeError(
            f"{lead}Expected {nd + 1}D or {nd + 2}D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{list(shape)}"
        )


def check_dtype(name: str, input: Tensor, kinds: str) -> None:
    dtype = input._data.dtype
    if dtype.kind not in kinds:
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar_type_name(dtype)}'")


def window_arguments(
    name: str, input: Tensor, nd: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[tuple, tuple, tuple, tuple]:
    """``(kernel, stride, padding, dilation)`` as tuples.

    Raises:
        RuntimeError: see the messages. TypeError: an argument is not made of integers.
    """
    kernel = integers(name, "kernel_size", kernel_size, nd, 2)
    omitted = stride is None or (isinstance(stride, (list, tuple)) and not stride)
    stride = kernel if omitted else integers(name, "stride", stride, nd, 3, True)
    padding = integers(name, "padding", padding, nd, 4)
    dilation = integers(name, "dilation", dilation, nd, 5)
    check_dimensions(name, input, nd)
    if nd == 1 and name == "max_pool1d":
        _check_one(kernel[0], stride[0], padding[0], dilation[0])
    letters = AXES[nd]
    if any([s == 0 for s in stride]):
        raise RuntimeError("stride should not be zero")
    for what, values in (("kernel size", kernel), ("stride", stride)):
        if any([v <= 0 for v in values]):
            letter = what[0]
            raise RuntimeError(
                f"{what} should be greater than zero, but got "
                + " ".join([f"{letter}{a}: {v}" for a, v in zip(letters, values)])
            )
    if any([d <= 0 for d in dilation]):
        raise RuntimeError(
            "dilation should be greater than zero, but got "
            + " ".join([f"dilation{a}: {d}" for a, d in zip(letters, dilation)])
        )
    for k, p, d in zip(kernel, padding, dilation):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                f"dilation={d}"
            )
    shape = input._data.shape
    outs = [
        pooled_size(n, k, s, p, d, ceil_mode) for n, k, s, p, d in zip(shape[-nd:], kernel, stride, padding, dilation)
    ]
    if any([type(o) is int and o < 1 for o in outs]):
        if name == "max_pool1d":
            raise RuntimeError(f"max_pool1d() Invalid computed output size: {outs[0]}")
        channels = shape[-nd - 1]
        raise RuntimeError(
            f"Given input size: ({'x'.join(map(str, (channels, *shape[-nd:])))}). "
            f"Calculated output size: ({'x'.join(map(str, (channels, *outs)))}). Output size is too small"
        )
    return kernel, stride, padding, dilation


def _check_one(kernel: int, stride: int, padding: int, dilation: int) -> None:
    for what, value in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {what} must be greater than zero, but got {value}")
    if padding < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > kernel // 2:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={padding} and "
            f"kernel_size={kernel}"
        )


def batched(input: Tensor, nd: int) -> tuple[Tensor, bool]:
    """``input`` with a batch dimension, and whether it lacked one."""
    if len(input._data.shape) == nd + 2:
        return input, False
    return operators["view"](input, (1, *input._data.shape)), True


def unbatched(result: Tensor, single: bool) -> Tensor:
    return operators["view"](result, tuple(result._data.shape[1:])) if single else result
