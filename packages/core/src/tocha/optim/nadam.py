"""NAdam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tocha._core.tensor import Tensor

from . import _validate
from ._elementwise import Elementwise, direction, nonzero, rounded
from .optimizer import ParamsT

__all__ = ["NAdam"]


class _Numbers(NamedTuple):
    lr: Any
    beta1: float
    beta2: float
    eps: float
    weight_decay: Any
    decoupled: bool
    maximize: bool
    correction2: float
    of_gradient: Any
    of_mean: Any


class NAdam(Elementwise):
    """Adam with Nesterov's momentum.

    Args:
        params: tensors, named tensors or groups.
        lr: learning rate (a number, or a tensor of one element).
        betas: how much of the running means of gradients and of their squares is kept at each step.
        eps: added to the denominator.
        weight_decay: L2 penalty, added to the gradient; with ``decoupled_weight_decay`` applied to the weights instead.
        momentum_decay: how fast the momentum approaches ``betas[0]``.
        decoupled_weight_decay: see ``weight_decay``.
        maximize: climb instead of descend.
        differentiable: make the step part of the graph.
        foreach, capturable: PyTorch's choices of implementation; accepted, no effect.

    Raises:
        ValueError: an option is out of range.

    Source: Dozat, https://openreview.net/forum?id=OM0jvwB8jIp57ZJjtNEZ;
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.NAdam.html

    >>> import tocha
    >>> w = tocha.tensor([1.0, 2.0], requires_grad=True)
    >>> tocha.optim.NAdam([w]).defaults["momentum_decay"]
    0.004
    """

    _scalar_names = ("step", "mu_product")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        _validate.at_least_zero(weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _array_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def _first_scalars(self, group: dict[str, Any]) -> tuple[float, ...]:
        return (0.0, 1.0)

    def _numbers(self, group: dict[str, Any], scalars: tuple, number: Callable[[Any], Any]) -> tuple[tuple, _Numbers]:
        step = scalars[0] + 1
        lr, (beta1, beta2), decay = number(group["lr"]), group["betas"], group["momentum_decay"]
        mu = beta1 * (1.0 - 0.5 * 0.96 ** (step * decay))
        mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * decay))
        product = rounded(scalars[1] * rounded(mu))
        n = _Numbers(
            lr, beta1, beta2, group["eps"], number(group["weight_decay"]), group["decoupled_weight_decay"],
            group["maximize"], 1 - beta2**step, lr * (1.0 - mu) / (1.0 - product),
            lr * mu_next / (1.0 - product * mu_next),
        )  # fmt: skip
        return (step, product), n

    @staticmethod
    def _rule(xp: Any, p: Any, g: Any, arrays: tuple, n: _Numbers) -> tuple:
        mean, square = arrays
        g = direction(p, g, 0 if n.decoupled else n.weight_decay, n.maximize)
        if n.decoupled and nonzero(n.weight_decay):
            p = p * (1 - n.lr * n.weight_decay)
        mean = mean + (g - mean) * (1 - n.beta1)
        square = square * n.beta2 + g * g * (1 - n.beta2)
        denominator = xp.sqrt(square / n.correction2) + n.eps
        return p - g / denominator * n.of_gradient - mean / denominator * n.of_mean, mean, square
