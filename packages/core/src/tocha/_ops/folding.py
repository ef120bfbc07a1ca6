"""Sliding blocks of images as columns (``unfold``), and columns summed back to images (``fold``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.families import half_as_float, operator
from .._core.templates import expected_tensor, scalar_type_name
from .._core.tensor import Tensor
from .pooling_checks import batched, unbatched

__all__: list[str] = []


def _blocks(size: tuple, kernel: tuple, dilation: tuple, padding: tuple, stride: tuple) -> tuple:
    """The number of blocks along each dimension."""
    return tuple(
        [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(size, kernel, dilation, padding, stride)]
    )


def _unfold_kernel(xp: Any, x: Any, kernel: tuple, dilation: tuple, padding: tuple, stride: tuple) -> Any:
    n, c, h, w = x.shape
    if any(padding):
        (ph, pw), given = padding, x
        x = xp.zeros((n, c, h + 2 * ph, w + 2 * pw), x.dtype)
        x[:, :, ph : ph + h, pw : pw + w] = given
    rows, columns = _blocks((h, w), kernel, dilation, padding, stride)
    out = xp.empty((n, c, *kernel, rows, columns), x.dtype)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            out[:, :, i, j] = x[:, :, _span(i, rows, dilation[0], stride[0]), _span(j, columns, dilation[1], stride[1])]
    return out.reshape(n, c * kernel[0] * kernel[1], rows * columns)


def _span(tap: int, count: int, dilation: int, stride: int) -> slice:
    """What a tap sees of one dimension in ``count`` blocks."""
    return slice(tap * dilation, tap * dilation + (count - 1) * stride + 1, stride)


def _fold_kernel(xp: Any, x: Any, size: tuple, kernel: tuple, dilation: tuple, padding: tuple, stride: tuple) -> Any:
    (h, w), (ph, pw) = size, padding
    rows, columns = _blocks(size, kernel, dilation, padding, stride)
    n, c = x.shape[0], x.shape[1] // (kernel[0] * kernel[1])
    x = x.reshape(n, c, *kernel, rows, columns)
    out = xp.zeros((n, c, h + 2 * ph, w + 2 * pw), x.dtype)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            out[:, :, _span(i, rows, dilation[0], stride[0]), _span(j, columns, dilation[1], stride[1])] += x[
                :, :, i, j
            ]
    return xp.ascontiguousarray(out[:, :, ph : ph + h, pw : pw + w])


def _unfold_infer(x: Any, kernel: tuple, dilation: tuple, padding: tuple, stride: tuple) -> tuple:
    rows, columns = _blocks(x.shape[2:], kernel, dilation, padding, stride)
    return (x.shape[0], x.shape[1] * kernel[0] * kernel[1], rows * columns), x.dtype


_unfold = operator(
    "im2col", _unfold_kernel, lambda n, g: (_fold(g, tuple(n.shape[2:]), *n.attrs),), _unfold_infer, linear=True
)
_fold: Callable = operator(
    "col2im",
    half_as_float(_fold_kernel),
    lambda n, g: (_unfold(g, *n.attrs[1:]),),
    lambda x, size, kernel, *rest: ((x.shape[0], x.shape[1] // (kernel[0] * kernel[1]), *size), x.dtype),
    linear=True,
)

# ---------------------------------------------------------------- public


def _pair(value: Any, name: str) -> tuple:
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(value)}")
        return tuple([v if hasattr(v, "scalar_category") else v.__index__() for v in value])
    if isinstance(value, (bool, float)) or not (hasattr(value, "__index__") or hasattr(value, "scalar_category")):
        raise TypeError(f"argument '{name}' must be tuple of ints, not {type(value).__name__}")
    return (value, value)


def _arguments(name: str, input: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> tuple:
    if not isinstance(input, Tensor):
        raise expected_tensor(name, 1, input)
    kernel, dilation = _pair(kernel_size, "kernel_size"), _pair(dilation, "dilation")
    padding, stride = _pair(padding, "padding"), _pair(stride, "stride")
    for what, short, values in (
        ("kernel size", "kernel", kernel),
        ("dilation", "dilation", dilation),
        ("stride", "stride", stride),
    ):
        if any([v <= 0 for v in values]):
            raise RuntimeError(
                f"{what} should be greater than zero, but got {short}_height: {values[0]} {short}_width: {values[1]}"
            )
    if any([v < 0 for v in padding]):
        raise RuntimeError(f"padding should be non-negative, but got pad_height: {padding[0]} pad_width: {padding[1]}")
    return kernel, dilation, padding, stride


def _check_dtype(name: str, input: Tensor) -> None:
    if input._data.dtype.kind not in "fVcb":
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar_type_name(input._data.dtype)}'")


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The sliding blocks of images, each a column.

    Args:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        kernel_size: the blocks' size; this and all below: a number, or one a dimension.
        dilation: from one element of a block to the next. padding: zeros on both sides. stride: from one block to the
            next.

    Returns:
        ``(N, C * kH * kW, blocks)``.

    Raises:
        RuntimeError: the arguments do not fit the input.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Unfold.html

    Example:
        >>> import tocha
        >>> tocha.nn.functional.unfold(tocha.arange(9.0).view(1, 1, 3, 3), 2)[0, :, 0].tolist()
        [0.0, 1.0, 3.0, 4.0]
    """
    arguments = _arguments("unfold", input, kernel_size, dilation, padding, stride)
    shape = input._data.shape
    if len(shape) not in (3, 4) or any([type(n) is int and n == 0 for n in shape[len(shape) - 3 :]]):
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(shape)}"
        )
    blocks = _blocks(shape[-2:], *arguments)
    if any([type(b) is int and b < 1 for b in blocks]):
        raise RuntimeError(
            f"Given input with spatial size {tuple(shape[-2:])}, {_described(*arguments[:3])}, calculated shape of the "
            f"array of sliding blocks as {blocks}, but its components must be at least one."
        )
    _check_dtype("im2col_out_cpu", input)
    input, single = batched(input, 2)
    return unbatched(_unfold(input, *arguments), single)


def _described(kernel: tuple, dilation: tuple, padding: tuple) -> str:
    return f"kernel_size={kernel}, dilation={dilation}, padding={padding}"


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Columns of sliding blocks summed to images: where blocks overlap, their elements add.

    Args:
        input: ``(N, C * kH * kW, blocks)`` or ``(C * kH * kW, blocks)``.
        output_size: ``(H, W)`` of the result. kernel_size, dilation, padding, stride: as in :func:`unfold`.

    Returns:
        ``(N, C, H, W)``.

    Raises:
        RuntimeError: the arguments do not fit the input.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Fold.html
    """
    kernel, dilation, padding, stride = _arguments("fold", input, kernel_size, dilation, padding, stride)
    size = _pair(output_size, "output_size")
    shape = input._data.shape
    if len(shape) not in (2, 3) or any([type(n) is int and n == 0 for n in shape[len(shape) - 2 :]]):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(shape)}"
        )
    if shape[-2] % (kernel[0] * kernel[1]):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={shape[-2]} and kernel_size={kernel}."
        )
    rows, columns = _blocks(size, kernel, dilation, padding, stride)
    given = f"Given output_size={size}, {_described(kernel, dilation, padding)}, stride={stride}"
    if shape[-1] != rows * columns or (type(rows) is int and rows < 1) or (type(columns) is int and columns < 1):
        raise RuntimeError(
            f"{given}, expected size of input's dimension 2 to match the calculated number of sliding blocks {rows} * "
            f"{columns} = {rows * columns}, but got input.size(2)={shape[-1]}."
        )
    _check_dtype("col2im_out_cpu", input)
    input, single = batched(input, 1)
    return unbatched(_fold(input, size, kernel, dilation, padding, stride), single)
