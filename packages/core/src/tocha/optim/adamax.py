"""Adamax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tocha._core.tensor import Tensor

from . import _validate
from ._elementwise import Elementwise, direction
from .optimizer import ParamsT

__all__ = ["Adamax"]


class _Numbers(NamedTuple):
    lr: Any
    beta1: float
    beta2: float
    eps: float
    weight_decay: Any
    maximize: bool


class Adamax(Elementwise):
    """Adam with the running maximum of the gradients' sizes in the place of their mean square.

    Args:
        params: tensors, named tensors or groups.
        lr: learning rate (a number, or a tensor of one element).
        betas: how much of the running mean and of the running maximum is kept at each step.
        eps: added to the gradients' sizes.
        weight_decay: L2 penalty, added to the gradient.
        maximize: climb instead of descend.
        differentiable: make the step part of the graph.
        foreach, capturable: PyTorch's choices of implementation; accepted, no effect.

    Raises:
        ValueError: an option is out of range.

    Source: Kingma and Ba, https://arxiv.org/abs/1412.6980;
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adamax.html

    >>> import tocha
    >>> w = tocha.tensor([1.0, 2.0], requires_grad=True)
    >>> tocha.optim.Adamax([w]).defaults["lr"]
    0.002
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        _validate.learning_rate(lr)
        _validate.at_least_zero(eps=eps)
        _validate.two_betas(betas)
        _validate.at_least_zero(weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _array_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_inf")

    def _numbers(self, group: dict[str, Any], scalars: tuple, number: Callable[[Any], Any]) -> tuple[tuple, _Numbers]:
        step = scalars[0] + 1
        beta1, beta2 = group["betas"]
        lr = number(group["lr"]) / (1 - beta1**step)
        return (step,), _Numbers(lr, beta1, beta2, group["eps"], number(group["weight_decay"]), group["maximize"])

    @staticmethod
    def _rule(xp: Any, p: Any, g: Any, arrays: tuple, n: _Numbers) -> tuple:
        mean, largest = arrays
        g = direction(p, g, n.weight_decay, n.maximize)
        mean = mean + (g - mean) * (1 - n.beta1)
        largest = xp.maximum(largest * n.beta2, xp.abs(g) + n.eps)
        return p - mean / largest * n.lr, mean, largest
