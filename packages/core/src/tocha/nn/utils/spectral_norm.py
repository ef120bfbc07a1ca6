"""Weights divided by their largest singular value, by a hook (the older form; see ``parametrizations``)."""

from __future__ import annotations

from typing import Any, TypeVar

import tocha
from tocha._core.tensor import Tensor

from ..modules.module import Module
from ..parameter import Parameter, is_lazy
from ._spectral import as_matrix, default_dim, times, unit

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]

M = TypeVar("M", bound=Module)


class SpectralNorm:
    """The hook: divides the weight before each forward pass, in training after a step of power iteration."""

    # Version 1 saves v too.
    _version: int = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight with ``dim`` first and the others as one."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight divided by the present estimate of its largest singular value."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with tocha.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(unit(times(matrix.t(), u), self.eps))
                    u.copy_(unit(times(matrix, v), self.eps))
                # Copies: the next pass writes into u and v while the graph of this one may still be alive.
                u, v = u.clone(), v.clone()
        return weight / (u * times(matrix, v)).sum()

    def remove(self, module: Module) -> None:
        """Make the divided weight a parameter."""
        with tocha.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Register the hook and its buffers."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        fn = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying spectral normalization"
            )
        with tocha.no_grad():
            height, width = as_matrix(weight, dim).shape
            u = unit(weight.new_empty((height,)).normal_(0, 1), eps)
            v = unit(weight.new_empty((width,)).normal_(0, 1), eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        # A plain tensor, which the hook replaces: a parameter would be in state_dict twice.
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(fn)
        module._register_state_dict_hook(SpectralNormStateDictHook(fn))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(fn))
        return fn


class SpectralNormStateDictHook:
    """Notes the version in the state's metadata."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = f"{self.fn.name}.version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """Reads states from before version 1, which have the divided weight instead of v."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        fn = self.fn
        version = local_metadata.get("spectral_norm", {}).get(f"{fn.name}.version")
        key = prefix + fn.name
        if version is not None and version >= 1:
            return
        if version is None and key not in state_dict and all(key + s in state_dict for s in ("_orig", "_u", "_v")):
            return
        missing = [key + suffix for suffix in ("_orig", "", "_u") if key + suffix not in state_dict]
        if missing:
            if strict:
                missing_keys.extend(missing)
            return
        with tocha.no_grad():
            original, u = state_dict[key + "_orig"], state_dict[key + "_u"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix = as_matrix(original, fn.dim)
            v = tocha.linalg.pinv(matrix) @ u.unsqueeze(1)
            v = v.squeeze(1)
            state_dict[key + "_v"] = v * (sigma / (u * times(matrix, v)).sum())


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divide a parameter by its largest singular value, which power iteration follows; returns the module.

    Args:
        module: whose parameter. name: which. n_power_iterations: how many before each forward pass in training.
        eps: the smallest length that vectors are divided by.
        dim: the dimension of the outputs; 1 for transposed convolutions and else 0 where None.

    Raises:
        RuntimeError: it is divided already. ValueError: it is None or lazy.

    Source: Miyato et al., https://arxiv.org/abs/1802.05957
    """
    SpectralNorm.apply(module, name, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Undo ``spectral_norm``, with the weight as it is divided now; returns the module.

    Raises:
        ValueError: the parameter is not divided.
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for table, kind in (
        (module._state_dict_hooks, SpectralNormStateDictHook),
        (module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook),
    ):
        for key, hook in tuple(table.items()):
            hook = getattr(hook, "hook", hook)
            if isinstance(hook, kind) and hook.fn.name == name:
                del table[key]
    return module
