"""Activation functions."""

from __future__ import annotations

import warnings
from typing import Any

import tocha
from tocha._core.inplace import twin
from tocha._core.tensor import Tensor
from tocha._ops import activation
from tocha._ops import softmax as _softmax
from tocha._ops.activation import celu_, hardshrink, not_implemented, prelu, relu_, selu_, threshold_
from tocha._ops.dims import wrap_dim
from tocha._ops.gelu import gelu_op
from tocha._ops.unary import sigmoid as _sigmoid
from tocha._ops.unary import tanh as _tanh

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish",
    "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6",
    "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink",
    "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
]  # fmt: skip

# ---------------------------------------------------------------- rectifiers


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(0, x)`` of each element; its gradient at 0 is 0.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.relu(tocha.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    return relu_(input) if inplace else activation.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(0, x), 6)`` of each element.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.relu6(tocha.tensor([-1.0, 2.0, 8.0]))
        tensor([0., 2., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Elements limited to [min_val, max_val]; the gradient is 0 at and beyond the limits.

    Raises:
        ValueError: ``min_val`` is above ``max_val``.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.hardtanh(tocha.tensor([-2.0, 0.5]))
        tensor([-1.0000,  0.5000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return hardtanh_(input, min_val, max_val) if inplace else activation.hardtanh_op(input, min_val, max_val)


def _hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    return activation.hardtanh_op(input, min_val, max_val)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``x`` where positive, ``negative_slope * x`` elsewhere.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.leaky_relu(tocha.tensor([-1.0, 2.0]), 0.1)
        tensor([-0.1000,  2.0000])
    """
    return leaky_relu_(input, negative_slope) if inplace else activation.leaky_relu_op(input, negative_slope)


def _leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    return activation.leaky_relu_op(input, negative_slope)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """``leaky_relu`` whose slope is drawn from [lower, upper) for each element while ``training``, else their mean.

    Raises:
        RuntimeError: ``lower`` is above ``upper``.

    Source: https://arxiv.org/abs/1505.00853

    Example:
        >>> import tocha
        >>> tocha.nn.functional.rrelu(tocha.tensor([-1.0, 2.0]), 0.2, 0.4)
        tensor([-0.3000,  2.0000])
    """
    return rrelu_(input, lower, upper, training) if inplace else _rrelu(input, lower, upper, training)


def _rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return activation.leaky_relu_op(input, (lower + upper) / 2)
    from tocha._ops.dropout import rrelu_slopes

    return input * rrelu_slopes(input, lower, upper)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``x`` where it is above ``threshold``, ``value`` elsewhere.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.threshold(tocha.tensor([0.1, 2.0]), 1.0, -5.0)
        tensor([-5.,  2.])
    """
    return threshold_(input, threshold, value) if inplace else activation.threshold_op(input, threshold, value)


# ---------------------------------------------------------------- exponential units


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere (https://arxiv.org/abs/1511.07289).

    Example:
        >>> import tocha
        >>> tocha.nn.functional.elu(tocha.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    return elu_(input, alpha) if inplace else activation.elu_op(input, alpha, 1.0, 1.0)


def _elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    return activation.elu_op(input, alpha, 1.0, 1.0)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The self-normalizing unit ``scale * elu(x, alpha)`` (https://arxiv.org/abs/1706.02515).

    Example:
        >>> import tocha
        >>> tocha.nn.functional.selu(tocha.tensor([-1.0, 2.0]))
        tensor([-1.1113,  2.1014])
    """
    return selu_(input) if inplace else activation.selu(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere (https://arxiv.org/abs/1704.07483).

    Raises:
        RuntimeError: ``alpha`` is 0.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.celu(tocha.tensor([-1.0, 2.0]), 2.0)
        tensor([-0.7869,  2.0000])
    """
    return celu_(input, alpha) if inplace else activation.celu(input, alpha)


# ---------------------------------------------------------------- smooth units


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """``x * Phi(x)`` with the normal distribution's Phi, or its tanh approximation (https://arxiv.org/abs/1606.08415).

    Args:
        approximate: "none" or "tanh".

    Raises:
        RuntimeError: ``approximate`` is neither "none" nor "tanh".

    Example:
        >>> import tocha
        >>> tocha.nn.functional.gelu(tocha.tensor([-1.0, 2.0]))
        tensor([-0.1587,  1.9545])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return gelu_op(input, approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``, also called swish.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.silu(tocha.tensor([-1.0, 2.0]))
        tensor([-0.2689,  1.7616])
    """
    return _silu_(input) if inplace else activation.silu_op(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))`` (https://arxiv.org/abs/1908.08681).

    Example:
        >>> import tocha
        >>> tocha.nn.functional.mish(tocha.tensor([-1.0, 2.0]))
        tensor([-0.3034,  1.9440])
    """
    return _mish_(input) if inplace else activation.mish_op(input)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x`` is above ``threshold``.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.softplus(tocha.tensor([-1.0, 2.0]))
        tensor([0.3133, 2.1269])
    """
    return activation.softplus_op(input, beta, threshold)


def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(x))``, computed without overflow.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.logsigmoid(tocha.tensor([-1.0, 2.0]))
        tensor([-1.3133, -0.1269])
    """
    return activation.logsigmoid_op(input)


def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.softsign(tocha.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """
    if input._data.dtype.kind == "b":
        raise not_implemented("abs_cpu", input._data.dtype)
    return input / (input.abs() + 1)


def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))`` of each element.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.sigmoid(tocha.tensor([0.0, 2.0]))
        tensor([0.5000, 0.8808])
    """
    return _sigmoid(input)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.tanh(tocha.tensor([0.0, 2.0]))
        tensor([0.0000, 0.9640])
    """
    return _tanh(input)


# ---------------------------------------------------------------- hard and shrinking units


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(x + 3) / 6``, the sigmoid made of straight lines.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.hardsigmoid(tocha.tensor([-4.0, 0.0]))
        tensor([0.0000, 0.5000])
    """
    return _hardsigmoid_(input) if inplace else activation.hardsigmoid_op(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * relu6(x + 3) / 6`` (https://arxiv.org/abs/1905.02244).

    Example:
        >>> import tocha
        >>> tocha.nn.functional.hardswish(tocha.tensor([-4.0, 3.0]))
        tensor([-0.,  3.])
    """
    return _hardswish_(input) if inplace else activation.hardswish_op(input)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``x`` moved towards 0 by ``lambd``, and 0 where it would pass it.

    Raises:
        RuntimeError: ``lambd`` is negative.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.softshrink(tocha.tensor([-2.0, 0.1]))
        tensor([-1.5000,  0.0000])
    """
    dtype = input._data.dtype
    if dtype.kind not in "fV":
        raise not_implemented("softshrink_check", dtype)
    if not 0 <= lambd:
        largest = tocha.finfo(input.dtype).max
        raise RuntimeError(
            f"lambda must be in range [0, {largest:g}] for input dtype {activation.scalar_type_name(dtype)}, but found "
            f"{lambd:g}"
        )
    return activation.softshrink_op(input, lambd)


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.tanhshrink(tocha.tensor([0.0, 2.0]))
        tensor([0.0000, 1.0360])
    """
    return input - _tanh(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """``a * sigmoid(b)`` of the two halves of ``input`` along ``dim`` (https://arxiv.org/abs/1612.08083).

    Raises:
        RuntimeError: the size of ``dim`` is odd, or ``input`` is 0-d.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.glu(tocha.tensor([2.0, 4.0, 0.0, 0.0]))
        tensor([1., 2.])
    """
    shape = input._data.shape
    if not shape:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    if input._data.dtype.kind not in "fV":
        raise not_implemented("glu_cpu", input._data.dtype)
    dim = wrap_dim(dim, len(shape))
    if not shape[dim] % 2 == 0:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {shape[dim]}")
    half, before = shape[dim] // 2, (slice(None),) * dim
    return input[(*before, slice(None, half))] * _sigmoid(input[(*before, slice(half, None))])


# ---------------------------------------------------------------- softmax


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along ``dim``; ``dtype`` casts first.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.softmax(tocha.zeros(4), dim=0)
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    if dim is None:
        dim = _softmax.implicit_dim("softmax", input.ndim, _stacklevel)
    return _softmax.softmax(input, dim, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``softmax(-x)`` along ``dim``; ``dtype`` casts first.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.softmin(tocha.tensor([0.0, 1.0]), dim=0)
        tensor([0.7311, 0.2689])
    """
    if dim is None:
        dim = _softmax.implicit_dim("softmin", input.ndim, _stacklevel)
    return _softmax.softmax(-input, dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of ``softmax``, computed without overflow.

    Example:
        >>> import tocha
        >>> tocha.nn.functional.log_softmax(tocha.tensor([0.0, 1.0]), dim=0)
        tensor([-1.3133, -0.3133])
    """
    if dim is None:
        dim = _softmax.implicit_dim("log_softmax", input.ndim, _stacklevel)
    return _softmax.log_softmax(input, dim, dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-softmax distribution: ``softmax((logits + noise) / tau)`` along ``dim``.

    Args:
        tau: the temperature.
        hard: return one-hot vectors, with the gradient of the soft sample.
        eps: has no effect.

    Source: https://arxiv.org/abs/1611.01144

    Example:
        >>> import tocha
        >>> tocha.nn.functional.gumbel_softmax(tocha.zeros(3, 4), hard=True).sum(1)
        tensor([1., 1., 1.])
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -tocha.empty(logits.shape, dtype=logits.dtype, device=logits.device).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = tocha.zeros_like(soft).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


# ---------------------------------------------------------------- in-place twins

elu_, hardtanh_, leaky_relu_, rrelu_ = (
    twin(_elu, "elu_"),
    twin(_hardtanh, "hardtanh_"),
    twin(_leaky_relu, "leaky_relu_"),
    twin(_rrelu, "rrelu_"),
)
_silu_, _mish_ = twin(activation.silu_op, "silu_"), twin(activation.mish_op, "mish_")
_hardsigmoid_, _hardswish_ = (
    twin(activation.hardsigmoid_op, "hardsigmoid_"),
    twin(activation.hardswish_op, "hardswish_"),
)
