"""Adafactor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tocha
from tocha._core.tensor import Tensor

from ._elementwise import number, scalar_dtype
from .optimizer import Optimizer, ParamsT, run_closure

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Steps scaled to the parameters' size, with the squares of a matrix's gradient kept as one row and one column.

    Args:
        params: tensors, named tensors or groups.
        lr: largest step relative to the root mean square of the parameter (a number, or a tensor of one element).
        beta2_decay: power of the step's number at which the running means forget; at most 0.
        eps: least value of the mean squares (None: the dtype's epsilon), and of the parameter's root mean square.
        d: the update's root mean square is clipped to this; at least 1.
        weight_decay: the weights are multiplied by ``1 - lr * weight_decay`` at each step.
        foreach: PyTorch's choice of implementation; accepted, no effect.
        maximize: climb instead of descend.

    Raises:
        ValueError: an option is out of range.

    Source: Shazeer and Stern, https://arxiv.org/abs/1804.04235;
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adafactor.html

    >>> import tocha
    >>> w = tocha.zeros(3, 2, requires_grad=True)
    >>> tocha.optim.Adafactor([w]).defaults["beta2_decay"]
    -0.8
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 <= lr:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients; a ``closure`` that computes the loss is called first."""
        loss = run_closure(closure)
        with tocha.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._step_one(p, group)
        return loss

    def _state_of(self, p: Tensor) -> dict[str, Any]:
        state, gradient = self.state[p], p.grad
        assert gradient is not None
        if not state:
            state["step"] = tocha.tensor(0.0, dtype=scalar_dtype())
            shape = tuple(gradient.shape)
            if len(shape) > 1:
                state["row_var"] = gradient.new_zeros((*shape[:-1], 1))
                state["col_var"] = gradient.new_zeros((*shape[:-2], 1, shape[-1]))
            else:
                state["variance"] = tocha.zeros_like(gradient)
        return state

    def _step_one(self, p: Tensor, group: dict[str, Any]) -> None:
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        if getattr(p.grad, "is_sparse", False):
            raise RuntimeError("Adafactor does not support sparse gradients")
        g: Any = p.grad
        if group["maximize"]:
            g = -g
        lr, (eps1, eps2) = number(group["lr"]), group["eps"]
        if eps1 is None:
            eps1 = tocha.finfo(p.dtype).eps
        state = self._state_of(p)
        state["step"].add_(1)
        step = state["step"].item()
        fresh = step ** group["beta2_decay"]
        rate = max(eps2, root_mean_square(p)) * min(lr, 1 / step**0.5)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        square = g * g
        if g.dim() > 1:
            rows, columns = state["row_var"], state["col_var"]
            rows.add_((square.mean(-1, keepdim=True) - rows) * fresh)
            columns.add_((square.mean(-2, keepdim=True) - columns) * fresh)
            estimate = rows @ columns / rows.mean(-2, keepdim=True).clamp(min=eps1)
        else:
            estimate = state["variance"]
            estimate.add_((square - estimate) * fresh)
        update = g * estimate.clamp(min=eps1 * eps1).rsqrt()
        p.add_(update, alpha=-rate / max(1.0, root_mean_square(update) / group["d"]))


def root_mean_square(x: Tensor) -> float:
    return x.norm().item() / x.numel() ** 0.5
