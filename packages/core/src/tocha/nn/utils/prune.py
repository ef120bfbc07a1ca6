"""Pruning: weights that are held at zero by a mask."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import tocha
from tocha._core.tensor import Tensor

from ..modules.module import Module
from .convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip

M = TypeVar("M", bound=Module)


class BasePruningMethod(ABC):
    """Computes a mask; applied to a module it becomes a hook that multiplies a parameter by it before each forward
    pass.

    A subclass defines ``compute_mask`` and a class attribute ``PRUNING_TYPE``: ``"unstructured"``, ``"structured"``
    (with an attribute ``dim``) or ``"global"``.
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for importances ``t``, within what ``default_mask`` leaves."""

    def apply_mask(self, module: Module) -> Tensor:
        """The module's original parameter times its mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, original = getattr(module, self._tensor_name + "_mask"), getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune a parameter: it becomes ``name_orig``, beside a buffer ``name_mask``.

        Args:
            module: whose parameter. name: which. args, kwargs: the method's.
            importance_scores: what the method looks at instead of the parameter; of its shape.
        """
        method = cls(*args, **kwargs)
        method._tensor_name = name
        earlier = [
            (key, hook)
            for key, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        ]
        if len(earlier) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a "
                "PruningContainer."
            )
        again = bool(earlier)
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got {scores.shape} vs "
                f"{original.shape}"
            )
        if again:
            key, hook = earlier[0]
            container = hook if isinstance(hook, PruningContainer) else PruningContainer(hook)
            container.add_pruning_method(method)
            method = container
            del module._forward_pre_hooks[key]
            mask = getattr(module, name + "_mask").detach().clone()
        else:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            mask = tocha.ones_like(original).detach()
        try:
            mask = method.compute_mask(scores, default_mask=mask)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if not again:
                module.register_parameter(name, getattr(module, name + "_orig"))
                del module._parameters[name + "_orig"]
            raise
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A pruned copy of a tensor, without a module."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t, got {scores.shape} vs {t.shape}"
            )
        return t * self.compute_mask(scores, default_mask=tocha.ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Make the parameter an ordinary one again, zeros included."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters[name + "_orig"]
        original.data = weight.data
        del module._parameters[name + "_orig"]
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods on one parameter, each pruning what the ones before it left."""

    _tensor_name: Any = None

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Put a method at the end.

        Raises:
            TypeError: not a method. ValueError: it is for another parameter.
        """
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer "
                f"{self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The last method's mask within what the earlier ones left."""
        method: Any = self._pruning_methods[-1]
        where: Any
        if method.PRUNING_TYPE == "unstructured":
            where = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError(
                    'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
                )
            if method.dim < -t.dim():
                raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
            dim = method.dim % t.dim()
            kept = default_mask.sum([d for d in range(t.dim()) if d != dim]) != 0
            where = tuple([kept if d == dim else slice(None) for d in range(t.dim())])
        elif method.PRUNING_TYPE == "global":
            where = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask = default_mask.to(dtype=t.dtype).clone()
        mask[where] = method.compute_mask(t[where], default_mask=default_mask[where]).to(dtype=mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing: makes the parameter one that other methods can prune."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """``default_mask``."""
        return default_mask


class _ByAmount(BasePruningMethod):
    amount: Any

    def __init__(self, amount: int | float) -> None:
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        whole = isinstance(amount, numbers.Integral)
        if (whole and amount < 0) or (not whole and not 0.0 <= float(amount) <= 1.0):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount = amount

    def _count(self, size: int) -> int:
        """How many of ``size`` to prune."""
        count = int(self.amount) if isinstance(self.amount, numbers.Integral) else round(self.amount * size)
        if count > size:
            raise ValueError(f"amount={count} should be smaller than the number of parameters to prune={size}")
        return count


class RandomUnstructured(_ByAmount):
    """Prunes entries at random.

    Args:
        amount: share (a float) or number (an int) of entries.
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zeros at random places."""
        return _without(default_mask, tocha.rand_like(t), self._count(t.numel()), largest=True)


class L1Unstructured(_ByAmount):
    """Prunes the entries of the smallest size.

    Args:
        amount: share (a float) or number (an int) of entries.
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zeros where ``t`` is smallest."""
        return _without(default_mask, t.detach().abs(), self._count(t.numel()), largest=False)


def _without(mask: Tensor, scores: Tensor, count: int, largest: bool) -> Tensor:
    flat = mask.reshape(-1).clone()
    if count:
        flat[tocha.topk(scores.reshape(-1), count, largest=largest)[1]] = 0
    return flat.view(mask.shape)


class _ByChannel(_ByAmount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: int | float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _counts(self, t: Tensor) -> tuple[int, int]:
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        return size, self._count(size)

    def _of_channels(self, t: Tensor, channels: Tensor, default_mask: Tensor) -> Tensor:
        mask = tocha.zeros_like(t).detach()
        where: list[Any] = [slice(None)] * t.dim()
        where[self.dim] = channels
        mask[tuple(where)] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_ByChannel):
    """Prunes channels at random.

    Args:
        amount: share (a float) or number (an int) of channels. dim: the channels' dimension.
    """

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zeros in random channels."""
        size, count = self._counts(t)
        if count == 0:
            return default_mask
        chances = tocha.rand(size)
        threshold = chances.sort()[0][count - 1]
        return self._of_channels(t, chances > threshold, default_mask)


class LnStructured(_ByChannel):
    """Prunes the channels of the smallest norm.

    Args:
        amount: share (a float) or number (an int) of channels. n: order of the norm. dim: the channels' dimension.
    """

    def __init__(self, amount: int | float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zeros in the channels of ``t`` with the smallest norms."""
        size, count = self._counts(t)
        norms = tocha.norm(t.detach(), p=self.n, dim=[d for d in range(t.dim()) if d != self.dim % t.dim()])
        kept = tocha.topk(norms, size - count, largest=True)[1]
        return default_mask if count == 0 else self._of_channels(t, kept, default_mask)


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask leaves out.

    Args:
        mask: of the parameter's shape.
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The given mask within ``default_mask``."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: M, name: str) -> M:
    """Prune nothing of a parameter: afterwards other methods can; returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: M, name: str, amount: int | float) -> M:
    """Prune entries of a parameter at random; returns the module.

    Args:
        module: whose parameter. name: which. amount: share (a float) or number (an int) of entries.
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: M, name: str, amount: int | float, importance_scores: Tensor | None = None) -> M:
    """Prune a parameter's entries of the smallest size; returns the module.

    Args:
        module: whose parameter. name: which. amount: share (a float) or number (an int) of entries.
        importance_scores: whose size counts instead.

    >>> import tocha
    >>> layer = tocha.nn.utils.prune.l1_unstructured(tocha.nn.Linear(4, 5), "weight", 0.5)
    >>> int((layer.weight == 0).sum())
    10
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: M, name: str, amount: int | float, dim: int) -> M:
    """Prune channels of a parameter at random; returns the module.

    Args:
        module: whose parameter. name: which. amount: share (a float) or number (an int). dim: the channels' dimension.
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: M, name: str, amount: int | float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> M:
    """Prune a parameter's channels of the smallest norm; returns the module.

    Args:
        module: whose parameter. name: which. amount: share (a float) or number (an int). n: order of the norm.
        dim: the channels' dimension. importance_scores: whose norm counts instead.
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune entries of several parameters together, as if they were one.

    Args:
        parameters: pairs of module and name. pruning_method: an unstructured one. kwargs: its arguments.
        importance_scores: what the method looks at instead, by pair.

    Raises:
        TypeError: an argument is not of the kind described.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    values = parameters_to_vector([scores.get((module, name), getattr(module, name)) for module, name in pairs])
    masks = [getattr(module, name + "_mask", tocha.ones_like(getattr(module, name))) for module, name in pairs]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "temp"
    final = PruningContainer(method).compute_mask(values.detach(), parameters_to_vector(masks).detach())
    start = 0
    for module, name in pairs:
        param = getattr(module, name)
        stop = start + param.numel()
        custom_from_mask(module, name, mask=final[start:stop].view(param.shape))
        start = stop


def custom_from_mask(module: M, name: str, mask: Tensor) -> M:
    """Prune what a mask of the parameter's shape leaves out; returns the module."""
    CustomFromMask.apply(module, name, mask=mask)
    return module


def remove(module: M, name: str) -> M:
    """Make a pruned parameter an ordinary one, zeros included; returns the module.

    Raises:
        ValueError: it is not pruned.
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module, or of one below it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for part in module.modules()
        for hook in part.__dict__.get("_forward_pre_hooks", {}).values()
    )
