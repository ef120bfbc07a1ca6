"""``state_dict`` and ``load_state_dict`` of modules."""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import tocha
from tocha._core.tensor import Tensor
from tocha.nn.parameter import Parameter, is_lazy

if TYPE_CHECKING:
    from .module import Module

EXTRA_STATE = "_extra_state"


class IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What ``load_state_dict`` returns: keys that the module has and the state lacks, and the reverse."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


IncompatibleKeys.__qualname__ = IncompatibleKeys.__name__ = "_IncompatibleKeys"


class StateDictMethods:
    """The part of ``Module`` that writes and reads its state."""

    # Saved beside the state, so that ``_load_from_state_dict`` of a later version can convert an older state.
    _version: int = 1

    def get_extra_state(self) -> Any:
        """Override to put more than tensors into ``state_dict``: return what is to be saved (something picklable)."""
        raise RuntimeError(
            "Module.get_extra_state() has to be overridden before it is called: it returns what set_extra_state() "
            "gets back"
        )

    def set_extra_state(self, state: Any) -> None:
        """Override to read what ``get_extra_state`` wrote; called by ``load_state_dict``."""
        raise RuntimeError("Module.set_extra_state() has to be overridden before it is called")

    def _has_own(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(StateDictMethods, name)

    # ------------------------------------------------------------ writing

    def state_dict(
        self: Any, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Any]:
        """All parameters and persistent buffers of the module and its children, by their dotted names.

        The tensors share memory with the module's: clone them for a snapshot.

        Args:
            destination: a mapping to write into and return; made where None.
            prefix: put before each name.
            keep_vars: give the parameters themselves instead of detached tensors.

        Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Module.html#torch.nn.Module.state_dict

        >>> list(tocha.nn.Linear(2, 3).state_dict())
        ['weight', 'bias']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = given.get("destination") if destination is None else destination
            prefix = prefix or given.get("prefix", "")
            keep_vars = keep_vars or given.get("keep_vars", False)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            returned = hook(self, destination, prefix, metadata)
            if returned is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = returned
        return destination

    def _save_to_state_dict(self: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Write this module's own state (not its children's) into ``destination``."""
        for name, value in self._parameters.items():
            if value is not None:
                destination[prefix + name] = value if keep_vars else value.detach()
        for name, value in self._buffers.items():
            if value is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = value if keep_vars else value.detach()
        if self._has_own("get_extra_state"):
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    # ------------------------------------------------------------ reading

    def load_state_dict(
        self: Any, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy the state of a module with the same structure into this one.

        Args:
            state_dict: what ``state_dict()`` gave.
            strict: refuse missing and unexpected keys; otherwise they are only reported.
            assign: put the given tensors in the place of the module's, keeping their dtype and device, instead of
                copying their values. An optimizer made before this still holds the old parameters.

        Returns:
            a named tuple ``(missing_keys, unexpected_keys)``.

        Raises:
            TypeError: ``state_dict`` is not a mapping.
            RuntimeError: a shape differs, or with ``strict`` a key; one message that lists them all.

        Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict

        >>> a, b = tocha.nn.Linear(2, 3), tocha.nn.Linear(2, 3)
        >>> b.load_state_dict(a.state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state: Any = OrderedDict(state_dict)  # hooks may change it
        if metadata is not None:
            state._metadata = metadata
        keys = IncompatibleKeys([], [])
        errors: list[str] = []
        _load(self, state, "", metadata, assign, keys, errors)
        if strict:
            for label, names in (("Unexpected", keys.unexpected_keys), ("Missing", keys.missing_keys)):
                if names:
                    listed = ", ".join(f'"{name}"' for name in names)
                    errors.insert(0, f"{label} key(s) in state_dict: {listed}. ")
        if errors:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(errors))
            )
        return keys

    def _load_from_state_dict(
        self: Any,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own entries (not its children's), and note what does not fit in the three lists.

        Subclasses override it to read the states of older versions: ``local_metadata["version"]`` is the version
        that wrote the state.
        """
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = {name: value for name, value in self._parameters.items() if value is not None}
        for name, value in self._buffers.items():
            if value is not None and name not in self._non_persistent_buffers_set:
                own[name] = value
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, value in own.items():
            if prefix + name in state_dict:
                _load_one(self, name, value, prefix + name, state_dict[prefix + name], assign, error_msgs)
            elif strict:
                missing_keys.append(prefix + name)
        extra = prefix + EXTRA_STATE
        if self._has_own("set_extra_state"):
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if not strict:
            return
        for key in state_dict:
            if key.startswith(prefix) and key != extra:
                first, dot, _ = key[len(prefix) :].partition(".")
                if first not in (self._modules if dot else own):
                    unexpected_keys.append(key)


def _load(
    module: Any, state: dict, prefix: str, metadata: Any, assign: bool, keys: IncompatibleKeys, errors: list[str]
) -> None:
    local = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local["assign_to_params_buffers"] = assign
    module._load_from_state_dict(state, prefix, local, True, keys.missing_keys, keys.unexpected_keys, errors)
    for name, child in module._modules.items():
        if child is not None:
            inner = f"{prefix}{name}."
            part = {key: value for key, value in state.items() if key.startswith(inner)}
            _load(child, part, inner, metadata, assign, keys, errors)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, "
                "if incompatible_keys need to be modified, it should be done inplace."
            )


def _load_one(module: Module, name: str, own: Tensor, key: str, given: Any, assign: bool, errors: list[str]) -> None:
    if not isinstance(given, Tensor):
        errors.append(
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint '
            f"but received {type(given)}"
        )
        return
    lazy = is_lazy(own)
    if not lazy:
        # Scalars were saved with one dimension before PyTorch 0.4.
        if own.dim() == 0 and tuple(given.shape) == (1,):
            given = given[0]
        if given.shape != own.shape:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in "
                f"current model is {own.shape}."
            )
            return
    if own.is_meta and not given.is_meta and not assign:
        warnings.warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, "
            "which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their "
            "corresponding key in the module instead of copying them in place?)",
            stacklevel=6,
        )
    try:
        with tocha.no_grad():
            if not assign:
                own.copy_(given)
                return
            if isinstance(own, Parameter):
                if not isinstance(given, Parameter):
                    given = Parameter(given, requires_grad=own.requires_grad)
                else:
                    given.requires_grad_(own.requires_grad)
            setattr(module, name, given)
    except Exception as error:
        errors.append(
            f'While copying the parameter named "{key}", whose dimensions in the model are {own.size()} and whose '
            f"dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}."
        )
