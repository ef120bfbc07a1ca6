"""In-place changes of a tensor's shape and strides, and Python functions applied to elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.broadcast import operators
from .._core.families import attribute, inplace_method, method
from .._core.grad_mode import recording
from .._core.inplace import check_writable
from .._core.record import ABSTRACT
from .._core.tensor import Tensor, wrap
from .._core.views import bump_version, sync
from .movement import squeeze, swapaxes, swapdims, t, transpose, unsqueeze
from .statistics import renorm

__all__: list[str] = []


def _reshaper(fn: Callable, name: str) -> None:
    def method_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return become(self, fn, *args, **kwargs)

    method_.__name__, method_.__qualname__ = name, f"Tensor.{name}"
    method_.__doc__ = f"``{fn.__name__}`` in place: the tensor itself gets the new shape, over the same memory."
    setattr(Tensor, name, method_)


def become(self: Tensor, fn: Callable, *args: Any, **kwargs: Any) -> Tensor:
    """Let a tensor be ``fn(itself)``, a view of its memory, with that view's history."""
    if recording():
        check_writable(self)
    if self._base is not None:
        sync(self)
        made = fn(self, *args, **kwargs)
        self._view, self._generation = made._view, made._generation
    else:
        before = wrap(self._data, self._node)
        before._flags = self._flags
        made = fn(before, *args, **kwargs)
    self._data, self._node = made._data, made._node
    bump_version(self)
    return self


for _fn, _name in (
    (squeeze, "squeeze_"), (unsqueeze, "unsqueeze_"),
    (t, "t_"), (transpose, "transpose_"),
    (swapaxes, "swapaxes_"), (swapdims, "swapdims_"),
):
    _reshaper(_fn, _name)
inplace_method(renorm)


def resize(self: Tensor, *sizes: Any) -> Tensor:
    """The tensor with other sizes and as many elements; deprecated in PyTorch, where ``reshape`` is meant.

    Raises:
        RuntimeError: the number of elements would change.
    """
    from .dims import product, sizes_of

    shape = sizes_of(sizes, "resize")
    if product(shape) != self._data.size:
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, shape))} ({product(shape)} elements in total), but the given "
            f"tensor has a size of {'x'.join(map(str, self._data.shape))} ({self._data.size} elements). autograd's "
            f"resize can only change the shape of a given tensor, while preserving the number of elements. "
        )
    return operators["view"](operators["contiguous"](self), tuple(shape))


def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """``resize`` to the sizes of another tensor."""
    return resize(self, tuple(tensor._data.shape))


def _elements(self: Tensor, name: str) -> np.ndarray:
    if self.requires_grad:
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if type(self._data) is not np.ndarray:
        what = "meta" if type(self._data) in ABSTRACT else self.device.type
        raise TypeError(f"{name} is only implemented on CPU tensors, not on {what} ones")
    check_writable(self)
    return self._data


def _called(fn: Callable, columns: list, raw: np.ndarray) -> Any:
    """``fn`` of the Python numbers at each place, in memory order of the tensors' indices."""
    values = [fn(*row) for row in zip(*[c.reshape(-1).tolist() for c in columns])]
    return np.array(values, dtype=object).astype(raw.dtype).reshape(raw.shape)


def apply_(self: Tensor, callable: Callable) -> Tensor:
    """Replace each element by ``callable`` of it, a Python number. Slow: for where speed does not matter."""
    raw = _elements(self, "apply_")
    raw[...] = _called(callable, [raw], raw)
    bump_version(self)
    return self


def map_(self: Tensor, tensor: Tensor, callable: Callable) -> Tensor:
    """Replace each element by ``callable`` of it and that of ``tensor``, which broadcasts to this one."""
    return _mapped(self, "map_", callable, tensor)


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable) -> Tensor:
    """Replace each element by ``callable`` of it and those of ``x`` and ``y``."""
    return _mapped(self, "map2_", callable, x, y)


def _mapped(self: Tensor, name: str, fn: Callable, *others: Tensor) -> Tensor:
    raw = _elements(self, name)
    for other in others:
        if other.dtype is not self.dtype:
            raise TypeError(f"{name}: expected {self.type()} for 'other' (got {other.type()})")
    columns = [other.detach().expand(self.shape)._data for other in others]
    raw[...] = _called(fn, [raw, *columns], raw)
    bump_version(self)
    return self


def lu(self: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple:
    """``(LU, pivots)`` of a batch of matrices, with ``get_infos`` ``(LU, pivots, infos)``. See
    ``linalg.lu_factor_ex``."""
    from ..linalg import lu_factor_ex

    found = lu_factor_ex(self, pivot=pivot)
    return tuple(found) if get_infos else tuple(found)[:2]


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool = True) -> Tensor:
    """The tensor itself (cast to ``dtype``): tensors are dense here."""
    return self if dtype is None else self.to(dtype)


def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions in the order in which they lie in memory, outermost first."""
    steps = self.stride()
    return tuple(sorted(range(len(steps)), key=lambda d: (-steps[d], d)))


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same memory with the same sizes and strides."""
    return (
        type(self._data) not in ABSTRACT
        and self.data_ptr() == tensor.data_ptr()
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )


for _method in (resize, resize_as, apply_, map_, map2_, lu, to_dense, dim_order, is_set_to):
    method(_method)


def _constant(name: str, value: Any, doc: str) -> None:
    setattr(Tensor, name, property(lambda self: value, doc=doc))


def _layout(self: Tensor) -> Any:
    """The layout: ``tocha.strided``, the only one."""
    from .._core.layouts import strided

    return strided


attribute("layout", _layout)
for _name in (
    "is_sparse",
    "is_sparse_csr",
    "is_quantized",
    "is_nested",
    "is_mkldnn",
    "is_mps",
    "is_xla",
    "is_xpu",
    "is_ipu",
    "is_vulkan",
    "is_maia",
    "is_mtia",
):
    _constant(_name, False, "False: tocha has no such tensors.")
_constant("volatile", False, "False: since PyTorch 0.4 ``no_grad`` is used instead.")
_constant("name", None, "None: PyTorch keeps it for old programs.")


def _output_nr(self: Tensor) -> int:
    """Which output of its node the tensor is."""
    node = self.grad_fn
    return node.attrs if node is not None and node.op.name == "pick" else 0


attribute("output_nr", _output_nr)
