"""Convolutions and transposed convolutions of 1, 2 and 3 dimensions.

Three operators, each the gradient of the others: the convolution, its data gradient (which is the transposed
convolution) and its weight gradient. Their kernels are in ``correlation.py``.
"""

from __future__ import annotations

from typing import Any

from .._core.broadcast import operators
from .._core.families import half_as_float, operator
from .._core.tensor import Tensor
from . import correlation
from .convolution_checks import check_convolution, check_transposed, same_padding
from .layout import dense_last, new_last, on_arrays, pixel_sum, to_first, to_last
from .reduction import sum_dims
from .tie import tied

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution",
]  # fmt: skip

# ---------------------------------------------------------------- primitives


def _output_size(x: Any, kernel: Any, stride: tuple, padding: tuple, dilation: tuple) -> tuple:
    return tuple(
        [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(x.shape[2:], kernel, stride, padding, dilation)
        ]
    )


def _starts(padding: tuple) -> tuple:
    return tuple([-p for p in padding])


def _grouped(w: Any, groups: int) -> Any:
    return w.reshape(groups, w.shape[0] // groups, *w.shape[1:])


def _forward(xp: Any, x: Any, w: Any, b: Any, stride: tuple, padding: tuple, dilation: tuple, groups: int) -> Any:
    shape = (x.shape[0], w.shape[0], *_output_size(x, w.shape[2:], stride, padding, dilation))
    out = new_last(xp, shape, x.dtype)
    correlation.correlate(xp, to_last(x), _grouped(w, groups), b, to_last(out), _starts(padding), stride, dilation)
    return out


def _backward_input(
    xp: Any, g: Any, w: Any, b: Any, size: tuple, stride: tuple, padding: tuple, dilation: tuple, groups: int
) -> Any:
    out = new_last(xp, (g.shape[0], w.shape[1] * groups, *size), g.dtype)
    correlation.data_gradient(xp, to_last(g), _grouped(w, groups), b, to_last(out), _starts(padding), stride, dilation)
    return out


def _backward_weight(
    xp: Any, x: Any, g: Any, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, groups: int
) -> Any:
    out = xp.empty((g.shape[1], x.shape[1] // groups, *kernel), x.dtype)
    correlation.weight_gradient(xp, to_last(x), dense_last(xp, g), out, groups, _starts(padding), stride, dilation)
    return out


def _bias_gradient(g: Any, x: Any) -> Any:
    return tied(sum_dims(g, (0, *range(2, len(g.shape))), False), x)


def _forward_rule(n: Any, g: Any) -> tuple:
    x, w = n.saved
    to_x, to_w, to_b = n.edges
    gx = None if to_x is None else backward_input(g, w, None, tuple(x.shape[2:]), *n.attrs)
    gw = None if to_w is None else backward_weight(x, g, tuple(w.shape[2:]), *n.attrs)
    return gx, gw, None if to_b is None else _bias_gradient(g, x)


def _forward_rule_raw(xp: Any, n: Any, g: Any) -> tuple:
    """The rule on raw arrays: the gradient is brought to channels-last order once for all three."""
    x, w = n.saved
    to_x, to_w, to_b = n.edges
    g = to_first(dense_last(xp, g))
    gx = None if to_x is None else backward_input(g, w, None, x.shape[2:], *n.attrs)
    gw = None if to_w is None else backward_weight(x, g, w.shape[2:], *n.attrs)
    return gx, gw, None if to_b is None else pixel_sum(xp, g)


def _backward_input_rule(n: Any, c: Any) -> tuple:
    g, w = n.saved
    to_g, to_w, to_b = n.edges
    attrs = n.attrs[1:]
    gg = None if to_g is None else _convolution(c, w, None, *attrs)
    gw = None if to_w is None else backward_weight(c, g, tuple(w.shape[2:]), *attrs)
    return gg, gw, None if to_b is None else _bias_gradient(c, g)


def _backward_weight_rule(n: Any, c: Any) -> tuple:
    x, g = n.saved
    to_x, to_g = n.edges
    attrs = n.attrs[1:]
    gx = None if to_x is None else backward_input(g, c, None, tuple(x.shape[2:]), *attrs)
    return gx, None if to_g is None else _convolution(x, c, None, *attrs)


_convolution = operator(
    "convolution",
    half_as_float(_forward),
    _forward_rule,
    lambda x, w, b, stride, padding, dilation, groups: (
        (x.shape[0], w.shape[0], *_output_size(x, w.shape[2:], stride, padding, dilation)),
        x.dtype,
    ),
    arity=3,
    save=(0, 1),
)
_convolution.op.backward = on_arrays(_forward_rule_raw, _forward_rule)  # type: ignore[attr-defined]
backward_input = operator(
    "convolution_backward_input",
    half_as_float(_backward_input),
    _backward_input_rule,
    lambda g, w, b, size, stride, padding, dilation, groups: ((g.shape[0], w.shape[1] * groups, *size), g.dtype),
    arity=3,
    save=(0, 1),
)
backward_weight = operator(
    "convolution_backward_weight",
    half_as_float(_backward_weight),
    _backward_weight_rule,
    lambda x, g, kernel, stride, padding, dilation, groups: ((g.shape[1], x.shape[1] // groups, *kernel), x.dtype),
    arity=2,
    save=(0, 1),
)

# ---------------------------------------------------------------- public


def _convolve(
    name: str, nd: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    if isinstance(padding, str):
        input, padding = same_padding(input, weight, stride, padding, dilation, nd)
    stride, padding, dilation, batched = check_convolution(
        name, nd, input, weight, bias, stride, padding, dilation, groups
    )
    if batched:
        return _convolution(input, weight, bias, stride, padding, dilation, groups)
    view = operators["view"]
    result = _convolution(view(input, (1, *input._data.shape)), weight, bias, stride, padding, dilation, groups)
    return view(result, tuple(result._data.shape[1:]))


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """A 1-D convolution (cross-correlation). See :func:`conv2d`; shapes have one spatial dimension."""
    return _convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """A 2-D convolution (cross-correlation) over images.

    Args:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        weight: ``(out, C / groups, kH, kW)``.
        bias: ``(out,)``.
        stride, dilation: a number or one a dimension.
        padding: zeros on both sides, a number or one a dimension; "valid" (none); "same" (the output has the input's
            size; the stride must be 1).
        groups: channels are cut into so many groups that do not see each other.

    Returns:
        ``(N, out, H', W')`` with ``H' = (H + 2 padding - dilation (kH - 1) - 1) // stride + 1``.

    Raises:
        RuntimeError: shapes, dtypes or arguments do not fit together.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.conv2d.html

    Example:
        >>> import tocha
        >>> tocha.conv2d(tocha.ones(1, 1, 3, 3), tocha.ones(1, 1, 2, 2)).tolist()
        [[[[4.0, 4.0], [4.0, 4.0]]]]
    """
    return _convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """A 3-D convolution (cross-correlation). See :func:`conv2d`; shapes have three spatial dimensions."""
    return _convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _transpose(
    name: str,
    nd: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    stride, padding, dilation, extra, size, batched = check_transposed(
        name, nd, input, weight, bias, stride, padding, output_padding, groups, dilation
    )
    view = operators["view"]
    if not batched:
        input = view(input, (1, *input._data.shape))
    if any([e >= s for e, s in zip(extra, stride)]):  # so many that the convolution of that size has more outputs
        input = operators["constant_pad"](
            input, tuple([n for e, s in zip(extra[::-1], stride[::-1]) for n in (0, e // s)]), 0.0
        )
    result = backward_input(input, weight, bias, size, stride, padding, dilation, groups)
    return result if batched else view(result, tuple(result._data.shape[1:]))


def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """A 1-D transposed convolution. See :func:`conv_transpose2d`; shapes have one spatial dimension."""
    return _transpose("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """A 2-D transposed convolution: the gradient of :func:`conv2d` with respect to its input, as an operator.

    Args:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        weight: ``(C, out / groups, kH, kW)``.
        bias: ``(out,)``.
        stride, padding, dilation: those of the convolution whose gradient this is; a number or one a dimension.
        output_padding: rows added to one side of the output, fewer than the stride or the dilation.
        groups: channels are cut into so many groups that do not see each other.

    Returns:
        ``(N, out, H', W')`` with ``H' = (H - 1) stride - 2 padding + dilation (kH - 1) + output_padding + 1``.

    Raises:
        RuntimeError: shapes, dtypes or arguments do not fit together.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.conv_transpose2d.html

    Example:
        >>> import tocha
        >>> tocha.conv_transpose2d(tocha.ones(1, 1, 2, 2), tocha.ones(1, 1, 2, 2), stride=2).shape
        tocha.Size([1, 1, 4, 4])
    """
    return _transpose("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """A 3-D transposed convolution. See :func:`conv_transpose2d`; shapes have three spatial dimensions."""
    return _transpose("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)


def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> Tensor:  # fmt: skip
    """A convolution or transposed convolution whose number of dimensions is that of ``weight`` less two."""
    nd = len(weight._data.shape) - 2
    if transposed:
        return _transpose("convolution", nd, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return _convolve("convolution", nd, input, weight, bias, stride, padding, dilation, groups)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A 1-D convolution of ``(time, batch, channels)`` with a weight ``(kernel, channels, out)``; ``bias`` is
    ``(out,)``."""
    for what, t in (("input", input), ("weight", weight)):
        if len(t._data.shape) != 3:
            raise RuntimeError(f"{what.capitalize()} must have 3 dims: time, batch, in_channel" if what == "input" else
                               "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")  # fmt: skip
    permute = operators["permute"]
    return permute(conv1d(permute(input, (1, 2, 0)), permute(weight, (2, 1, 0)), bias, 1, pad), (2, 0, 1))
