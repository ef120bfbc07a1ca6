"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tocha
from tocha._core.tensor import Tensor

from ..modules.module import typename

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The entries of all parameters, one after the other; gradients flow through.

    Raises:
        TypeError: they are on different devices.

    >>> import tocha
    >>> parameters_to_vector([tocha.zeros(2), tocha.ones(1, 1)])
    tensor([0., 0., 1.])
    """
    listed = list(parameters)
    _one_device(listed)
    return tocha.cat([p.view(-1) for p in listed])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the parameters' data slices of a vector, in their order.

    Raises:
        TypeError: ``vec`` is no tensor, or the parameters are on different devices.

    >>> import tocha
    >>> w = tocha.zeros(1, 2)
    >>> vector_to_parameters(tocha.tensor([3.0, 4.0]), [w])
    >>> w
    tensor([[3., 4.]])
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    listed = list(parameters)
    _one_device(listed)
    start = 0
    for p in listed:
        stop = start + p.numel()
        p.data = vec[start:stop].view(p.shape).data
        start = stop


def _one_device(parameters: list[Any]) -> None:
    if len({p.device for p in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
