"""The memory format of convolutions' weights."""

from __future__ import annotations

from typing import Any, TypeVar

from ..modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

M = TypeVar("M", bound=Module)


def _convert(module: M, kinds: tuple[type, ...], memory_format: Any) -> M:
    for part in module.modules():
        if isinstance(part, kinds):
            weight: Any = part.weight
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Store the weights of all ``Conv2d`` and ``ConvTranspose2d`` in a memory format; returns the module."""
    import tocha.nn as nn

    return _convert(module, (nn.Conv2d, nn.ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Store the weights of all ``Conv3d`` and ``ConvTranspose3d`` in a memory format; returns the module."""
    import tocha.nn as nn

    return _convert(module, (nn.Conv3d, nn.ConvTranspose3d), memory_format)
