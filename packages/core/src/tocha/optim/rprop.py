"""Resilient backpropagation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tocha._core import arrays as array_modules
from tocha._core.tensor import Tensor

from . import _validate
from ._elementwise import Elementwise, number
from .optimizer import ParamsT

__all__ = ["Rprop"]


class _Numbers(NamedTuple):
    shrink: float
    grow: float
    least: float
    most: float
    maximize: bool


class Rprop(Elementwise):
    """Steps that follow the signs of the gradients only; for full batches.

    Args:
        params: tensors, named tensors or groups.
        lr: size of the first step of each number.
        etas: factors of the step's size where the sign changed, and where it stayed.
        step_sizes: the smallest and the largest size.
        maximize: climb instead of descend.
        differentiable: make the step part of the graph.
        foreach, capturable: PyTorch's choices of implementation; accepted, no effect.

    Raises:
        ValueError: an option is out of range.

    Source: Riedmiller and Braun, https://doi.org/10.1109/ICNN.1993.298623;
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.Rprop.html

    >>> import tocha
    >>> w = tocha.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tocha.optim.Rprop([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        _validate.learning_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _array_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("prev", "step_size")

    def _first_array(self, name: str, p: Any, g: Any, group: dict[str, Any]) -> Any:
        if name == "prev":
            return super()._first_array(name, p, g, group)
        size = number(group["lr"])
        return array_modules.module_of(p).full_like(g, complex(size, size) if p.dtype.kind == "c" else size)

    def _numbers(self, group: dict[str, Any], scalars: tuple, number: Callable[[Any], Any]) -> tuple[tuple, _Numbers]:
        (shrink, grow), (least, most) = group["etas"], group["step_sizes"]
        return (scalars[0] + 1,), _Numbers(shrink, grow, least, most, group["maximize"])

    @staticmethod
    def _rule(xp: Any, p: Any, g: Any, arrays: tuple, n: _Numbers) -> tuple:
        before, size = arrays
        if n.maximize:
            g = -g
        agreement = g * before
        size = xp.where(agreement > 0, size * n.grow, xp.where(agreement < 0, size * n.shrink, size))
        size = xp.clip(size, n.least, n.most)
        g = xp.where(agreement < 0, xp.zeros_like(g), g)
        return p - xp.sign(g) * size, g, size
