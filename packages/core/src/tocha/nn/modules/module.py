"""``Module``, the base of all layers and networks."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from tocha._core.tensor import Tensor
from tocha.nn.parameter import Buffer, Parameter

from ._convert import ConvertMethods
from ._hooks import (
    CALL_TABLES,
    GLOBAL,
    TABLES,
    HookMethods,
    call_with_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)  # fmt: skip
from ._members import Members
from ._state_dict import StateDictMethods

__all__ = [
    "Module", "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]  # fmt: skip

Self = TypeVar("Self", bound="Module")
_MEMBER_TABLES = ("_parameters", "_buffers", "_modules")


def _forward_unimplemented(self: Module, *input: Any) -> None:
    """Subclasses define what a call of the module computes."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


def typename(value: Any) -> str:
    """The type's name with its module, as PyTorch's messages print it; builtins without."""
    if isinstance(value, Tensor):
        return value.type()
    kind = value if isinstance(value, type) else type(value)
    return kind.__qualname__ if kind.__module__ in ("builtins", "") else f"{kind.__module__}.{kind.__qualname__}"


def indent(text: str) -> str:
    """``text`` with two spaces before each line but the first and the blank ones."""
    first, *rest = text.split("\n")
    return "\n".join([first, *("  " + line if line.strip() else "" for line in rest)])


class Module(HookMethods, StateDictMethods, ConvertMethods):
    """The base class of all neural network modules.

    A subclass calls ``super().__init__()``, assigns parameters, buffers and submodules to attributes, and defines
    ``forward``. Assigned ``Parameter``, ``Buffer`` and ``Module`` objects register themselves: they appear in
    ``parameters()``, ``state_dict()`` and ``to()``.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Module.html

    >>> import tocha
    >>> class Net(tocha.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer1, self.layer2 = tocha.nn.Linear(2, 4), tocha.nn.Linear(4, 1)
    ...     def forward(self, x):
    ...         return self.layer2(tocha.relu(self.layer1(x)))
    >>> Net()
    Net(
      (layer1): Linear(in_features=2, out_features=4, bias=True)
      (layer2): Linear(in_features=4, out_features=1, bias=True)
    )
    """

    dump_patches: bool = False
    # Whether Module.__init__ calls the next class's __init__ (for multiple inheritance).
    call_super_init: bool = False
    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]
    _compiled_call_impl: Callable | None = None
    # True on an instance once one of its call hooks' tables exists, and on the class once there are global hooks.
    _hooked: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                name = next(iter(kwargs))
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{name}'")
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        own = self.__dict__
        own["training"] = True
        own["_non_persistent_buffers_set"] = set()
        for name in _MEMBER_TABLES:
            own[name] = Members(self)
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # ------------------------------------------------------------ call

    forward: Callable[..., Any] = _forward_unimplemented

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooked:
            return call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile ``forward`` in place: later calls run ``tocha.compile(self.forward, *args, **kwargs)``."""
        import tocha

        compile_function: Any = getattr(tocha, "compile", None)
        if compile_function is None:
            raise NotImplementedError("tocha.compile is not in this version: call the module without compile()")
        self._compiled_call_impl = compile_function(self.forward, *args, **kwargs)
        self._hooked = True

    # ------------------------------------------------------------ registration

    def _check_name(self, kind: str, name: Any, table: str) -> None:
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if name not in self.__dict__[table] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, to be reached as the attribute ``name``.

        Args:
            name: a string without dots.
            param: None registers the name as absent: it is left out of ``state_dict`` and ``parameters()``.

        Raises:
            KeyError: the name is taken, empty or has a dot. TypeError: not a Parameter. ValueError: not a leaf.
        """
        self._check_name("parameter", name, "_parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None "
                    "required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                    f"explicitly. To express '{name}' as a function of another Tensor, compute the value in the "
                    "forward() method."
                )
            param = registered(GLOBAL.parameter_registration, self, name, param)
        self._own("_parameters")[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is part of the module's state but not trained, such as a running mean.

        Args:
            name: a string without dots.
            tensor: None registers the name as absent.
            persistent: whether it is part of ``state_dict``.

        Raises:
            KeyError: the name is taken, empty or has a dot. TypeError: not a tensor.
        """
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._own("_buffers")[name] = registered(GLOBAL.buffer_registration, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child, to be reached as the attribute ``name``.

        Raises:
            KeyError: the name is taken, empty or has a dot. TypeError: not a Module.
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._own("_modules")[name] = registered(GLOBAL.module_registration, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Alias of ``add_module``."""
        self.add_module(name, module)

    # ------------------------------------------------------------ attributes

    def __getattr__(self, name: str) -> Any:
        # Python comes here only after a failed lookup: members are mirrored in __dict__ (see Members).
        own = self.__dict__
        if "_modules" in own:
            for table in _MEMBER_TABLES:
                if name in own[table]:
                    return own[table][name]
            if name in TABLES:
                # A hook table comes to life when somebody reaches for it, and from then on calls look at it.
                if name in CALL_TABLES:
                    own["_hooked"] = True
                return own.setdefault(name, OrderedDict())
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        special = isinstance(value, (Tensor, Module))
        if "_modules" not in own:
            if special and isinstance(value, (Parameter, Module)):
                kind = "module" if isinstance(value, Module) else "parameters"
                raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
            object.__setattr__(self, name, value)
        elif special and isinstance(value, Parameter):
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif name in own["_parameters"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, None)
        elif special and isinstance(value, Module):
            self._forget(name, "_modules")
            self._own("_modules")[name] = registered(GLOBAL.module_registration, self, name, value)
        elif name in own["_modules"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            self._own("_modules")[name] = registered(GLOBAL.module_registration, self, name, None)
        elif name in own["_buffers"] or (special and isinstance(value, Buffer)):
            self._assign_buffer(name, value)
        elif name in _MEMBER_TABLES:
            for member in own[name]:
                own.pop(member, None)
            own[name] = Members(self, value)
        else:
            object.__setattr__(self, name, value)

    def _own(self, table: str) -> Members:
        """One of the tables; with a copied ``__dict__`` it came from another module, and is replaced by one of ours."""
        members = self.__dict__[table]
        if type(members) is not Members or members.owner() is not self:
            members = self.__dict__[table] = Members(self, members)
        return members

    def _forget(self, name: str, but: str) -> None:
        """Make room for a member of another kind with this name."""
        own = self.__dict__
        for table in _MEMBER_TABLES:
            if table != but and name in own[table]:
                del self._own(table)[name]
        if name not in own[but]:
            own.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _assign_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            persistent: bool = value.persistent  # type: ignore[attr-defined]
        else:
            persistent = name not in self._non_persistent_buffers_set
        if type(self).register_buffer is Module.register_buffer:
            self.register_buffer(name, value, persistent)
            return
        import inspect

        if "persistent" in inspect.signature(self.register_buffer).parameters:
            self.register_buffer(name, value, persistent)
        elif persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements register_buffer() without "
                "the persistent argument is not allowed."
            )

    def __delattr__(self, name: str) -> None:
        for table in _MEMBER_TABLES:
            if name in self.__dict__.get(table, ()):
                del self._own(table)[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[0].isdigit())

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        for table in _MEMBER_TABLES:
            for name in state.get(table, ()):
                state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = self.__dict__
        own.update(state)
        own.setdefault("_non_persistent_buffers_set", set())
        for table in _MEMBER_TABLES:
            own[table] = Members(self, own.get(table, ()))

    # ------------------------------------------------------------ paths

    def get_submodule(self, target: str) -> Module:
        """The submodule at a dotted path; ``""`` is the module itself.

        Raises:
            AttributeError: the path does not exist, or something on it is not a Module.
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put ``module`` at a dotted path.

        Args:
            target: the path; its parent has to exist.
            strict: only replace: refuse a path at which nothing is.

        Raises:
            ValueError: ``target`` is empty or ``module`` is not a Module. AttributeError: see ``get_submodule``.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if hasattr(parent, name):
            if not isinstance(getattr(parent, name), Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        elif strict:
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        setattr(parent, name, module)

    def _get_member(self, target: str) -> tuple[Module, str, Any]:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return module, name, getattr(module, name)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path.

        Raises:
            AttributeError: the path does not exist or is not a Parameter.
        """
        _, name, value = self._get_member(target)
        if not isinstance(value, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return value

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path.

        Raises:
            AttributeError: the path does not exist or is not a buffer.
        """
        module, name, value = self._get_member(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return value

    # ------------------------------------------------------------ traversal

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once; with ``recurse`` those of the children too. This is what optimizers take."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Pairs of dotted name and parameter; one that is shared comes once unless ``remove_duplicate=False``."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once; with ``recurse`` those of the children too."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Pairs of dotted name and buffer; one that is shared comes once unless ``remove_duplicate=False``."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """The direct children, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Pairs of name and direct child, each child once."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """The module itself and all modules below it, depth first."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Pairs of dotted path and module, itself first (with the path ``""``), depth first."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def apply(self: Self, fn: Callable[[Module], Any]) -> Self:
        """Call ``fn`` on every module below this one and then on itself; used to initialise weights."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # ------------------------------------------------------------ modes and gradients

    def train(self: Self, mode: bool = True) -> Self:
        """Set training mode (dropout drops, batch norm counts), or with ``mode=False`` evaluation mode."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: Self) -> Self:
        """Set evaluation mode: the same as ``train(False)``."""
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Say for all parameters whether they record operations; ``False`` freezes the module."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or with ``set_to_none=False`` fill them with zeros."""
        if self.__dict__.get("_is_replica", False):
            warnings.warn(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The parameters are "
                "copied (in a differentiable manner) from the original module. This means they are not leaf nodes in "
                "autograd and so don't accumulate gradients. If you need gradients in your forward method, consider "
                "using autograd.grad instead.",
                stacklevel=2,
            )
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
            else:
                if param.grad.grad_fn is not None:
                    param.grad.detach_()
                else:
                    param.grad.requires_grad_(False)
                param.grad.zero_()

    # ------------------------------------------------------------ printing

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Override to add to what ``repr`` prints between the parentheses."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        if not self._modules:
            if "\n" not in extra:
                return f"{self._get_name()}({extra})"
            lines = extra.split("\n")
        else:
            lines = extra.split("\n") if extra else []
            lines += [f"({name}): {indent(repr(module))}" for name, module in self._modules.items()]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"
