"""The tensor: a raw array, its place in the autograd graph, and its aliases. Methods are attached by the operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import arrays, dtypes
from .devices import device
from .views import edge, sync

if TYPE_CHECKING:  # what the operators attach, written down for type checkers and editors
    from .attached import Attached
else:
    Attached = object

# bits of Tensor._flags, tested together on every operation: 0 is a plain tensor
REQUIRES_GRAD, VIEW, INFERENCE, HOOKED, MULTI_VIEW = 1, 2, 4, 8, 16


class Tensor(Attached):
    """A multi-dimensional array with automatic differentiation, as ``torch.Tensor``.

    Create one with ``tocha.tensor``, ``tocha.zeros`` and their like.
    """

    __slots__ = (
        "_data",
        "_flags",
        "_node",
        "_counter",
        "_base",
        "_view",
        "_generation",
        "_grad",
        "__dict__",
        "__weakref__",
    )

    _data: Any
    _flags: int
    _node: Any
    _counter: Any
    _base: Any
    _view: Any
    _generation: int
    _grad: Any
    # NumPy's operators give way to ours
    __array_priority__ = 1000

    def __new__(cls, *args: Any, **kwargs: Any) -> Tensor:
        from .._ops.from_data import legacy_constructor

        return legacy_constructor(cls, *args, **kwargs)

    # ---- facts

    @property
    def shape(self) -> Any:
        """The sizes, as a ``Size``."""
        return Size(self._data.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._data.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        """The type of the elements."""
        return dtypes.of(self._data.dtype)

    @property
    def device(self) -> device:
        """Where the memory is."""
        return arrays.device_of(self._data)

    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded; may be set on a leaf (see ``requires_grad_``)."""
        if self._base is not None:
            sync(self)
        return self._flags & 1 == 1

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Record operations on this tensor from now on, or no longer; returns it.

        Raises:
            RuntimeError: the dtype is not floating or complex, or a non-leaf is told to stop.
        """
        if requires_grad:
            if not dtypes.is_differentiable_np(self._data.dtype):
                raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
            if self._flags & INFERENCE:
                raise RuntimeError(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. "
                    "Make a clone of it first"
                )
            self._flags |= 1
        elif self._flags & 1:
            if self.grad_fn is not None:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable "
                    "in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
                )
            self._flags &= ~1
        return self

    @property
    def grad(self) -> Tensor | None:
        """The gradient that ``backward`` accumulated, or None."""
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
                )
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value._data.dtype != self._data.dtype:
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{value.dtype}' to a tensor with dtype "
                    f"'{self.dtype}'. Please ensure that the gradient and the tensor have the same dtype"
                )
            if type(value._data) is not type(self._data):
                raise RuntimeError(
                    f"attempting to assign a gradient with device type '{value.device}' to a tensor with device type "
                    f"'{self.device}'. Please ensure that the gradient and the tensor are on the same device"
                )
            if value._data.shape != self._data.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(value._data.shape)}' to a tensor of size "
                    f"'{list(self._data.shape)}'. Please ensure that the gradient and the tensor are the same size"
                )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_fn(self) -> Any:
        """The node that computed this tensor, or None for a leaf."""
        if self._base is not None:
            sync(self)
        return self._node

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation computed this tensor: ``backward`` fills the ``grad`` of such tensors only."""
        return self.grad_fn is None

    @property
    def _version(self) -> int:
        return self._counter[0] if self._counter else 0

    def _is_view(self) -> bool:
        return self._base is not None

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode."""
        return bool(self._flags & INFERENCE)

    @property
    def data(self) -> Tensor:
        """The same memory without history and with a version counter of its own: writes go unseen by autograd."""
        t = wrap(self._data)
        return t

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        self._data = value._data

    # ---- autograd

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Accumulate the gradients of this tensor into the leaves' ``grad``.

        Args:
            gradient: gradient of the result with respect to this tensor; may be left out for one element.
            retain_graph: keep the graph for another backward (default: ``create_graph``).
            create_graph: record the backward pass, for higher derivatives.
            inputs: accumulate into these tensors only.

        Example:
            >>> import tocha
            >>> x = tocha.tensor([1.0, 2.0], requires_grad=True)
            >>> (x * x).sum().backward()
            >>> x.grad
            tensor([2., 4.])
        """
        from . import engine

        engine.backward(self, gradient, retain_graph, create_graph, inputs)

    def detach(self) -> Tensor:
        """The same memory without history; writes are still seen by autograd's version check."""
        if self._counter is None:
            self._counter = [0, 0]
        t = wrap(self._data)
        t._counter = self._counter
        return t

    def detach_(self) -> Tensor:
        """Make this tensor a leaf, in place."""
        if self._base is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead")
        self._node = None
        self._flags &= ~1
        return self

    def register_hook(self, hook: Any) -> Any:
        """Call ``hook(grad)`` when the gradient of this tensor is known; what it returns replaces the gradient.

        Returns a handle with ``remove()``.
        """
        from .hooks import add_tensor_hook

        return add_tensor_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Any) -> Any:
        """Call ``hook(tensor)`` after a leaf's ``grad`` has been accumulated."""
        from .hooks import add_post_accumulate_hook

        return add_post_accumulate_hook(self, hook)

    def retain_grad(self) -> None:
        """Keep ``grad`` of this tensor although it is not a leaf."""
        from .hooks import retain_grad

        retain_grad(self)

    @property
    def retains_grad(self) -> bool:
        """Whether ``retain_grad`` was called on a tensor that is not a leaf."""
        from .hooks import retains_grad

        return retains_grad(self)

    # ---- Python

    def __len__(self) -> int:
        shape = self._data.shape
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return shape[0]

    def __bool__(self) -> bool:
        data = self._data
        if data.size != 1:
            if data.size == 0:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item())

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        from .repr import tensor_repr

        return tensor_repr(self)

    def __format__(self, spec: str) -> str:
        if not self._data.shape and spec:
            return self.item().__format__(spec)
        return object.__format__(self, spec) if not spec else str(self).__format__(spec)

    def __deepcopy__(self, memo: dict) -> Tensor:
        from .copying import deep_copy

        return deep_copy(self, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        from .copying import reduce_tensor

        return reduce_tensor(self)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What PyTorch calls when one of its functions meets our tensor: our function of the same name runs instead."""
        from .interop import counterpart

        return counterpart(func)(*args, **(kwargs or {}))


class Size(tuple):
    """The sizes of a tensor: a tuple that prints and slices as PyTorch's."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements."""
        n = 1
        for d in self:
            n = n * d
        return n

    def __repr__(self) -> str:
        return f"tocha.Size([{', '.join(map(repr, self))}])"

    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return Size(item) if type(index) is slice else item

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, n: Any) -> Size:
        return Size(tuple.__mul__(self, n))

    __rmul__ = __mul__


new = object.__new__


def wrap(raw: Any, node: Any = None) -> Tensor:
    """A plain tensor around a raw array, without a copy; ``node`` is its history."""
    t = new(Tensor)
    t._data = raw
    t._node = node
    t._flags = 0 if node is None else 1
    t._counter = t._base = t._view = t._grad = None
    return t


def as_array(result: Any) -> Any:
    """NumPy's 0-d results are scalars; a tensor always holds an array."""
    return np.asarray(result) if isinstance(result, np.generic) else result


def initialise(t: Tensor, raw: Any, requires_grad: bool = False) -> Tensor:
    """Fill the slots of a tensor (or an instance of a subclass) made with ``object.__new__``."""
    t._data = raw
    t._node = t._counter = t._base = t._view = t._grad = None
    t._flags = 1 if requires_grad else 0
    return t


__all__ = ["Size", "Tensor", "as_array", "edge", "initialise", "wrap"]
