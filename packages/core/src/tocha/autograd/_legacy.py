"""Names that old programs use: ``Variable``, ``NestedIOFunction``, and switches of PyTorch's engine."""

from __future__ import annotations

import contextvars
from typing import Any

from .._core.grad_mode import _Context
from .._core.tensor import Tensor
from .function import Function


class VariableMeta(type):
    """Every tensor is an instance of ``Variable``."""

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """``Variable(data)`` is the tensor ``data`` without its history; tensors and variables are one since PyTorch
    0.4."""

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: Any = None) -> Tensor:  # type: ignore[misc]
        from .._ops.creation import empty

        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)


class NestedIOFunction(Function):
    """A function of nested lists and tuples of tensors: subclasses write ``forward_extended`` and
    ``backward_extended``.

    Kept for old programs; new ones use :class:`Function`.
    """

    _ctx: Any
    _outputs: Any
    _saved_spec: Any

    def __call__(self, *input: Any) -> Any:
        from ..func._tree import flatten, unflatten

        leaves, spec = flatten(input)
        outer = self

        class Flat(Function):
            @staticmethod
            def forward(ctx: Any, *values: Any) -> tuple:
                outer._ctx = ctx
                found, outer._outputs = flatten(outer.forward_extended(*unflatten(values, spec)))
                return tuple(found)

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> tuple:
                return tuple(flatten(outer.backward_extended(*unflatten(grads, outer._outputs)))[0])

        return unflatten(Flat.apply(*leaves), self._outputs)

    def save_for_backward(self, *values: Any) -> None:
        """Keep nested tensors for ``backward_extended``."""
        from ..func._tree import flatten

        leaves, self._saved_spec = flatten(values)
        self._ctx.save_for_backward(*leaves)

    @property
    def saved_tensors(self) -> tuple:
        """What ``save_for_backward`` kept, nested as it was."""
        from ..func._tree import unflatten

        return unflatten(self._ctx.saved_tensors, self._saved_spec)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say that ``forward_extended`` wrote to these inputs."""
        self._ctx.mark_dirty(*tensors)

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say that these outputs have no gradient."""
        self._ctx.mark_non_differentiable(*tensors)

    def forward_extended(self, *input: Any) -> Any:
        """The function; written by the subclass."""
        raise NotImplementedError

    def backward_extended(self, *grad_output: Any) -> Any:
        """Its gradient; written by the subclass."""
        raise NotImplementedError


class _Switch(_Context):
    """A setting that takes effect at once, or for a ``with`` block, or while a function runs."""

    _state: contextvars.ContextVar[bool]

    def __init__(self, mode: bool = True) -> None:
        self.mode, self.prev = mode, self._state.get()
        self._state.set(mode)

    def _again(self) -> _Switch:
        return type(self)(self.mode)

    def __call__(self, fn: Any) -> Any:
        self._state.set(self.prev)
        return super().__call__(fn)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self._state.set(self.prev)


class set_multithreading_enabled(_Switch):
    """Whether PyTorch's backward may use threads of its own. Backward always runs on the calling thread here: kept,
    without effect."""

    _state = contextvars.ContextVar("multithreading", default=True)


class enforce_grad_layout_policy(_Switch):
    """Whether PyTorch copies a gradient to give it the strides of its parameter. Gradients keep the layout that the
    rule gave them here, so that the setting is kept, without effect.
    """  # fmt: skip

    _state = contextvars.ContextVar("grad_layout", default=True)
