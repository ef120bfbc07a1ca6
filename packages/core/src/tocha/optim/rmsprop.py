"""RMSprop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tocha._core.tensor import Tensor

from . import _validate
from ._elementwise import Elementwise, direction
from .optimizer import ParamsT

__all__ = ["RMSprop"]


class _Numbers(NamedTuple):
    lr: Any
    alpha: float
    eps: float
    weight_decay: Any
    momentum: float
    centered: bool
    maximize: bool


class RMSprop(Elementwise):
    """Gradients over the root of a running mean of their squares.

    Args:
        params: tensors, named tensors or groups.
        lr: learning rate (a number, or a tensor of one element).
        alpha: how much of the running means is kept at each step.
        eps: added to the denominator.
        weight_decay: L2 penalty, added to the gradient.
        momentum: how much of the last direction is kept.
        centered: divide by the root of the variance instead of the mean square.
        maximize: climb instead of descend.
        differentiable: make the step part of the graph.
        foreach, capturable: PyTorch's choices of implementation; accepted, no effect.

    Raises:
        ValueError: an option is out of range.

    Source: Hinton, https://www.cs.toronto.edu/~tijmen/csc321/slides/lecture_slides_lec6.pdf; centered: Graves,
    https://arxiv.org/abs/1308.0850; https://docs.pytorch.org/docs/2.13/generated/torch.optim.RMSprop.html

    >>> import tocha
    >>> w = tocha.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tocha.optim.RMSprop([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> tocha.allclose(w, tocha.tensor([0.0, 1.0]), atol=1e-6)
    True
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        _validate.learning_rate(lr)
        _validate.at_least_zero(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _array_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        momentum = ("momentum_buffer",) if group["momentum"] > 0 else ()
        return ("square_avg", *momentum, *(("grad_avg",) if group["centered"] else ()))

    def _numbers(self, group: dict[str, Any], scalars: tuple, number: Callable[[Any], Any]) -> tuple[tuple, _Numbers]:
        n = _Numbers(
            number(group["lr"]), group["alpha"], group["eps"], number(group["weight_decay"]), group["momentum"],
            group["centered"], group["maximize"],
        )  # fmt: skip
        return (scalars[0] + 1,), n

    @staticmethod
    def _rule(xp: Any, p: Any, g: Any, arrays: tuple, n: _Numbers) -> tuple:
        g = direction(p, g, n.weight_decay, n.maximize)
        square = arrays[0] * n.alpha + g * g * (1 - n.alpha)
        means: tuple = ()
        spread = square
        if n.centered:
            mean = arrays[-1] + (g - arrays[-1]) * (1 - n.alpha)
            means, spread = (mean,), square - mean * mean
        step = g / (xp.sqrt(spread) + n.eps)
        if n.momentum > 0:
            step = arrays[1] * n.momentum + step
            return p - step * n.lr, square, step, *means
        return p - step * n.lr, square, *means
