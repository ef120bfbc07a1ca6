"""Adagrad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tocha
from tocha._core import arrays as array_modules
from tocha._core.tensor import Tensor, wrap

from . import _validate
from ._elementwise import Elementwise, direction, scalar_dtype
from .optimizer import ParamsT

__all__ = ["Adagrad"]


class _Numbers(NamedTuple):
    lr: Any
    eps: float
    weight_decay: Any
    maximize: bool


class Adagrad(Elementwise):
    """Gradients over the root of the sum of all their squares so far.

    Args:
        params: tensors, named tensors or groups.
        lr: learning rate (a number, or a tensor of one element); divided by ``1 + steps * lr_decay``.
        lr_decay: see ``lr``.
        weight_decay: L2 penalty, added to the gradient.
        initial_accumulator_value: what the sums start from.
        eps: added to the denominator.
        maximize: climb instead of descend.
        differentiable: make the step part of the graph.
        foreach, fused: PyTorch's choices of implementation; accepted, no effect.

    Raises:
        ValueError: an option is out of range.

    Source: Duchi, Hazan and Singer, https://jmlr.org/papers/v12/duchi11a.html;
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adagrad.html

    >>> import tocha
    >>> w = tocha.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tocha.optim.Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        _validate.learning_rate(lr)
        _validate.at_least_zero(
            lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value, eps=eps
        )
        _validate.implementation(foreach, fused, differentiable)
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state["step"] = tocha.tensor(0.0, dtype=scalar_dtype())
                state["sum"] = wrap(self._first_array("sum", p._data, None, group))

    def _array_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("sum",)

    def _first_array(self, name: str, p: Any, g: Any, group: dict[str, Any]) -> Any:
        start = self.defaults["initial_accumulator_value"]
        return array_modules.module_of(p).full_like(p, complex(start, start) if p.dtype.kind == "c" else start)

    def share_memory(self) -> None:
        """Move the sums into memory that child processes share."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _numbers(self, group: dict[str, Any], scalars: tuple, number: Callable[[Any], Any]) -> tuple[tuple, _Numbers]:
        step = scalars[0] + 1
        lr = number(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        return (step,), _Numbers(lr, group["eps"], number(group["weight_decay"]), group["maximize"])

    @staticmethod
    def _rule(xp: Any, p: Any, g: Any, arrays: tuple, n: _Numbers) -> tuple:
        g = direction(p, g, n.weight_decay, n.maximize)
        total = arrays[0] + g * g
        return p - g / (xp.sqrt(total) + n.eps) * n.lr, total
