"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tocha._core.tensor import Tensor

from . import _validate
from ._elementwise import Elementwise, direction
from .optimizer import ParamsT

__all__ = ["SGD"]


class _Numbers(NamedTuple):
    lr: Any
    momentum: float
    dampening: float
    weight_decay: Any
    nesterov: bool
    maximize: bool


class SGD(Elementwise):
    """Stochastic gradient descent, with momentum as an option.

    Args:
        params: tensors, named tensors or groups.
        lr: learning rate (a number, or a tensor of one element).
        momentum: how much of the last direction is kept.
        dampening: how much of the gradient is left out of the direction.
        weight_decay: L2 penalty, added to the gradient.
        nesterov: look ahead by the momentum.
        maximize: climb instead of descend.
        differentiable: make the step part of the graph.
        foreach, fused: PyTorch's choices of implementation; accepted, no effect.

    Raises:
        ValueError: an option is out of range.

    Source: Sutskever et al., http://www.cs.toronto.edu/%7Ehinton/absps/momentum.pdf;
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.SGD.html

    >>> import tocha
    >>> w = tocha.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tocha.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000, 1.6000], requires_grad=True)
    """

    _scalar_names = ()

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        _validate.learning_rate(lr)
        _validate.at_least_zero(momentum=momentum, weight_decay=weight_decay)
        _validate.implementation(foreach, fused, differentiable)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _array_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] != 0 else ()

    def _first_scalars(self, group: dict[str, Any]) -> tuple[float, ...]:
        return ()

    def _first_array(self, name: str, p: Any, g: Any, group: dict[str, Any]) -> Any:
        if not group["dampening"]:
            return super()._first_array(name, p, g, group)
        # The first direction is the whole gradient, undampened: start where one step of the rule leads there.
        whole = direction(p, g, float(group["weight_decay"]), group["maximize"])
        return whole * (float(group["dampening"]) / float(group["momentum"]))

    def _numbers(self, group: dict[str, Any], scalars: tuple, number: Callable[[Any], Any]) -> tuple[tuple, _Numbers]:
        n = _Numbers(
            number(group["lr"]), group["momentum"], group["dampening"], number(group["weight_decay"]),
            group["nesterov"], group["maximize"],
        )  # fmt: skip
        return (), n

    @staticmethod
    def _rule(xp: Any, p: Any, g: Any, arrays: tuple, n: _Numbers) -> tuple:
        g = direction(p, g, n.weight_decay, n.maximize)
        if n.momentum == 0:
            return (p - g * n.lr,)
        kept = arrays[0] * n.momentum + g * (1 - n.dampening)
        return p - (g + kept * n.momentum if n.nesterov else kept) * n.lr, kept

    @staticmethod
    def _constants(n: _Numbers) -> tuple[float, ...]:
        return n.lr, n.momentum, 1 - n.dampening, n.weight_decay

    @staticmethod
    def _kernel(xp: Any) -> Callable:
        add, subtract, multiply = xp.add, xp.subtract, xp.multiply

        def update(p: Any, g: Any, arrays: Any, u: Any, w: Any, n: _Numbers, constants: list) -> None:
            lr, momentum, share, weight_decay = constants
            if n.maximize:
                g = xp.negative(g, w)
            if n.weight_decay:
                multiply(p, weight_decay, u)
                g = add(g, u, w)
            if n.momentum:
                kept = arrays[0]
                multiply(kept, momentum, kept)
                add(kept, multiply(g, share, u) if n.dampening else g, kept)
                if n.nesterov:
                    multiply(kept, momentum, u)
                    g = add(g, u, w)
                else:
                    g = kept
            multiply(g, lr, u)
            subtract(p, u, p)

        return update
