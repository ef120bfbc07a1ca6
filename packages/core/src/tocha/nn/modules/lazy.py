"""Modules whose input size the first forward pass decides."""

from __future__ import annotations

from typing import Any

from tocha.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """What lazy modules share: uninitialized parameters that the first call of the module gives their shape.

    A subclass creates ``UninitializedParameter`` members in its ``__init__`` and defines ``initialize_parameters``,
    which is called with the first call's arguments. Where ``cls_to_become`` is set, the module turns into that class
    after it.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.modules.lazy.LazyModuleMixin.html

    >>> import tocha
    >>> layer = tocha.nn.LazyConv2d(8, 3)
    >>> layer(tocha.zeros(1, 5, 4, 4)).shape
    tocha.Size([1, 8, 2, 2])
    >>> layer
    Conv2d(5, 8, kernel_size=(3, 3), stride=(1, 1))
    """

    cls_to_become: type | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        module: Any = self
        self._load_hook = module._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = module.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        module: Any = self
        for name, member in (*module._parameters.items(), *module._buffers.items()):
            if member is not None and name not in module._non_persistent_buffers_set:
                destination[prefix + name] = member if keep_vars or is_lazy(member) else member.detach()

    def _lazy_load_hook(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: Any,
        unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:
        """Give uninitialized members the shapes that are about to be loaded."""
        module: Any = self
        for name, member in (*module._parameters.items(), *module._buffers.items()):
            given = state_dict.get(prefix + name)
            if given is not None and member is not None and is_lazy(member) and not is_lazy(given):
                member.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes; the arguments are those of the first call."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer still waits for its shape."""
        module: Any = self
        return any([is_lazy(member) for member in (*module._parameters.values(), *module._buffers.values())])

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        delattr(module, "_initialize_hook")
        delattr(module, "_load_hook")
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become
