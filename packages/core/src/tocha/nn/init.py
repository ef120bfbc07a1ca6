"""Initial values of weights. Every function fills its tensor in place, without recording, and returns it.

The draws from the random stream are PyTorch's, in its order: the same seed gives the same weights.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import tocha
from tocha._core import arrays as array_modules
from tocha._core.tensor import Tensor, wrap

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal", "kaiming_normal_",
    "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal", "orthogonal_", "sparse",
    "sparse_", "trunc_normal_", "uniform", "uniform_", "xavier_normal", "xavier_normal_", "xavier_uniform",
    "xavier_uniform_", "zeros_",
]  # fmt: skip

_GAIN_ONE = (
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid",
)  # fmt: skip


def calculate_gain(nonlinearity: str, param: int | float | None = None) -> float:
    """The factor by which weights before a nonlinearity are enlarged, so that signals keep their size.

    Args:
        nonlinearity: ``"linear"``, ``"conv1d"`` …, ``"sigmoid"``, ``"tanh"``, ``"relu"``, ``"leaky_relu"`` or
            ``"selu"``.
        param: the negative slope of ``leaky_relu`` (default 0.01).

    Raises:
        ValueError: the name is unknown, or the slope not a number.

    Source: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.calculate_gain

    >>> calculate_gain("leaky_relu", 0.2)
    1.3867504905630728
    """
    if nonlinearity in _GAIN_ONE:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with numbers uniform between ``a`` and ``b``.

    >>> import tocha
    >>> uniform_(tocha.empty(3, 5)).shape
    tocha.Size([3, 5])
    """
    with tocha.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normal numbers.

    >>> import tocha
    >>> normal_(tocha.empty(3, 5), std=0.02).shape
    tocha.Size([3, 5])
    """
    with tocha.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Fill with normal numbers that lie between ``a`` and ``b``; others are drawn anew.

    Source: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.trunc_normal_

    >>> import tocha
    >>> bool((trunc_normal_(tocha.empty(100)).abs() <= 2).all())
    True
    """
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=2,
        )

    def below(x: float) -> float:
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    with tocha.no_grad():
        if below(b) - below(a) > 0.3:
            _redraw_normal(tensor, mean, std, a, b, generator)
        else:
            _reject_uniform(tensor, mean, std, a, b, generator)
    return tensor


def _redraw_normal(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> None:
    """For wide intervals: draw normals, and those outside again."""
    tensor.normal_(mean, std, generator=generator)
    while True:
        outside = (tensor < a) | (tensor > b)
        if not outside.any():
            return
        fresh = tocha.empty_like(tensor).normal_(mean, std, generator=generator)
        tensor.copy_(tocha.where(outside, fresh, tensor))


def _reject_uniform(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> None:
    """For narrow or far intervals: draw uniforms, and keep each with the density's share of its peak."""
    mode = max(a, min(mean, b))
    log_peak = -0.5 * ((mode - mean) / std) ** 2
    result = tensor.uniform_(a, b, generator=generator)

    def refused(values: Tensor) -> Tensor:
        log_share = ((values - mean) / std) ** 2 * -0.5 - log_peak
        return tocha.empty_like(tensor).uniform_(generator=generator).log() > log_share

    pending = refused(result)
    while pending.any():
        values = tocha.empty_like(tensor).uniform_(a, b, generator=generator)
        result = tocha.where(pending, values, result)
        pending = pending & refused(values)
    tensor.copy_(result)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value.

    >>> import tocha
    >>> constant_(tocha.empty(2), 0.3)
    tensor([0.3000, 0.3000])
    """
    with tocha.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1.

    >>> import tocha
    >>> ones_(tocha.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0.

    >>> import tocha
    >>> zeros_(tocha.empty(2))
    tensor([0., 0.])
    """
    with tocha.no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity.

    Raises:
        ValueError: not two dimensions.

    >>> import tocha
    >>> eye_(tocha.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    _two_dimensions(tensor)
    with tocha.no_grad():
        return tensor.copy_(tocha.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that it passes as many channels through unchanged as it can.

    Args:
        tensor: 3, 4 or 5 dimensions.
        groups: of the convolution; each passes its own channels.

    Raises:
        ValueError: another number of dimensions, or channels that do not divide by ``groups``.

    >>> import tocha
    >>> dirac_(tocha.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    out, inputs, *kernel = tensor.shape
    if out % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    with tocha.no_grad():
        tensor.zero_()
        middle = tuple(n // 2 for n in kernel)
        for group in range(groups):
            for channel in range(min(out // groups, inputs)):
                tensor[(group * (out // groups) + channel, channel, *middle)] = 1
    return tensor


def _two_dimensions(tensor: Tensor) -> None:
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs an output depends on, and the reverse, for a weight ``(out, in, *kernel)``."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    out, inputs, *kernel = tensor.shape
    field = math.prod(kernel)
    return inputs * field, out * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode, modes = mode.lower(), ["fan_in", "fan_out"]
    if mode not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def _xavier_std(tensor: Tensor, gain: float) -> float:
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return gain * math.sqrt(2.0 / float(fan_in + fan_out))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill uniformly, with the variance ``gain**2 * 2 / (fan_in + fan_out)``.

    Raises:
        ValueError: fewer than two dimensions.

    Source: Glorot and Bengio, http://proceedings.mlr.press/v9/glorot10a.html

    >>> import tocha
    >>> bool((xavier_uniform_(tocha.empty(3, 3)).abs() <= 1).all())
    True
    """
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normal numbers of the variance ``gain**2 * 2 / (fan_in + fan_out)``.

    Raises:
        ValueError: fewer than two dimensions.

    Source: Glorot and Bengio, http://proceedings.mlr.press/v9/glorot10a.html

    >>> import tocha
    >>> xavier_normal_(tocha.empty(3, 5)).shape
    tocha.Size([3, 5])
    """
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill uniformly, with the variance ``gain**2 / fan``.

    Args:
        tensor: a weight ``(out, in, *kernel)``.
        a: the negative slope of ``leaky_relu``.
        mode: ``"fan_in"`` keeps the size of signals forward, ``"fan_out"`` backward.
        nonlinearity: what follows; see ``calculate_gain``.
        generator: to draw from.

    Raises:
        ValueError: fewer than two dimensions, or an unknown name.

    Source: He et al., https://arxiv.org/abs/1502.01852

    >>> import tocha
    >>> kaiming_uniform_(tocha.empty(3, 5), nonlinearity="relu").shape
    tocha.Size([3, 5])
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill with normal numbers of the variance ``gain**2 / fan``; see ``kaiming_uniform_``.

    Source: He et al., https://arxiv.org/abs/1502.01852

    >>> import tocha
    >>> kaiming_normal_(tocha.empty(3, 5), mode="fan_out", nonlinearity="relu").shape
    tocha.Size([3, 5])
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a matrix whose rows, or columns if there are fewer, are orthogonal and of length ``gain``.

    Args:
        tensor: the dimensions after the first are taken as one.

    Raises:
        ValueError: fewer than two dimensions.

    Source: Saxe et al., https://arxiv.org/abs/1312.6120

    >>> import tocha
    >>> w = orthogonal_(tocha.empty(3, 5))
    >>> bool(tocha.allclose(w @ w.T, tocha.eye(3), atol=1e-6))
    True
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with tocha.no_grad():
        drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)._data
        xp = array_modules.module_of(drawn)
        q, r = xp.linalg.qr(drawn.T if rows < columns else drawn)
        q = q * xp.sign(xp.diagonal(r))  # makes the distribution uniform
        q = q.T if rows < columns else q
        return tensor.copy_(wrap(q.reshape(tensor.shape)) * gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill with normal numbers, and each column with zeros in ``sparsity`` of its places.

    Args:
        tensor: two dimensions.
        sparsity: share of zeros in each column.
        std: of the other numbers.

    Raises:
        ValueError: not two dimensions.

    Source: Martens, https://www.cs.toronto.edu/~jmartens/docs/Deep_HessianFree.pdf

    >>> import tocha
    >>> int((sparse_(tocha.empty(10, 4), sparsity=0.3) == 0).sum())
    12
    """
    _two_dimensions(tensor)
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with tocha.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[tocha.randperm(rows)[:zeros], column] = 0
    return tensor


def _old_name(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function under its name without underscore, as it was called before PyTorch 0.4."""
    new = function.__name__
    old = new[:-1]

    @functools.wraps(function)
    def deprecated(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = old
    deprecated.__doc__ = f"The deprecated name of ``{new}``."
    return deprecated


uniform = _old_name(uniform_)
normal = _old_name(normal_)
constant = _old_name(constant_)
eye = _old_name(eye_)
dirac = _old_name(dirac_)
xavier_uniform = _old_name(xavier_uniform_)
xavier_normal = _old_name(xavier_normal_)
kaiming_uniform = _old_name(kaiming_uniform_)
kaiming_normal = _old_name(kaiming_normal_)
orthogonal = _old_name(orthogonal_)
sparse = _old_name(sparse_)
