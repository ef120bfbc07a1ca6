"""Parameters computed from others: a module's weight as a function of what is really trained."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from typing import Any

import tocha
from tocha._core.tensor import Tensor

from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

_cache_depth = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Inside the block each parametrized tensor is computed once, however often it is used.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parametrize.cached.html
    """
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if not _cache_depth:
            _cache.clear()


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _set(target: Tensor, source: Tensor) -> None:
    """Make ``target`` hold the values of ``source``, whatever its shape; optimizers go on holding ``target``."""
    target.data = source.detach()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied one after the other to what is trained (``original``).

    Args:
        modules: the parametrizations. original: the tensor to replace.
        unsafe: allow another dtype or shape.

    Where the last ``right_inverse`` gives several tensors, they are ``original0``, ``original1``, ….
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with tocha.no_grad():
            new: Any = original
            for module in reversed(list(self)):
                inverse = getattr(module, "right_inverse", None)
                if inverse is not None:
                    with contextlib.suppress(NotImplementedError):
                        new = inverse(new)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                f"{type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        if isinstance(new, Tensor):
            for fact in ("dtype", "device"):
                if getattr(original, fact) != getattr(new, fact):
                    raise ValueError(
                        f"When `right_inverse` outputs one tensor, it may not change the {fact}.\n"
                        f"original.{fact}: {getattr(original, fact)}\n"
                        f"right_inverse(original).{fact}: {getattr(new, fact)}"
                    )
            _set(original, new)
            _register(self, "original", original)
        else:
            self._register_several(new, original)
        if not unsafe:
            _unchanged(
                "Registering a parametrization may not change the {} of the tensor, unless `unsafe` flag is enabled.\n"
                "unparametrized {}: {}\nparametrized {}: {}",
                self(),
                dtype,
                shape,
            )

    def _register_several(self, tensors: Sequence[Any], original: Tensor) -> None:
        for i, tensor in enumerate(tensors):
            if not isinstance(tensor, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                    f"{i} of the sequence with type {type(tensor).__name__}."
                )
            if isinstance(original, Parameter):
                tensor = Parameter(tensor, original.requires_grad)
            tensor.requires_grad_(original.requires_grad)
            _register(self, f"original{i}", tensor)

    def right_inverse(self, value: Tensor) -> None:
        """Set what is trained so that the parametrized tensor becomes ``value``.

        Raises:
            RuntimeError: a parametrization has no ``right_inverse``. ValueError: it gave something else than before.
        """
        inverted: Any = value
        with tocha.no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                inverted = module.right_inverse(inverted)
            if self.is_tensor:
                if not isinstance(inverted, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(inverted).__name__}")
                if inverted.dtype != self.original.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {inverted.dtype} while `original` has dtype "
                        f"{self.original.dtype}"
                    )
                _set(self.original, inverted)
                return
            if not isinstance(inverted, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(inverted).__name__}.")
            if len(inverted) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                    f"length {len(inverted)}."
                )
            for i, tensor in enumerate(inverted):
                original = getattr(self, f"original{i}")
                if not isinstance(tensor, Tensor):
                    raise ValueError(
                        f"'right_inverse' must return a sequence of tensors. Got element {i} of type "
                        f"{type(tensor).__name__}"
                    )
                if original.dtype != tensor.dtype:
                    raise ValueError(
                        f"Tensor {i} returned by `right_inverse` has dtype {tensor.dtype} while `original{i}` has "
                        f"dtype {original.dtype}"
                    )
                _set(original, tensor)

    def forward(self) -> Tensor:
        first, *rest = list(self)
        if self.is_tensor:
            x = first(self.original)
        else:
            x = first(*[getattr(self, f"original{i}") for i in range(self.ntensors)])
        for module in rest:
            x = module(x)
        return x


def _unchanged(message: str, result: Any, dtype: Any, shape: Any) -> None:
    if not isinstance(result, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
    if result.dtype != dtype:
        raise ValueError(message.format("dtype", "dtype", dtype, "dtype", result.dtype))
    if result.shape != shape:
        raise ValueError(message.format("shape", "shape", shape, "shape", result.shape))


def _own_class(module: Module) -> None:
    """Give the module a class of its own, which gets the properties."""
    cls = type(module)

    def getstate(self: Module) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    def deepcopy(self: Module, memo: dict) -> Module:
        if id(self) in memo:
            return memo[id(self)]
        replica = memo[id(self)] = self.__new__(type(self))
        replica.__setstate__(copy.deepcopy(Module.__getstate__(self), memo))
        return replica

    body: dict[str, Any] = {"__getstate__": getstate}
    if not hasattr(cls, "__deepcopy__"):
        body["__deepcopy__"] = deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), body)


def _add_property(module: Module, tensor_name: str) -> None:
    def get(self: Any) -> Tensor:
        parametrization = self.parametrizations[tensor_name]
        if not _cache_depth:
            return parametrization()
        key = (id(self), tensor_name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def assign(self: Any, value: Tensor) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(get, assign))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer of a module by ``parametrization`` from now on; returns the module.

    ``module.name`` becomes ``parametrization(module.parametrizations.name.original)``, anew at each use; assigning to
    it needs ``parametrization.right_inverse``. Registering again puts a parametrization after the others.

    Args:
        module: whose class is replaced by a subclass. tensor_name: which parameter or buffer.
        parametrization: takes what is trained and gives the tensor.
        unsafe: allow another dtype or shape.

    Raises:
        ValueError: there is no such tensor, or the result does not fit.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.parametrize.register_parametrization.html

    >>> import tocha
    >>> class Symmetric(tocha.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).transpose(-1, -2)
    >>> layer = tocha.nn.utils.parametrize.register_parametrization(tocha.nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_on_top(getattr(module, tensor_name), parametrization, tensor_name)
        existing: Any = module.parametrizations[tensor_name]
        existing.append(parametrization)
        existing.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        # Made before anything is changed: where it refuses, the module is as it was.
        parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _own_class(module)
            module.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _check_on_top(before: Tensor, parametrization: Any, name: str) -> None:
    after = parametrization(before)
    _unchanged(
        "Registering a parametrization may not change the {} of the tensor, unless the `unsafe` flag is enabled.\n"
        f"module.{name}.{{}}: {{}}\nparametrization(module.{name}).{{}}: {{}}",
        after,
        before.dtype,
        before.shape,
    )
    inverse = getattr(parametrization, "right_inverse", None)
    if inverse is None:
        return
    try:
        back = inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for fact in ("dtype", "shape"):
        if getattr(back, fact) != getattr(before, fact):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {fact} as module.{name}, "
                f"unless the `unsafe` flag is enabled.\nmodule.{name}.{fact}: {getattr(before, fact)}\n"
                f"returned {fact}: {getattr(back, fact)}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the tensor of that name, or any where None, is parametrized."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parametrized tensor an ordinary one again; returns the module.

    Args:
        module: whose tensor. tensor_name: which.
        leave_parametrized: with the values that it has now; otherwise with those of ``original``.

    Raises:
        ValueError: it is not parametrized, or is made of several tensors and is not to be left as it is.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations: Any = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with tocha.no_grad():
                _set(original, getattr(module, tensor_name))
    elif leave_parametrized:
        tensor = getattr(module, tensor_name)
        original = Parameter(tensor) if tensor.requires_grad else tensor
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that the module had before anything was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give another module the same parametrizations and the tensors that they are computed from; returns that module.

    Args:
        from_module, to_module: of the same kind. tensor_name: which tensor; all parametrized ones where None.
    """
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        theirs: Any = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in theirs:
            register_parametrization(to_module, name, parametrization)
        ours: Any = to_module.parametrizations[name]
        for original in ["original"] if theirs.is_tensor else [f"original{i}" for i in range(theirs.ntensors)]:
            setattr(ours, original, getattr(theirs, original))
    return to_module
