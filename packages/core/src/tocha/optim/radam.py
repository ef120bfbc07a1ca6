"""RAdam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tocha._core.tensor import Tensor

from . import _validate
from ._elementwise import Elementwise, direction, nonzero
from .optimizer import ParamsT

__all__ = ["RAdam"]


class _Numbers(NamedTuple):
    lr: Any
    beta1: float
    beta2: float
    eps: float
    weight_decay: Any
    decoupled: bool
    maximize: bool
    correction1: float
    rectified: float | None


class RAdam(Elementwise):
    """Adam that divides by the root of the mean square only once that is known well enough.

    Args:
        params: tensors, named tensors or groups.
        lr: learning rate (a number, or a tensor of one element).
        betas: how much of the running means of gradients and of their squares is kept at each step.
        eps: added to the denominator.
        weight_decay: L2 penalty, added to the gradient; with ``decoupled_weight_decay`` applied to the weights instead.
        decoupled_weight_decay: see ``weight_decay``.
        maximize: climb instead of descend.
        differentiable: make the step part of the graph.
        foreach, capturable: PyTorch's choices of implementation; accepted, no effect.

    Raises:
        ValueError: an option is out of range.

    Source: Liu et al., https://arxiv.org/abs/1908.03265;
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.RAdam.html

    >>> import tocha
    >>> w = tocha.tensor([1.0, 2.0], requires_grad=True)
    >>> tocha.optim.RAdam([w]).defaults["lr"]
    0.001
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        _validate.learning_rate(lr)
        _validate.at_least_zero(eps=eps)
        _validate.two_betas(betas)
        _validate.at_least_zero(weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "foreach":
            foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay, "differentiable":
            differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _array_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def _numbers(self, group: dict[str, Any], scalars: tuple, number: Callable[[Any], Any]) -> tuple[tuple, _Numbers]:
        step = scalars[0] + 1
        beta1, beta2 = group["betas"]
        correction2 = 1 - beta2**step
        limit = 2 / (1 - beta2) - 1
        length = limit - 2 * step * beta2**step / correction2  # of the moving average, in the paper's sense
        rectified = None
        if length > 5.0:
            ratio = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
            rectified = (ratio * correction2) ** 0.5
        n = _Numbers(
            number(group["lr"]), beta1, beta2, group["eps"], number(group["weight_decay"]),
            group["decoupled_weight_decay"], group["maximize"], 1 - beta1**step, rectified,
        )  # fmt: skip
        return (step,), n

    @staticmethod
    def _rule(xp: Any, p: Any, g: Any, arrays: tuple, n: _Numbers) -> tuple:
        mean, square = arrays
        g = direction(p, g, 0 if n.decoupled else n.weight_decay, n.maximize)
        if n.decoupled and nonzero(n.weight_decay):
            p = p * (1 - n.lr * n.weight_decay)
        mean = mean + (g - mean) * (1 - n.beta1)
        square = square * n.beta2 + g * g * (1 - n.beta2)
        step = mean * (n.lr / n.correction1)
        if n.rectified is not None:
            step = step * n.rectified / (xp.sqrt(square) + n.eps)
        return p - step, mean, square
