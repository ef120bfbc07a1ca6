"""Convolution layers."""

from __future__ import annotations

import math
from typing import Any

import tocha
from tocha._core.tensor import Tensor
from tocha.nn import functional as F
from tocha.nn import init
from tocha.nn.parameter import Parameter, UninitializedParameter

from ._sizes import ntuple, reversed_twice
from .lazy import LazyModuleMixin
from .module import Module

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _Convolution(Module):
    """What all convolution layers share: the arguments, the parameters and their initial values."""

    nd: int
    transposed = False
    weight: Parameter
    bias: Parameter | None

    def _configure(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
        output_padding: Any, groups: int, bias: bool, padding_mode: str, device: Any, dtype: Any,
    ) -> None:  # fmt: skip
        Module.__init__(self)
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        stride = ntuple(stride, self.nd)
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any([s != 1 for s in stride]):
                raise ValueError("padding='same' is not supported for strided convolutions")
        else:
            padding = ntuple(padding, self.nd)
        if padding_mode not in PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {set(PADDING_MODES)}, but got padding_mode='{padding_mode}'")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.padding = ntuple(kernel_size, self.nd), stride, padding
        self.dilation, self.output_padding = ntuple(dilation, self.nd), ntuple(output_padding, self.nd)
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._paddings()
        if not isinstance(self, LazyModuleMixin):
            self.weight = Parameter(tocha.empty(self._weight_shape(), device=device, dtype=dtype))
            if bias:
                self.bias = Parameter(tocha.empty(out_channels, device=device, dtype=dtype))
            else:
                self.register_parameter("bias", None)
            self.reset_parameters()
        else:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            self.bias = UninitializedParameter(device=device, dtype=dtype) if bias else None

    def _paddings(self) -> list[int]:
        """The padding of both sides, last dimension first, as ``pad`` takes it."""
        if self.padding == "valid":
            return [0, 0] * self.nd
        if self.padding != "same":
            return reversed_twice(self.padding)
        found = []
        for d, k in zip(reversed(self.dilation), reversed(self.kernel_size)):
            total = d * (k - 1)
            found += [total // 2, total - total // 2]
        return found

    def _weight_shape(self) -> tuple[int, ...]:
        outer, inner = (
            (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        )
        return (outer, inner // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draw new initial values: weights, then biases, uniform between plus and minus ``1 / sqrt(fan_in)``."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if isinstance(self.padding, str) or any(self.padding):
            text += f", padding={self.padding}"
        if any([d != 1 for d in self.dilation]):
            text += f", dilation={self.dilation}"
        if any(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_Convolution):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        self._configure(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return getattr(F, f"conv{self.nd}d")(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """A 1-D convolution layer over ``(N, C, L)`` or ``(C, L)``. See :class:`Conv2d`."""

    nd = 1


class Conv2d(_Conv):
    """A 2-D convolution layer over ``(N, C, H, W)`` or ``(C, H, W)``.

    Args:
        in_channels, out_channels: ``C`` and the channels of the result.
        kernel_size, stride, dilation: a number or one a dimension.
        padding: a number or one a dimension, "valid" or "same".
        groups: channels are cut into so many groups that do not see each other.
        bias: whether a number for each output channel is added.
        padding_mode: "zeros", "reflect", "replicate" or "circular".

    Attributes:
        weight: ``(out_channels, in_channels / groups, *kernel_size)``; bias: ``(out_channels,)`` or None. Both start
            uniform
        between plus and minus ``sqrt(groups / (in_channels * kH * kW))``.

    Raises:
        ValueError: the arguments do not fit together.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Conv2d.html

    >>> import tocha
    >>> layer = tocha.nn.Conv2d(3, 8, 3, padding=1)
    >>> layer(tocha.zeros(2, 3, 5, 5)).shape
    tocha.Size([2, 8, 5, 5])
    """

    nd = 2


class Conv3d(_Conv):
    """A 3-D convolution layer over ``(N, C, D, H, W)`` or ``(C, D, H, W)``. See :class:`Conv2d`."""

    nd = 3


class _ConvTranspose(_Convolution):
    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self._configure(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        extra = self.output_padding if output_size is None else self._output_padding(input, tuple(output_size))
        function = getattr(F, f"conv_transpose{self.nd}d")
        return function(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)

    def _output_padding(self, input: Tensor, output_size: tuple) -> tuple[int, ...]:
        """The output padding that makes the output so large.

        Raises:
            ValueError: the input cannot become so large.
        """
        nd = self.nd
        extra_dims = input.dim() - nd
        if len(output_size) == nd + extra_dims:
            output_size = output_size[extra_dims:]
        if len(output_size) != nd:
            raise ValueError(
                f"ConvTranspose{nd}D: for {input.dim()}D input, output_size must have {nd} or {nd + extra_dims} "
                f"elements (got {len(output_size)})"
            )
        least = [
            (n - 1) * s - 2 * p + d * (k - 1) + 1
            for n, s, p, d, k in zip(
                input.shape[extra_dims:], self.stride, self.padding, self.dilation, self.kernel_size
            )
        ]
        most = [n + s - 1 for n, s in zip(least, self.stride)]
        if any([n < low or n > high for n, low, high in zip(output_size, least, most)]):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} "
                f"(for an input of {input.shape[2:]})"
            )
        return tuple([n - low for n, low in zip(output_size, least)])


class ConvTranspose1d(_ConvTranspose):
    """A 1-D transposed convolution layer over ``(N, C, L)`` or ``(C, L)``. See :class:`ConvTranspose2d`."""

    nd = 1


class ConvTranspose2d(_ConvTranspose):
    """A 2-D transposed convolution layer over ``(N, C, H, W)`` or ``(C, H, W)``.

    Args:
        in_channels, out_channels: ``C`` and the channels of the result.
        kernel_size, stride, padding, dilation: those of the convolution that is transposed; a number or one a
            dimension.
        output_padding: rows added to one side of the result, fewer than the stride or the dilation.
        groups: channels are cut into so many groups that do not see each other.
        bias: whether a number for each output channel is added.

    ``forward`` takes ``output_size`` instead of ``output_padding``: the size that is wanted.

    Attributes:
        weight: ``(in_channels, out_channels / groups, *kernel_size)``; bias: ``(out_channels,)`` or None.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ConvTranspose2d.html

    >>> import tocha
    >>> layer = tocha.nn.ConvTranspose2d(8, 3, 2, stride=2)
    >>> layer(tocha.zeros(1, 8, 4, 4)).shape
    tocha.Size([1, 3, 8, 8])
    """

    nd = 2


class ConvTranspose3d(_ConvTranspose):
    """A 3-D transposed convolution layer over ``(N, C, D, H, W)`` or ``(C, D, H, W)``. See :class:`ConvTranspose2d`."""

    nd = 3


# ---------------------------------------------------------------- lazy


class _Lazy(LazyModuleMixin):
    """Takes the number of input channels from the first input."""

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:  # type: ignore[attr-defined]
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Give the parameters the shapes that fit ``input``, and their initial values."""
        module: Any = self
        nd = module.nd
        if input.dim() not in (nd + 1, nd + 2):
            raise RuntimeError(
                f"Expected {nd + 1}D (unbatched) or {nd + 2}D (batched) input to {type(self).__name__}, but got input "
                f"of size: {input.shape}"
            )
        module.in_channels = input.shape[-nd - 1]
        if module.in_channels % module.groups:
            raise ValueError("in_channels must be divisible by groups")
        if not self.has_uninitialized_params():  # loaded before the first call
            return
        module.weight.materialize(module._weight_shape())
        if module.bias is not None:
            module.bias.materialize((module.out_channels,))
        self.reset_parameters()


class _LazyConv(_Lazy, _Conv):
    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            0, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype
        )


class LazyConv1d(_LazyConv):
    """A :class:`Conv1d` that takes ``in_channels`` from its first input."""

    nd = 1
    cls_to_become = Conv1d


class LazyConv2d(_LazyConv):
    """A :class:`Conv2d` that takes ``in_channels`` from its first input."""

    nd = 2
    cls_to_become = Conv2d


class LazyConv3d(_LazyConv):
    """A :class:`Conv3d` that takes ``in_channels`` from its first input."""

    nd = 3
    cls_to_become = Conv3d


class _LazyConvTranspose(_Lazy, _ConvTranspose):
    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            0,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            bias,
            dilation,
            padding_mode,
            device,
            dtype,
        )


class LazyConvTranspose1d(_LazyConvTranspose):
    """A :class:`ConvTranspose1d` that takes ``in_channels`` from its first input."""

    nd = 1
    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose):
    """A :class:`ConvTranspose2d` that takes ``in_channels`` from its first input."""

    nd = 2
    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose):
    """A :class:`ConvTranspose3d` that takes ``in_channels`` from its first input."""

    nd = 3
    cls_to_become = ConvTranspose3d
