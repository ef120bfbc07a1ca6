"""Weights as a length times a direction, by a hook (the older form; see ``parametrizations``)."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

from tocha._core.tensor import Tensor

from ..modules.module import Module
from ..parameter import Parameter, is_lazy

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


def norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """The Euclidean norm over all dimensions but one, which are kept with size 1; over all of them for ``dim=-1``."""
    if dim == -1:
        return (v * v).sum().sqrt()
    return (v * v).sum([d for d in range(v.dim()) if d != dim % v.dim()], keepdim=True).sqrt()


def scaled_direction(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """``v`` with the norms ``g``."""
    return v * (g / norm_except_dim(v, dim))


class WeightNorm:
    """The hook: computes the weight of its two parts before each forward pass."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight of the present parts."""
        return scaled_direction(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Split the weight, and register the hook."""
        warnings.warn(
            "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
            category=FutureWarning,
            stacklevel=3,
        )
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying weight normalization"
            )
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, hook.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Replace a parameter by a length ``name_g`` and a direction ``name_v``; returns the module.

    Args:
        module: whose parameter. name: which. dim: the dimension with a length of its own for each entry; None: one for
            all.

    Raises:
        RuntimeError: it is replaced already. ValueError: it is lazy.

    Source: Salimans and Kingma, https://arxiv.org/abs/1602.07868
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Undo ``weight_norm``; returns the module.

    Raises:
        ValueError: the parameter is not replaced.
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
