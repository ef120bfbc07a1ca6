"""Clipping of gradients, by their common norm or by value."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

import tocha
from tocha._core import arrays as array_modules
from tocha._core.tensor import Tensor, wrap
from tocha._core.views import bump_version

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

Tensors = Tensor | Iterable[Tensor]


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: Tensors) -> list[Tensor]:
    return [p.grad for p in _listed(parameters) if p.grad is not None]


def _norm(raw: Any, order: float) -> Any:
    """The norm of an array taken as a vector, in its dtype (half precision is added up in float32)."""
    xp = array_modules.module_of(raw)
    if raw.size == 0:
        return xp.zeros((), raw.real.dtype)
    wide = raw.astype(np.float32) if raw.dtype.itemsize < 4 else raw
    return xp.asarray(xp.linalg.norm(wide.reshape(-1), order)).astype(raw.real.dtype)


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all entries of several tensors together.

    Args:
        tensors: gradients, for example.
        norm_type: order of the norm; may be ``inf``.
        error_if_nonfinite: refuse a norm that is nan or infinite.
        foreach: PyTorch's choice of implementation; accepted, no effect.

    Raises:
        RuntimeError: the norm is not finite, with ``error_if_nonfinite``.

    >>> import tocha
    >>> get_total_norm([tocha.tensor([3.0]), tocha.tensor([4.0])])
    tensor(5.)
    """
    listed, order = _listed(tensors), float(norm_type)
    if not listed:
        return tocha.tensor(0.0)
    device = listed[0].device
    norms = [array_modules.to_device(_norm(t._data, order), device) for t in listed]
    dtype = np.result_type(*[norm.dtype for norm in norms])
    total = wrap(_norm(array_modules.module_of(norms[0]).stack([norm.astype(dtype) for norm in norms]), order))
    if error_if_nonfinite and not np.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be clipped. "
            "To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale gradients in place, given their common norm, so that it becomes at most ``max_norm``.

    Args:
        parameters: whose gradients. max_norm: the largest norm. total_norm: what ``get_total_norm`` gave.
        foreach: PyTorch's choice of implementation; accepted, no effect.
    """
    norm = total_norm._data
    xp = array_modules.module_of(norm)
    # Arrays all through: NumPy's scalars know no device and would make other dtypes wider.
    factor = xp.asarray(xp.minimum(float(max_norm) / (norm + 1e-6), 1.0), norm.dtype)
    for g in _gradients(parameters):
        raw = g._data
        raw *= array_modules.to_device(factor, g.device).astype(raw.dtype)
        bump_version(g)


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of parameters in place so that their common norm is at most ``max_norm``.

    Args:
        parameters: whose gradients; those without one are skipped.
        max_norm: the largest norm.
        norm_type: order of the norm; may be ``inf``.
        error_if_nonfinite: refuse a norm that is nan or infinite.
        foreach: PyTorch's choice of implementation; accepted, no effect.

    Returns:
        the norm before.

    Raises:
        RuntimeError: the norm is not finite, with ``error_if_nonfinite``.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.clip_grad_norm_.html

    >>> import tocha
    >>> w = tocha.zeros(2, requires_grad=True)
    >>> w.grad = tocha.tensor([3.0, 4.0])
    >>> clip_grad_norm_([w], 1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    listed = _listed(parameters)
    if isinstance(parameters, types.GeneratorType) and not listed:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    total = get_total_norm(_gradients(listed), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """The deprecated name of ``clip_grad_norm_``."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        category=FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(*args, **kwargs)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clip each entry of the gradients in place to ``[-clip_value, clip_value]``.

    Args:
        parameters: whose gradients. clip_value: the largest size of an entry.
        foreach: PyTorch's choice of implementation; accepted, no effect.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.clip_grad_value_.html

    >>> import tocha
    >>> w = tocha.zeros(2, requires_grad=True)
    >>> w.grad = tocha.tensor([3.0, -0.5])
    >>> clip_grad_value_(w, 1.0)
    >>> w.grad
    tensor([ 1.0000, -0.5000])
    """
    bound = float(clip_value)
    for g in _gradients(parameters):
        raw = g._data
        raw[...] = array_modules.module_of(raw).clip(raw, raw.dtype.type(-bound), raw.dtype.type(bound))
        bump_version(g)
