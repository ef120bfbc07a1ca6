"""Parameters and buffers: tensors that register themselves when they are assigned to a module."""

from __future__ import annotations

from typing import Any

import numpy as np

import tocha
from tocha._core import dtypes
from tocha._core.devices import as_device
from tocha._core.record import ABSTRACT, Op
from tocha._core.tensor import Tensor, initialise, new

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


class _MarkedType(type):
    """A tensor of another type counts as an instance where it carries the class's mark."""

    mark: str

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        mark = cls.__dict__.get("mark")
        return mark is not None and isinstance(instance, Tensor) and getattr(instance, mark, False)


class Parameter(Tensor, metaclass=_MarkedType):
    """A tensor that is trained: assigned to a module's attribute, it appears in ``module.parameters()``.

    Args:
        data: the values, whose memory is shared; empty where None.
        requires_grad: whether operations on it are recorded.

    Raises:
        RuntimeError: ``requires_grad`` and the dtype is neither floating point nor complex.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.parameter.Parameter.html

    >>> import tocha
    >>> tocha.nn.Parameter(tocha.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    __slots__ = ()
    mark = "_is_param"

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = tocha.empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter(): argument 'data' (position 1) must be Tensor, not {type(data).__name__}")
        kind: Any = type(data)
        if kind is Tensor or kind is Parameter:
            return _around(cls, data._data, requires_grad)
        # A subclass of Tensor stays what it is and gets the mark.
        other: Any = data.detach().requires_grad_(requires_grad)
        if type(other) is not kind:
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {kind.__name__} requires that detach() returns "
                f"an instance of the same type, but return type {type(other).__name__} was found instead. To use the "
                "type as a Parameter, please correct the detach() semantics of that type."
            )
        other._is_param = True
        return other

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        pass

    def __deepcopy__(self, memo: dict) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__()


class Buffer(Tensor, metaclass=_MarkedType):
    """A tensor that is part of a module's state but not trained: assigned to an attribute, it becomes a buffer.

    Args:
        data: the values, whose memory is shared; empty where None.
        persistent: whether it is part of ``state_dict``.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.parameter.Buffer.html

    >>> import tocha
    >>> module = tocha.nn.Module()
    >>> module.mean = tocha.nn.Buffer(tocha.zeros(2))
    >>> list(module.state_dict())
    ['mean']
    """

    __slots__ = ()
    mark = "_is_buffer"

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = tocha.empty(0)
        buffer: Any = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer

    def __init__(self, data: Tensor | None = None, *, persistent: bool = True) -> None:
        pass


# ---------------------------------------------------------------- not yet of any shape


class _Pending:
    """The raw array of a tensor whose shape is not known yet: a dtype and a device."""

    __slots__ = ("device", "dtype")

    def __init__(self, dtype: np.dtype, device: Any) -> None:
        self.dtype, self.device = dtype, device

    @property
    def shape(self) -> Any:
        raise _used("an operation")


def _used(where: str) -> ValueError:
    return ValueError(
        f"Attempted to use an uninitialized parameter in {where}. This error happens when you are using a `LazyModule` "
        "or explicitly manipulating `tocha.nn.parameter.UninitializedParameter` objects. When using LazyModules Call "
        "`forward` with a dummy batch to initialize the parameters before calling tocha functions"
    )


def _refuse(op: Op) -> Any:
    def run(*args: Any) -> Any:
        raise _used(op.name)

    return run


ABSTRACT[_Pending] = _refuse


class UninitializedTensorMixin:
    """What lazy parameters and buffers share: a dtype and a device, but no shape before ``materialize``."""

    __slots__ = ()
    _becomes: type

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary parameter or buffer of this shape, with arbitrary values.

        Args:
            shape: the sizes. device, dtype: default to the present ones.
        """
        made = tocha.empty(shape, device=device or self._data.device, dtype=dtype or self.dtype)
        self._data = made._data
        self.__class__ = self._becomes

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> Any:
        """Refused: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Another dtype and device for the memory to come; see ``Tensor.to``."""
        from .modules._convert import parse_to

        device, dtype, _, _ = parse_to(*args, **kwargs)
        pending = _Pending(
            self._data.dtype if dtype is None else dtypes.as_numpy(dtype),
            self._data.device if device is None else device,
        )
        other = initialise(new(type(self)), pending, self.requires_grad)
        other.__dict__.update(self.__dict__)
        return other

    def cpu(self: Any) -> Any:
        """As ``to("cpu")``."""
        return self.to(device="cpu")

    def cuda(self: Any, device: Any = None) -> Any:
        """As ``to("cuda")``."""
        return self.to(device="cuda" if device is None else device)

    def half(self: Any) -> Any:
        """As ``to(tocha.float16)``."""
        return self.to(tocha.float16)

    def float(self: Any) -> Any:
        """As ``to(tocha.float32)``."""
        return self.to(tocha.float32)

    def double(self: Any) -> Any:
        """As ``to(tocha.float64)``."""
        return self.to(tocha.float64)

    def bfloat16(self: Any) -> Any:
        """As ``to(tocha.bfloat16)``."""
        return self.to(tocha.bfloat16)

    def type(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
        """As ``Tensor.type``."""
        return super().type() if dtype is None else self.to(dtype)  # type: ignore[misc]

    def detach(self) -> Any:
        """The uninitialized tensor itself: there is no memory to share."""
        return self

    def __deepcopy__(self: Any, memo: dict) -> Any:
        if id(self) not in memo:
            memo[id(self)] = self.to()
        return memo[id(self)]

    def __reduce_ex__(self: Any, protocol: Any) -> tuple:
        return type(self), (self.requires_grad, str(self._data.device), self.dtype)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape the first forward pass decides, as lazy modules use it.

    Args:
        requires_grad: whether operations on it will be recorded.
        device, dtype: of the memory to come.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.parameter.UninitializedParameter.html

    >>> import tocha
    >>> weight = tocha.nn.UninitializedParameter()
    >>> weight
    <UninitializedParameter>
    >>> weight.materialize((2, 3))
    >>> weight.shape
    tocha.Size([2, 3])
    """

    __slots__ = ()
    _becomes = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        return _around(cls, _pending(device, dtype), requires_grad)

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        pass


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc]
    """A buffer whose shape the first forward pass decides, as lazy modules use it.

    Args:
        requires_grad: whether operations on it will be recorded.
        device, dtype: of the memory to come.
        persistent: whether it will be part of ``state_dict``.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.parameter.UninitializedBuffer.html

    >>> import tocha
    >>> tocha.nn.UninitializedBuffer()
    <UninitializedBuffer>
    """

    __slots__ = ()
    _becomes = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> UninitializedBuffer:
        buffer: Any = _around(cls, _pending(device, dtype), requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer

    def __init__(
        self, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> None:
        pass


def _around(cls: type, raw: Any, requires_grad: bool) -> Any:
    """A tensor of class ``cls`` around a raw array."""
    made = initialise(new(cls), raw)
    return made.requires_grad_() if requires_grad else made


def _pending(device: Any, dtype: Any) -> _Pending:
    target = tocha.get_default_device() if device is None else as_device(device)
    return _Pending(dtypes.as_numpy(dtype or tocha.get_default_dtype()), target)


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)
