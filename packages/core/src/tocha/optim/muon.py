"""Muon."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tocha
from tocha._core.tensor import Tensor

from ._elementwise import number
from .optimizer import Optimizer, ParamsT, run_closure

__all__ = ["Muon"]


class Muon(Optimizer):
    """Momentum made orthogonal: every direction of a weight matrix moves by the same amount.

    For the matrices of hidden layers; train biases, norms and embeddings with another optimizer.

    Args:
        params: matrices.
        lr: learning rate (a number, or a tensor of one element).
        weight_decay: the weights are multiplied by ``1 - lr * weight_decay`` at each step.
        momentum: how much of the running mean of gradients is kept.
        nesterov: look ahead by the momentum.
        ns_coefficients: the three coefficients of the Newton-Schulz iteration's polynomial.
        eps: the smallest norm that a gradient is divided by.
        ns_steps: number of iterations, below 100.
        adjust_lr_fn: how the rate depends on the matrix's shape: ``"original"`` (also None) or ``"match_rms_adamw"``.

    Raises:
        ValueError: an option is out of range, or a parameter is no matrix.

    Source: Jordan, https://kellerjordan.github.io/posts/muon/; Liu et al., https://arxiv.org/abs/2502.16982;
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.Muon.html

    >>> import tocha
    >>> w = tocha.zeros(3, 2, requires_grad=True)
    >>> tocha.optim.Muon([w]).defaults["momentum"]
    0.95
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not 0.0 <= value:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                    )

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
        if p.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        if getattr(p.grad, "is_sparse", False):
            raise RuntimeError("Muon does not support sparse gradients")
        gradient: Any = p.grad
        lr, momentum = number(group["lr"]), group["momentum"]
        state = self.state[p]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = tocha.zeros_like(gradient)
        mean = state["momentum_buffer"]
        mean.add_((gradient - mean) * (1 - momentum))
        update = gradient + (mean - gradient) * momentum if group["nesterov"] else mean
        update = orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = p.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            rate = lr * 0.2 * math.sqrt(max(rows, columns))
        else:
            rate = lr * math.sqrt(max(1, rows / columns))
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(update.to(p.dtype), alpha=-rate)


def orthogonal(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """The matrix with its singular values brought near 1, by a Newton-Schulz iteration in bfloat16 (as PyTorch's)."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if matrix.ndim != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]

    def rounded(t: Tensor) -> Tensor:
        # Sums and products are taken in float32 and rounded once, as a matrix product of bfloat16 does.
        return t.to(tocha.bfloat16).to(tocha.float32)

    x = rounded(matrix.t() if tall else matrix)
    x = rounded(x / rounded((x * x).sum().sqrt()).clamp(min=eps))
    for _ in range(steps):
        gram = rounded(x @ x.t())
        x = rounded(x * a + rounded(gram * b + (gram @ gram) * c) @ x)
    return x.t() if tall else x
