"""Backward hooks of modules: identity functions at a module's entrance and exit that report the gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tocha
from tocha._core.tensor import Tensor
from tocha.autograd import Function

from ._hooks import BoundHook

if TYPE_CHECKING:
    from .module import Module


class BackwardHookFunction(Function):
    """Identity that hands the gradients flowing through it to ``report``, which may replace them."""

    @staticmethod
    def forward(ctx: Any, report: Callable[[tuple], tuple], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.report = report
        ctx.needed = [t.requires_grad for t in tensors]
        ctx.mark_non_differentiable(*[t for t in tensors if not t.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple:
        wanted = tuple([g if needed else None for g, needed in zip(grads, ctx.needed, strict=True)])
        return (None, *ctx.report(wanted))


class BackwardHooks:
    """The backward hooks of one call of a module, from its entrance to its exit."""

    def __init__(self, module: Module, hooks: list[Callable], pre_hooks: list[Callable]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: tuple | None = None
        self.inputs: list[int] | None = None  # positions of the tensors among the arguments; None: no gradient wanted
        self.n_inputs = 0

    def watch_inputs(self, args: tuple) -> tuple:
        self.n_inputs = len(args)
        args, self.inputs = watched(args, self.entrance)
        return args

    def watch_outputs(self, result: Any) -> Any:
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
                stacklevel=5,
            )
        if isinstance(result, tuple):
            return watched(result, self.exit)[0]
        return watched((result,), self.exit)[0][0]

    def exit(self, grads: tuple, positions: list[int], size: int) -> tuple:
        """Gradients of the outputs have arrived: the pre-hooks' turn."""
        outputs = scattered(grads, positions, size)
        for hook in self.pre_hooks:
            replaced = hook(self.module, outputs)
            if replaced is None:
                continue
            if len(replaced) != size:
                raise RuntimeError(
                    f"Backward pre hook returned an invalid number of grad_output, got {len(replaced)}, but expected "
                    f"{size}"
                )
            outputs = replaced
        self.grad_outputs = outputs
        if self.inputs is None:
            self.without_inputs(outputs)
        return tuple([outputs[i] for i in positions])

    def without_inputs(self, outputs: tuple) -> None:
        if self.hooks:
            warnings.warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs since no "
                "inputs require gradients. See "
                "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.register_full_backward_hook for more details.",
                stacklevel=6,
            )
        for hook in self.hooks:
            returned = hook(self.module, (None,) * self.n_inputs, outputs)
            if returned is not None and not (isinstance(returned, tuple) and all(g is None for g in returned)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for "
                    "all gradients."
                )
        self.grad_outputs = None

    def entrance(self, grads: tuple, positions: list[int], size: int) -> tuple:
        """Gradients of the inputs have been computed: the hooks' turn."""
        if self.grad_outputs is None:  # the gradient did not come through the module's output
            return grads
        inputs = scattered(grads, positions, size)
        for hook in self.hooks:
            replaced = hook(self.module, inputs, self.grad_outputs)
            if replaced is None:
                continue
            if len(replaced) != size:
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(replaced)}, but expected {size}"
                )
            inputs = replaced
        self.grad_outputs = None
        return tuple([inputs[i] for i in positions])


def scattered(values: tuple, positions: list[int], size: int) -> tuple:
    full: list[Any] = [None] * size
    for position, value in zip(positions, values, strict=True):
        full[position] = value
    return tuple(full)


def watched(values: tuple, report: Callable[[tuple, list[int], int], tuple]) -> tuple[tuple, list[int] | None]:
    """``values`` with its tensors led through the identity, and their positions (None: no gradient will flow)."""
    positions = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not (tocha.is_grad_enabled() and any(values[i].requires_grad for i in positions)):
        return values, None
    size = len(values)
    outputs = BackwardHookFunction.apply(lambda grads: report(grads, positions, size), *[values[i] for i in positions])
    led = list(values)
    for position, output in zip(positions, outputs, strict=True):
        led[position] = output
    return (tuple(led) if type(values) is tuple else type(values)(*led)), positions


# ---------------------------------------------------------------- the older form

_DEPRECATED = "Using {} is deprecated and will be removed in future versions. This hook will be missing {}."
_INSTEAD = " Please use register_full_backward_hook to get the documented behavior."


def register_on_grad_fn(module: Module, hooks: list[Callable], args: tuple, result: Any) -> None:
    """Non-full backward hooks: they see the last operation of the module only."""
    first = result
    while not isinstance(first, Tensor):
        first = next(v for v in first.values() if isinstance(v, Tensor)) if isinstance(first, dict) else first[0]
    grad_fn = first.grad_fn
    if grad_fn is None:
        return
    for hook in hooks:
        grad_fn.register_hook(BoundHook(hook, module))
    problem = _incomplete(args, result, grad_fn)
    if problem is not None:
        warnings.warn(problem, FutureWarning, stacklevel=5)


def _incomplete(args: tuple, result: Any, grad_fn: Any) -> str | None:
    """Why a non-full hook does not see all the gradients of this call, or None where it does."""
    outputs = (result,) if isinstance(result, Tensor) else result
    if not (isinstance(outputs, tuple) and all(isinstance(r, Tensor) for r in outputs)):
        what = "non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors"
        return _DEPRECATED.format(what, "some of the grad_output") + _INSTEAD
    if not all(isinstance(a, Tensor) for a in args):
        what = "non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of Tensors"
        return _DEPRECATED.format(what, "some of the grad_input") + _INSTEAD
    makers = {r.grad_fn for r in outputs if r.grad_fn is not None}
    if not makers or (len(makers) == 1 and grad_fn not in makers):
        what = "a non-full backward hook when outputs are nested in python data structure"
        return _DEPRECATED.format(what, "some grad_output")
    if len(makers) > 1:
        what = "a non-full backward hook when outputs are generated by different autograd Nodes"
        return _DEPRECATED.format(what, "some grad_output") + _INSTEAD
    if {a.grad_fn for a in args if a.grad_fn is not None} != {node for node, _ in grad_fn.next_functions}:
        what = "a non-full backward hook when the forward contains multiple autograd Nodes"
        return _DEPRECATED.format(what, "some grad_input") + _INSTEAD
    return None
