"""Activation layers. Each computes the function of its name in ``tocha.nn.functional`` and keeps no state but its
arguments."""

from __future__ import annotations

import warnings
from typing import Any

import tocha
from tocha._core.tensor import Tensor
from tocha._ops.activation import relu
from tocha.nn import functional as F
from tocha.nn.parameter import Parameter

from .module import Module

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid",
    "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softmax2d",
    "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip


class _InPlace(Module):
    """An activation that may overwrite its input."""

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def _suffix(self) -> str:
        return ", inplace=True" if self.inplace else ""

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


# ---------------------------------------------------------------- rectifiers


class ReLU(_InPlace):
    """``max(0, x)``.

    Args:
        inplace: overwrite the input.

    >>> import tocha
    >>> tocha.nn.ReLU()(tocha.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu_(input) if self.inplace else relu(input)


class Threshold(_InPlace):
    """``x`` where it is above ``threshold``, ``value`` elsewhere.

    >>> import tocha
    >>> tocha.nn.Threshold(0.1, 20)
    Threshold(threshold=0.1, value=20)
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold, self.value = threshold, value

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}{self._suffix()}"


class RReLU(_InPlace):
    """``leaky_relu`` with a slope drawn from [lower, upper) for each element while training, else with their mean.

    Source: https://arxiv.org/abs/1505.00853

    >>> import tocha
    >>> tocha.nn.RReLU(0.1, 0.3)
    RReLU(lower=0.1, upper=0.3)
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower, self.upper = lower, upper

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}{self._suffix()}"


class Hardtanh(_InPlace):
    """Elements limited to [min_val, max_val].

    Raises:
        AssertionError: ``max_val`` is not above ``min_val``.

    >>> import tocha
    >>> tocha.nn.Hardtanh(-2, 2)
    Hardtanh(min_val=-2, max_val=2)
    """

    def __init__(
        self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(inplace)
        if min_value is not None:
            warnings.warn(
                "keyword argument `min_value` is deprecated and renamed to `min_val`", FutureWarning, stacklevel=2
            )
            min_val = min_value
        if max_value is not None:
            warnings.warn(
                "keyword argument `max_value` is deprecated and renamed to `max_val`", FutureWarning, stacklevel=2
            )
            max_val = max_value
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self.min_val, self.max_val = min_val, max_val

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}{self._suffix()}"


class ReLU6(Hardtanh):
    """``min(max(0, x), 6)``.

    >>> import tocha
    >>> tocha.nn.ReLU6()(tocha.tensor([-1.0, 8.0]))
    tensor([0., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class LeakyReLU(_InPlace):
    """``x`` where positive, ``negative_slope * x`` elsewhere.

    >>> import tocha
    >>> tocha.nn.LeakyReLU(0.1)(tocha.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}{self._suffix()}"


class PReLU(Module):
    """``x`` where positive, ``weight * x`` elsewhere, with a learned ``weight``.

    Args:
        num_parameters: 1, or one for each channel (dimension 1).
        init: the first value of ``weight``.

    Source: https://arxiv.org/abs/1502.01852

    >>> import tocha
    >>> tocha.nn.PReLU()(tocha.tensor([-1.0, 2.0])).tolist()
    [-0.25, 2.0]
    """

    weight: Parameter

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(tocha.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill ``weight`` with its first value."""
        with tocha.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


# ---------------------------------------------------------------- exponential units


class ELU(_InPlace):
    """``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere (https://arxiv.org/abs/1511.07289).

    >>> import tocha
    >>> tocha.nn.ELU()
    ELU(alpha=1.0)
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{self._suffix()}"


class CELU(ELU):
    """``x`` where positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere (https://arxiv.org/abs/1704.07483).

    >>> import tocha
    >>> tocha.nn.CELU(2.0)
    CELU(alpha=2.0)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class SELU(_InPlace):
    """The self-normalizing unit of https://arxiv.org/abs/1706.02515.

    >>> import tocha
    >>> tocha.nn.SELU()(tocha.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


# ---------------------------------------------------------------- smooth units


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``.

    >>> import tocha
    >>> tocha.nn.Sigmoid()(tocha.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent.

    >>> import tocha
    >>> tocha.nn.Tanh()(tocha.tensor([0.0, 2.0]))
    tensor([0.0000, 0.9640])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class GELU(Module):
    """``x * Phi(x)`` with the normal distribution's Phi (https://arxiv.org/abs/1606.08415).

    Args:
        approximate: "none", or "tanh" for the approximation by a hyperbolic tangent.

    >>> import tocha
    >>> tocha.nn.GELU()
    GELU(approximate='none')
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class SiLU(_InPlace):
    """``x * sigmoid(x)``, also called swish.

    >>> import tocha
    >>> tocha.nn.SiLU()(tocha.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_InPlace):
    """``x * tanh(softplus(x))`` (https://arxiv.org/abs/1908.08681).

    >>> import tocha
    >>> tocha.nn.Mish()(tocha.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x`` is above ``threshold``.

    >>> import tocha
    >>> tocha.nn.Softplus()
    Softplus(beta=1.0, threshold=20.0)
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class LogSigmoid(Module):
    """``log(sigmoid(x))``.

    >>> import tocha
    >>> tocha.nn.LogSigmoid()(tocha.tensor([-1.0, 2.0]))
    tensor([-1.3133, -0.1269])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """``x / (1 + |x|)``.

    >>> import tocha
    >>> tocha.nn.Softsign()(tocha.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class GLU(Module):
    """``a * sigmoid(b)`` of the two halves of the input along ``dim`` (https://arxiv.org/abs/1612.08083).

    >>> import tocha
    >>> tocha.nn.GLU()(tocha.tensor([2.0, 4.0, 0.0, 0.0]))
    tensor([1., 2.])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


# ---------------------------------------------------------------- hard and shrinking units


class Hardsigmoid(_InPlace):
    """``relu6(x + 3) / 6``.

    >>> import tocha
    >>> tocha.nn.Hardsigmoid()(tocha.tensor([-4.0, 0.0]))
    tensor([0.0000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardswish(_InPlace):
    """``x * relu6(x + 3) / 6`` (https://arxiv.org/abs/1905.02244).

    >>> import tocha
    >>> tocha.nn.Hardswish()(tocha.tensor([0.0, 3.0]))
    tensor([0., 3.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardshrink(Module):
    """``x`` outside of [-lambd, lambd], 0 inside.

    >>> import tocha
    >>> tocha.nn.Hardshrink()(tocha.tensor([-2.0, 0.1]))
    tensor([-2.,  0.])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Hardshrink):
    """``x`` moved towards 0 by ``lambd``.

    >>> import tocha
    >>> tocha.nn.Softshrink()(tocha.tensor([-2.0, 0.1]))
    tensor([-1.5000,  0.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Tanhshrink(Module):
    """``x - tanh(x)``.

    >>> import tocha
    >>> tocha.nn.Tanhshrink()(tocha.tensor([0.0, 2.0]))
    tensor([0.0000, 1.0360])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


# ---------------------------------------------------------------- softmax


class _Softmax(Module):
    """What the softmax layers share: the dimension."""

    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_Softmax):
    """``exp(x) / sum(exp(x))`` along ``dim``.

    >>> import tocha
    >>> tocha.nn.Softmax(dim=0)(tocha.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmin(_Softmax):
    """``softmax(-x)`` along ``dim``.

    >>> import tocha
    >>> tocha.nn.Softmin(dim=0)(tocha.tensor([0.0, 1.0]))
    tensor([0.7311, 0.2689])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class LogSoftmax(_Softmax):
    """The logarithm of ``Softmax``.

    >>> import tocha
    >>> tocha.nn.LogSoftmax(dim=0)(tocha.tensor([0.0, 1.0]))
    tensor([-1.3133, -0.3133])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels at each place of an image (N, C, H, W) or (C, H, W).

    Raises:
        ValueError: another number of dimensions.

    >>> import tocha
    >>> tocha.nn.Softmax2d()(tocha.zeros(1, 4, 1, 1)).flatten()
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3, _stacklevel=5)
