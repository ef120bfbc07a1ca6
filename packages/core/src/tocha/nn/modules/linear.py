"""Linear layers."""

from __future__ import annotations

import math
from typing import Any

import tocha
from tocha._core.tensor import Tensor
from tocha._ops.contraction import linear
from tocha.nn import functional as F
from tocha.nn import init
from tocha.nn.parameter import Parameter, UninitializedParameter

from .lazy import LazyModuleMixin
from .module import Module

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Returns its input; any arguments are accepted and mean nothing.

    >>> import tocha
    >>> tocha.nn.Identity(54, unused=True)(tocha.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """``x @ weight.T + bias``.

    Args:
        in_features: the last size of the input, which is ``(*, in_features)``.
        out_features: that of the output, ``(*, out_features)``.
        bias: learn a bias.

    ``weight`` (out_features, in_features) and ``bias`` (out_features) are drawn uniformly from ±1 / sqrt(in_features).

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Linear.html

    >>> import tocha
    >>> layer = tocha.nn.Linear(20, 30)
    >>> layer
    Linear(in_features=20, out_features=30, bias=True)
    >>> layer(tocha.randn(128, 20)).shape
    tocha.Size([128, 30])
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(tocha.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(tocha.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))  # which is ±1 / sqrt(in_features)
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """The output projection of ``MultiheadAttention``, under the name that PyTorch prints for it."""


class Bilinear(Module):
    """``x1 @ weight[k] @ x2 + bias[k]`` for each output k.

    Args:
        in1_features, in2_features: the last sizes of the two inputs, which agree in the others.
        out_features: the last size of the output.
        bias: learn a bias.

    ``weight`` (out_features, in1_features, in2_features) and ``bias`` are drawn uniformly from ±1 / sqrt(in1_features).

    Raises:
        ValueError: ``in1_features`` is not positive.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Bilinear.html

    >>> import tocha
    >>> tocha.nn.Bilinear(20, 30, 40)(tocha.randn(128, 20), tocha.randn(128, 30)).shape
    tocha.Size([128, 40])
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(tocha.empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(tocha.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        if self.in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={self.in1_features})")
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """``Linear`` whose ``in_features`` is the last size of its first input.

    >>> import tocha
    >>> layer = tocha.nn.LazyLinear(3)
    >>> layer(tocha.ones(2, 5)).shape, layer
    (tocha.Size([2, 3]), Linear(in_features=5, out_features=3, bias=True))
    """

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, once they have a shape."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take ``in_features`` from the input and draw the parameters."""
        if self.has_uninitialized_params():
            with tocha.no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))  # type: ignore[attr-defined]
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))  # type: ignore[attr-defined]
                self.reset_parameters()
        if self.in_features == 0:
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {input.shape[-1]} is not equal to in_features from "
                    f"self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = input.shape[-1]
