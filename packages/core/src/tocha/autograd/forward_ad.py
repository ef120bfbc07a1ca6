"""Forward-mode differentiation with dual numbers, as ``torch.autograd.forward_ad``.

``make_dual`` starts recording, and ``unpack_dual`` derives the tangent from what was recorded (see
``_levels.Pushforward``). Every operator with a gradient has a tangent, and no operator needs a second rule; a dual
number costs two backward passes when it is unpacked. So duals need grad mode, and they show ``requires_grad``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .._core import duals
from .._core.dtypes import is_differentiable_np
from .._core.grad_mode import _Context
from .._core.tensor import Tensor
from .._core.views import edge
from ._levels import Pushforward, alias, leave, root

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """``primal``, and ``tangent`` or None."""

    primal: Tensor
    tangent: Tensor | None


class _Level:
    """The roots of the dual numbers of one level, with their tangents."""

    def __init__(self) -> None:
        self.roots: list[Tensor] = []
        self.tangents: list[Tensor] = []


def enter_dual_level() -> int:
    """Begin a level, in which dual numbers can be made; returns its number, 0.

    Raises:
        RuntimeError: there is one already (higher derivatives: ``tocha.func.jvp``).
    """
    if duals.levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    duals.levels.append(_Level())
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: its tangents are gone.

    Raises:
        RuntimeError: there is none, or ``level`` is not the last one.
    """
    if level is not None and level != len(duals.levels) - 1:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    if not duals.levels:
        raise RuntimeError("Dual level must be a positive number.")
    duals.levels.pop()


class dual_level(_Context):
    """The level of forward mode: dual numbers live inside this block.

    Example:
        >>> import tocha
        >>> import tocha.autograd.forward_ad as fwAD
        >>> with fwAD.dual_level():
        ...     x = fwAD.make_dual(tocha.tensor(3.0), tocha.tensor(1.0))
        ...     print(fwAD.unpack_dual(x * x).tangent)
        tensor(6.)
    """

    def __enter__(self) -> int:  # type: ignore[override]
        return enter_dual_level()

    def __exit__(self, *error: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A dual number: the memory of ``tensor``, with ``tangent`` as its derivative.

    Raises:
        RuntimeError: no level, other sizes, or ``tensor`` is a dual number already.
        ValueError: one of them is neither floating-point nor complex.
    """
    if not duals.levels or (level is not None and level < 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for what, t in (("primal", tensor), ("tangent", tangent)):
        if not is_differentiable_np(t._data.dtype):
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {t.dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    if unpack_dual(tensor).tangent is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported."
        )
    current = duals.levels[-1]
    start = root(tensor)
    current.roots.append(start)
    current.tangents.append(tangent)
    return alias(start)  # not the root itself: a dual number may be written to


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent of a tensor; the tangent is None outside a level, and where there is none."""
    if not duals.levels or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    current: Any = duals.levels[-1]
    if not current.roots or edge(tensor) is None:
        return UnpackedDualTensor(tensor, None)
    push = Pushforward([tensor], current.roots)
    (tangent,) = push(current.tangents)
    return UnpackedDualTensor(tensor if tangent is None else leave(tensor, push.ids), tangent)
