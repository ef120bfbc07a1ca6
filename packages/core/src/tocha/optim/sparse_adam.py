"""Adam for sparse gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tocha
from tocha._core.tensor import Tensor

from . import _validate
from ._elementwise import number
from .optimizer import Optimizer, ParamsT, run_closure

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam that changes only the entries which a sparse gradient has, such as those of ``Embedding(sparse=True)``.

    Args:
        params: dense tensors whose gradients are sparse.
        lr: learning rate (a number, or a tensor of one element).
        betas: how much of the running means of gradients and of their squares is kept where the gradient has an entry.
        eps: added to the denominator.
        maximize: climb instead of descend.

    Raises:
        ValueError: an option is out of range, or a parameter is sparse or complex.

    Source: https://docs.pytorch.org/docs/2.13/generated/torch.optim.SparseAdam.html

    >>> import tocha
    >>> w = tocha.zeros(10, 3, requires_grad=True)
    >>> tocha.optim.SparseAdam([w]).defaults["lr"]
    0.001
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        _validate.two_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        everywhere = [(i, j, p) for i, g in enumerate(self.param_groups) for j, p in enumerate(g["params"])]
        sparse = [[i, j] for i, j, p in everywhere if getattr(p, "is_sparse", False)]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        complex_ = [[i, j] for i, j, p in everywhere if p.is_complex()]
        if complex_:
            raise ValueError(f"Complex params at indices {complex_}: SparseAdam does not support complex parameters")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients; a ``closure`` that computes the loss is called first."""
        loss = run_closure(closure)
        with tocha.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._step_one(p, group)
        return loss

    def _step_one(self, p: Tensor, group: dict[str, Any]) -> None:
        if not getattr(p.grad, "is_sparse", False):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        state = self.state[p]
        if not state:
            state["step"] = 0
            state["exp_avg"], state["exp_avg_sq"] = tocha.zeros_like(p), tocha.zeros_like(p)
        state["step"] += 1
        gradient = p.grad.coalesce()  # type: ignore[union-attr]
        at, g = tuple(gradient.indices()), gradient.values()
        if g.numel() == 0:
            return
        if group["maximize"]:
            g = -g
        beta1, beta2 = group["betas"]
        mean = state["exp_avg"][at]
        mean = mean + (g - mean) * (1 - beta1)
        square = state["exp_avg_sq"][at]
        square = square + (g * g - square) * (1 - beta2)
        state["exp_avg"][at], state["exp_avg_sq"][at] = mean, square
        correction1, correction2 = 1 - beta1 ** state["step"], 1 - beta2 ** state["step"]
        rate = number(group["lr"]) * math.sqrt(correction2) / correction1
        p[at] = p[at] - mean / (square.sqrt() + group["eps"]) * rate
