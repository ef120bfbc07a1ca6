"""Conversions of a whole module: dtype, device, memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import tocha
from tocha._core.tensor import Tensor

T = TypeVar("T", bound="ConvertMethods")

_COMPLEX = (
    "Complex modules are a new feature under active development whose design may change, and some modules might not "
    "work as expected when using complex tensors as parameters or buffers."
)


class ConvertMethods:
    """The part of ``Module`` that converts its parameters and buffers, in place, children included.

    Parameters keep their identity (an optimizer goes on holding them); their data is replaced.
    """

    def _apply(self: Any, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Replace the data of each parameter, gradient and buffer by ``fn`` of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for param in self._parameters.values():
            if param is None:
                continue
            grad = param.grad
            with tocha.no_grad():
                param.data = fn(param)
                if grad is not None:
                    grad.data = fn(grad)
                    param.grad = grad
        for name, buffer in tuple(self._buffers.items()):
            if buffer is not None:
                self._own("_buffers")[name] = fn(buffer)
        return self

    def to(self: T, *args: Any, **kwargs: Any) -> T:
        """Move and convert all parameters and buffers; integer ones move but keep their dtype.

        Called as ``to(device=None, dtype=None, non_blocking=False)``, ``to(dtype, non_blocking=False)``,
        ``to(tensor, non_blocking=False)`` (like that tensor) or ``to(memory_format=tocha.channels_last)``
        (4- and 5-dimensional tensors only).

        Returns:
            the module itself.

        Raises:
            TypeError: the dtype is neither floating point nor complex.

        Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Module.html#torch.nn.Module.to

        >>> tocha.nn.Linear(2, 3).to(tocha.float64).weight.dtype
        tocha.float64
        """
        device, dtype, non_blocking, memory_format = parse_to(*args, **kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(
                    f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
                )
            if dtype.is_complex:
                warnings.warn(_COMPLEX, stacklevel=2)

        def convert(t: Tensor) -> Tensor:
            wanted = dtype if t.is_floating_point() or t.is_complex() else None
            form = {"memory_format": memory_format} if memory_format is not None and t.dim() in (4, 5) else {}
            try:
                return t.to(device=device, dtype=wanted, non_blocking=non_blocking, **form)
            except NotImplementedError as error:
                if "Cannot copy out of meta tensor" not in str(error):
                    raise
                raise NotImplementedError(
                    f"{error} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module "
                    "from meta to a different device."
                ) from None

        return self._apply(convert)

    def to_empty(self: T, *, device: Any, recurse: bool = True) -> T:
        """Move to ``device`` without copying values: the parameters and buffers hold arbitrary numbers afterwards."""
        return self._apply(lambda t: tocha.empty_like(t, device=device), recurse=recurse)

    def type(self: T, dst_type: Any) -> T:
        """Convert all parameters and buffers to a dtype (or a type name such as ``"tocha.DoubleTensor"``)."""
        return self._apply(lambda t: t.type(dst_type))

    def _floating_to(self: Any, dtype: Any) -> Any:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self: T) -> T:
        """Convert floating-point parameters and buffers to float32."""
        return self._floating_to(tocha.float32)

    def double(self: T) -> T:
        """Convert floating-point parameters and buffers to float64."""
        return self._floating_to(tocha.float64)

    def half(self: T) -> T:
        """Convert floating-point parameters and buffers to float16."""
        return self._floating_to(tocha.float16)

    def bfloat16(self: T) -> T:
        """Convert floating-point parameters and buffers to bfloat16."""
        return self._floating_to(tocha.bfloat16)

    def cuda(self: T, device: Any = None) -> T:
        """Move to a CUDA device; call it before making the optimizer's state."""
        return self._apply(lambda t: t.cuda(device))

    def cpu(self: T) -> T:
        """Move to the CPU."""
        return self._apply(lambda t: t.cpu())

    def share_memory(self: T) -> T:
        """Move parameters and buffers into memory that child processes share (see ``Tensor.share_memory_``)."""
        return self._apply(lambda t: t.share_memory_())


def parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """``(device, dtype, non_blocking, memory_format)`` of the arguments that ``to`` takes."""
    values = dict(kwargs)
    unknown = set(values) - {"device", "dtype", "non_blocking", "copy", "memory_format", "tensor", "other"}
    if unknown:
        raise TypeError(f"to() received an invalid keyword argument: {sorted(unknown)[0]!r}")
    rest = list(args)
    names = ["device", "dtype", "non_blocking", "copy"]
    if rest and isinstance(rest[0], Tensor):
        names = ["tensor", "non_blocking", "copy"]
    elif rest and isinstance(rest[0], tocha.dtype):
        names = ["dtype", "non_blocking", "copy"]
    if len(rest) > len(names):
        raise TypeError(f"to() takes at most {len(names)} positional arguments, but {len(rest)} were given")
    for name, value in zip(names, rest, strict=False):
        if name in values:
            raise TypeError(f"to() got multiple values for argument '{name}'")
        values[name] = value
    like = values.get("tensor", values.get("other"))
    device, dtype = values.get("device"), values.get("dtype")
    if like is not None:
        device, dtype = like.device, like.dtype
    if dtype is not None and not isinstance(dtype, tocha.dtype):
        raise TypeError(f"to(): argument 'dtype' must be tocha.dtype, not {type(dtype).__name__}")
    if device is not None:
        device = tocha.device(device)
    return device, dtype, bool(values.get("non_blocking", False)), values.get("memory_format")
