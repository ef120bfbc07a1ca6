"""Hooks of modules: where they are kept, how they are registered, and a call that runs them."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tocha.utils.hooks import RemovableHandle

if TYPE_CHECKING:
    from .module import Module

# Tables that a call of the module has to look at; the rest concern state_dict only.
CALL_TABLES = frozenset((
    "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs", "_backward_hooks", "_backward_pre_hooks",
))  # fmt: skip
TABLES = CALL_TABLES | {
    "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
}  # fmt: skip


class _Tables:
    """One set of call tables: every module's own, or the process-wide one."""

    def __init__(self) -> None:
        for name in CALL_TABLES:
            setattr(self, name, OrderedDict())
        self.buffer_registration: OrderedDict[int, Callable] = OrderedDict()
        self.module_registration: OrderedDict[int, Callable] = OrderedDict()
        self.parameter_registration: OrderedDict[int, Callable] = OrderedDict()
        self._is_full_backward_hook: bool | None = None

    def calls(self) -> bool:
        """Whether any module's call has to look here; where not, modules go back to their short path."""
        if _calls(self):
            return True
        from .module import Module

        Module._hooked = False
        return False


def _calls(owner: Any) -> bool:
    tables = owner.__dict__
    return any(
        [
            tables.get(name)
            for name in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
        ]
    )


GLOBAL: Any = _Tables()


def registered(hooks: OrderedDict[int, Callable], module: Module, name: str, value: Any) -> Any:
    """``value`` after the process-wide registration hooks, each of which may replace it."""
    for hook in hooks.values():
        output = hook(module, name, value)
        if output is not None:
            value = output
    return value


def add(
    owner: Any, table: str, hook: Callable, *, prepend: bool = False, options: dict[str, bool] | None = None
) -> RemovableHandle:
    """Enter ``hook`` in a table of a module (or of ``GLOBAL``), and in the tables of the options that are set."""
    hooks: OrderedDict[int, Callable] = getattr(owner, table)
    extra = [(getattr(owner, name), wanted) for name, wanted in (options or {}).items()]
    handle = RemovableHandle(hooks, extra_dict=[t for t, _ in extra])
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    for option, wanted in extra:
        if wanted:
            option[handle.id] = True
    return handle


def add_backward(owner: Any, hook: Callable, full: bool, prepend: bool = False) -> RemovableHandle:
    if owner._is_full_backward_hook is not None and owner._is_full_backward_hook is not full:
        where = "as a global Module hook" if owner is GLOBAL else "on a single Module"
        raise RuntimeError(
            f"Cannot use both regular backward hooks and full backward hooks {where}. Please use only one of them."
        )
    owner._is_full_backward_hook = full
    return add(owner, "_backward_hooks", hook, prepend=prepend)


class BoundHook:
    """A hook that gets its module as first argument, without keeping the module alive."""

    def __init__(self, hook: Callable, module: Module | None = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        self.module = None if module is None else weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.module is None:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        return {"hook": self.hook, "with_module": self.with_module, "module": self.module and self.module()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state["with_module"] and state["module"] is None:
            raise RuntimeError("You are trying to revive the hook of a dead Module!")
        self.hook, self.with_module = state["hook"], state["with_module"]
        self.module = weakref.ref(state["module"]) if self.with_module else None


# ---------------------------------------------------------------- the call


def call_with_hooks(module: Module, args: tuple, kwargs: dict[str, Any]) -> Any:
    """``module(*args, **kwargs)`` where hooks may be registered, on the module or for all modules.

    Order: forward pre-hooks, ``forward``, forward hooks, the global ones first each time. Hooks with
    ``always_call=True`` run also when something before them raised.
    """
    if not (GLOBAL.calls() or _calls(module)):
        return (module._compiled_call_impl or module.forward)(*args, **kwargs)
    call = _Call(module, args, kwargs)
    try:
        return call.run()
    except Exception:
        call.run_always_called()
        raise


class _Call:
    """One call of a module: what goes in, what comes out, and which hooks have run."""

    def __init__(self, module: Module, args: tuple, kwargs: dict[str, Any]) -> None:
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result: Any = None
        self.done: set[int] = set()

    def run(self) -> Any:
        module = self.module
        full, legacy = self.backward_hooks()
        pre = [*GLOBAL._backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
        self.run_pre_hooks()
        backward = None
        if full or pre:
            from ._backward_hooks import BackwardHooks

            backward = BackwardHooks(module, full, pre)
            self.args = backward.watch_inputs(self.args)
        forward = module._compiled_call_impl or module.forward
        self.result = forward(*self.args, **self.kwargs)
        for owner in (GLOBAL, module):
            for key, hook in tuple(owner._forward_hooks.items()):
                if key in owner._forward_hooks_always_called:
                    self.done.add(key)
                self.run_forward_hook(owner, key, hook)
        if backward is not None:
            self.result = backward.watch_outputs(self.result)
        if legacy:
            from ._backward_hooks import register_on_grad_fn

            register_on_grad_fn(module, legacy, self.args, self.result)
        return self.result

    def backward_hooks(self) -> tuple[list[Callable], list[Callable]]:
        full: list[Callable] = []
        legacy: list[Callable] = []
        for owner in (GLOBAL, self.module):
            (full if owner._is_full_backward_hook else legacy).extend(owner._backward_hooks.values())
        return full, legacy

    def run_pre_hooks(self) -> None:
        for owner in (GLOBAL, self.module):
            for key, hook in tuple(owner._forward_pre_hooks.items()):
                if key in owner._forward_pre_hooks_with_kwargs:
                    output = hook(self.module, self.args, self.kwargs)
                    if output is not None:
                        if not (isinstance(output, tuple) and len(output) == 2):
                            raise RuntimeError(
                                "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                                f"{output}."
                            )
                        self.args, self.kwargs = output
                else:
                    output = hook(self.module, self.args)
                    if output is not None:
                        self.args = output if isinstance(output, tuple) else (output,)

    def run_forward_hook(self, owner: Any, key: int, hook: Callable) -> None:
        if key in owner._forward_hooks_with_kwargs:
            output = hook(self.module, self.args, self.kwargs, self.result)
        else:
            output = hook(self.module, self.args, self.result)
        if output is not None:
            self.result = output

    def run_always_called(self) -> None:
        for owner in (GLOBAL, self.module):
            for key, hook in tuple(owner._forward_hooks.items()):
                if key not in owner._forward_hooks_always_called or key in self.done:
                    continue
                try:
                    self.run_forward_hook(owner, key, hook)
                except Exception as error:  # the first error is the one to show
                    kind = "global module" if owner is GLOBAL else "module"
                    warnings.warn(
                        f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced as "
                        f"another error was raised in forward: {error}",
                        stacklevel=4,
                    )


# ---------------------------------------------------------------- registration for one module


class HookMethods:
    """The part of ``Module`` that registers hooks. A hook's ``module`` argument is always the module itself."""

    _is_full_backward_hook: bool | None = None

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before each ``forward``; what it returns (if not None) replaces the arguments.

        Args:
            hook: ``hook(module, args) -> None | new args``, or with ``with_kwargs=True``
                ``hook(module, args, kwargs) -> None | (new_args, new_kwargs)``.
            prepend: run it before the hooks that are already there (global hooks still come first).
            with_kwargs: give the hook the keyword arguments too.

        Returns:
            a handle; ``handle.remove()`` takes the hook off.

        Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Module.html
        """
        options = {"_forward_pre_hooks_with_kwargs": with_kwargs}
        return add(self, "_forward_pre_hooks", hook, prepend=prepend, options=options)

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after each ``forward``; what it returns (if not None) replaces the
        output.

        Args:
            hook: ``hook(module, args, output)``, or with ``with_kwargs=True`` ``hook(module, args, kwargs, output)``.
            prepend: run it before the hooks that are already there (global hooks still come first).
            with_kwargs: give the hook the keyword arguments too.
            always_call: run it also where ``forward`` or an earlier hook raised (the output is then None).

        Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Module.html
        """
        options = {"_forward_hooks_with_kwargs": with_kwargs, "_forward_hooks_always_called": always_call}
        return add(self, "_forward_hooks", hook, prepend=prepend, options=options)

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the gradients of the module's outputs are there, before its backward.

        A returned tuple replaces ``grad_output`` for the backward of the module.
        """
        return add(self, "_backward_pre_hooks", hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the gradients of the module's inputs have been computed.

        Both are tuples with one entry a positional argument or output, None where it is not a tensor or needs no
        gradient. A returned tuple replaces ``grad_input`` for the rest of the backward pass.

        Raises:
            RuntimeError: the module already has hooks of ``register_backward_hook``.
        """
        return add_backward(self, hook, full=True, prepend=prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """PyTorch's older form, which sees the last operation only; use ``register_full_backward_hook``."""
        return add_backward(self, hook, full=False)

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before the module writes itself into a ``state_dict``."""
        return add(self, "_state_dict_pre_hooks", hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after the module and its children are in it.

        The hook changes ``state_dict`` in place and returns None.
        """
        hook._from_public_api = True  # type: ignore[attr-defined]
        return add(self, "_state_dict_hooks", hook)

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return add(self, "_state_dict_hooks", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)`` before
        loading.

        The hook changes ``state_dict`` and the lists in place, to rename the keys of an older version for example.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Callable, with_module: bool = False) -> RemovableHandle:
        return add(self, "_load_state_dict_pre_hooks", BoundHook(hook, self if with_module else None))  # type: ignore[arg-type]

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after the module and its children have loaded.

        ``incompatible_keys`` has the lists ``missing_keys`` and ``unexpected_keys``, to be changed in place: clearing
        both silences the strict check.
        """
        return add(self, "_load_state_dict_post_hooks", hook)


# ---------------------------------------------------------------- registration for all modules


def _add_global(table: str, hook: Callable, options: dict[str, bool] | None = None) -> RemovableHandle:
    from .module import Module

    Module._hooked = True
    return add(GLOBAL, table, hook, options=options)


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, args)`` before the ``forward`` of every module of the process."""
    return _add_global("_forward_pre_hooks", hook)


def register_module_forward_hook(
    hook: Callable, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the ``forward`` of every module of the process."""
    options = {"_forward_hooks_with_kwargs": with_kwargs, "_forward_hooks_always_called": always_call}
    return _add_global("_forward_hooks", hook, options)


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the backward of every module of the process."""
    return _add_global("_backward_pre_hooks", hook)


def _add_global_backward(hook: Callable, full: bool) -> RemovableHandle:
    from .module import Module

    handle = add_backward(GLOBAL, hook, full)
    Module._hooked = True
    return handle


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` after the backward of every module of the process."""
    return _add_global_backward(hook, full=True)


def register_module_backward_hook(hook: Callable) -> RemovableHandle:
    """PyTorch's older form of ``register_module_full_backward_hook``."""
    return _add_global_backward(hook, full=False)


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when any module registers a buffer; what it returns replaces the buffer."""
    return add(GLOBAL, "buffer_registration", hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when any module registers a submodule; what it returns replaces it."""
    return add(GLOBAL, "module_registration", hook)


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` when any module registers a parameter; what it returns replaces it."""
    return add(GLOBAL, "parameter_registration", hook)
