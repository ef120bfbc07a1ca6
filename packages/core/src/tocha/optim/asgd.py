"""Averaged stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tocha._core.tensor import Tensor

from . import _validate
from ._elementwise import Elementwise, direction
from .optimizer import ParamsT

__all__ = ["ASGD"]


class _Numbers(NamedTuple):
    eta: Any
    mu: float
    lambd: float
    weight_decay: Any
    maximize: bool


class ASGD(Elementwise):
    """Stochastic gradient descent that keeps, in ``state[p]["ax"]``, an average of the parameters over the steps.

    Args:
        params: tensors, named tensors or groups.
        lr: learning rate (a number, or a tensor of one element).
        lambd: decay of the weights and of the learning rate.
        alpha: power of the learning rate's decay.
        t0: the step from which parameters are averaged.
        weight_decay: L2 penalty, added to the gradient.
        maximize: climb instead of descend.
        differentiable: make the step part of the graph.
        foreach, capturable: PyTorch's choices of implementation; accepted, no effect.

    Raises:
        ValueError: an option is out of range.

    Source: Polyak and Juditsky, https://meyn.ece.ufl.edu/wp-content/uploads/sites/77/archive/spm_files/Courses/ECE555-2011/555media/poljud92.pdf;
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.ASGD.html

    >>> import tocha
    >>> w = tocha.tensor([1.0, 2.0], requires_grad=True)
    >>> tocha.optim.ASGD([w]).defaults["alpha"]
    0.75
    """

    _scalar_names = ("step", "eta", "mu")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        _validate.learning_rate(lr)
        _validate.at_least_zero(weight_decay=weight_decay)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _array_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("ax",)

    def _first_scalars(self, group: dict[str, Any]) -> tuple[float, ...]:
        return (0.0, float(group["lr"]), 1.0)

    def _numbers(self, group: dict[str, Any], scalars: tuple, number: Callable[[Any], Any]) -> tuple[tuple, _Numbers]:
        step, eta, mu = scalars
        step += 1
        lr, lambd = number(group["lr"]), group["lambd"]
        eta_next = lr / (1 + lambd * lr * step) ** group["alpha"]
        mu_next = 1 / max(1, step - group["t0"])
        return (step, eta_next, mu_next), _Numbers(eta, mu, lambd, number(group["weight_decay"]), group["maximize"])

    @staticmethod
    def _rule(xp: Any, p: Any, g: Any, arrays: tuple, n: _Numbers) -> tuple:
        average = arrays[0]
        g = direction(p, g, n.weight_decay, n.maximize)
        p = p * (1 - n.lambd * n.eta) - g * n.eta
        return p, p if n.mu == 1 else average + (p - average) * n.mu
