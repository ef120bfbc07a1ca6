"""Adadelta."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tocha._core.tensor import Tensor

from . import _validate
from ._elementwise import Elementwise, direction
from .optimizer import ParamsT

__all__ = ["Adadelta"]


class _Numbers(NamedTuple):
    lr: Any
    rho: float
    eps: float
    weight_decay: Any
    maximize: bool


class Adadelta(Elementwise):
    """Steps whose size follows the running size of the steps before.

    Args:
        params: tensors, named tensors or groups.
        lr: factor of the step (a number, or a tensor of one element).
        rho: how much of the running means of squares is kept at each step.
        eps: added to the means under their roots.
        weight_decay: L2 penalty, added to the gradient.
        maximize: climb instead of descend.
        differentiable: make the step part of the graph.
        foreach, capturable: PyTorch's choices of implementation; accepted, no effect.

    Raises:
        ValueError: an option is out of range.

    Source: Zeiler, https://arxiv.org/abs/1212.5701;
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adadelta.html

    >>> import tocha
    >>> w = tocha.tensor([1.0, 2.0], requires_grad=True)
    >>> tocha.optim.Adadelta([w]).defaults["rho"]
    0.9
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        _validate.learning_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        _validate.at_least_zero(eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _array_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("square_avg", "acc_delta")

    def _numbers(self, group: dict[str, Any], scalars: tuple, number: Callable[[Any], Any]) -> tuple[tuple, _Numbers]:
        n = _Numbers(number(group["lr"]), group["rho"], group["eps"], number(group["weight_decay"]), group["maximize"])
        return (scalars[0] + 1,), n

    @staticmethod
    def _rule(xp: Any, p: Any, g: Any, arrays: tuple, n: _Numbers) -> tuple:
        square, steps = arrays
        g = direction(p, g, n.weight_decay, n.maximize)
        square = square * n.rho + g * g * (1 - n.rho)
        step = xp.sqrt(steps + n.eps) / xp.sqrt(square + n.eps) * g
        return p - step * n.lr, square, steps * n.rho + step * step * (1 - n.rho)
