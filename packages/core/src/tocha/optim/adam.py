"""Adam and AdamW."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from tocha._core.tensor import Tensor

from . import _validate
from ._elementwise import Elementwise, direction, nonzero
from .optimizer import ParamsT

__all__ = ["Adam", "AdamW"]


class _Numbers(NamedTuple):
    lr: Any
    beta1: Any
    beta2: Any
    eps: float
    weight_decay: Any
    decoupled: bool
    amsgrad: bool
    maximize: bool
    correction1: Any
    root_correction2: Any


class Adam(Elementwise):
    """Adam: a running mean of the gradients over the root of a running mean of their squares.

    Args:
        params: tensors, named tensors or groups.
        lr: learning rate (a number, or a tensor of one element).
        betas: how much of the running means of gradients and of their squares is kept at each step.
        eps: added to the denominator.
        weight_decay: L2 penalty, added to the gradient; with ``decoupled_weight_decay`` applied to the weights instead.
        amsgrad: divide by the largest mean of squares so far.
        maximize: climb instead of descend.
        differentiable: make the step part of the graph.
        foreach, fused, capturable: PyTorch's choices of implementation; accepted, no effect.
        decoupled_weight_decay: AdamW.

    Raises:
        ValueError: an option is out of range.

    Source: Kingma and Ba, https://arxiv.org/abs/1412.6980;
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.Adam.html

    >>> import tocha
    >>> w = tocha.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tocha.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        _validate.learning_rate(lr, foreach, capturable)
        _validate.at_least_zero(eps=eps)
        _validate.two_betas(betas)
        _validate.at_least_zero(weight_decay=weight_decay)
        _validate.implementation(foreach, fused, differentiable)
        tensors = [isinstance(beta, Tensor) for beta in betas]
        if tensors[0] != tensors[1] or not all(isinstance(beta, (float, Tensor)) for beta in betas):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                if foreach and not capturable:
                    raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{i}] must be 1-element")
        defaults = {
            "lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
            "fused": fused, "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _array_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")

    def _step_sparse(self, p: Tensor, group: dict[str, Any]) -> None:
        raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead")

    def _numbers(self, group: dict[str, Any], scalars: tuple, number: Callable[[Any], Any]) -> tuple[tuple, _Numbers]:
        step = scalars[0] + 1
        beta1, beta2 = group["betas"]
        beta1, beta2 = number(beta1), number(beta2)
        n = _Numbers(
            number(group["lr"]), beta1, beta2, group["eps"], number(group["weight_decay"]),
            group["decoupled_weight_decay"], group["amsgrad"], group["maximize"],
            1 - beta1**step, (1 - beta2**step) ** 0.5,
        )  # fmt: skip
        return (step,), n

    @staticmethod
    def _rule(xp: Any, p: Any, g: Any, arrays: tuple, n: _Numbers) -> tuple:
        mean, square, *largest = arrays
        g = direction(p, g, 0 if n.decoupled else n.weight_decay, n.maximize)
        if n.decoupled and nonzero(n.weight_decay):
            p = p * (1 - n.lr * n.weight_decay)
        mean = mean + (g - mean) * (1 - n.beta1)
        square = square * n.beta2 + g * g * (1 - n.beta2)
        bound = square
        if n.amsgrad:
            largest = [xp.maximum(largest[0], square)]
            bound = largest[0]
        denominator = xp.sqrt(bound) / n.root_correction2 + n.eps
        return (p - mean / denominator * (n.lr / n.correction1), mean, square, *largest)

    @staticmethod
    def _constants(n: _Numbers) -> tuple[float, ...]:
        decay = 1 - n.lr * n.weight_decay if n.decoupled else n.weight_decay
        # p -= lr / c1 * mean / (root / c2 + eps) with the factors moved under the fraction: one pass less.
        rate = n.lr / n.correction1 or math.inf
        return decay, 1 - n.beta1, n.beta2, 1 - n.beta2, 1 / (rate * n.root_correction2), n.eps / rate

    @staticmethod
    def _kernel(xp: Any) -> Callable:
        add, subtract, multiply, divide, sqrt = xp.add, xp.subtract, xp.multiply, xp.divide, xp.sqrt

        def update(p: Any, g: Any, arrays: Any, u: Any, w: Any, n: _Numbers, constants: list) -> None:
            mean, square = arrays[0], arrays[1]
            decay, k1, beta2, k2, scale, floor = constants
            if n.maximize:
                g = xp.negative(g, w)
            if n.weight_decay:
                if n.decoupled:
                    multiply(p, decay, p)
                else:
                    multiply(p, decay, u)
                    g = add(g, u, w)
            subtract(g, mean, u)
            multiply(u, k1, u)
            add(mean, u, mean)
            multiply(g, g, u)
            multiply(u, k2, u)
            multiply(square, beta2, square)
            add(square, u, square)
            if n.amsgrad:
                square = xp.maximum(arrays[2], square, out=arrays[2])
            if n.lr == 0:
                return
            sqrt(square, u)
            multiply(u, scale, u)
            add(u, floor, u)
            divide(mean, u, u)
            subtract(p, u, p)

        return update


class AdamW(Adam):
    """Adam with the weight decay applied to the weights, not mixed into the gradient.

    Args:
        weight_decay: the weights are multiplied by ``1 - lr * weight_decay`` at each step.
        params, lr, betas, eps, amsgrad, maximize, foreach, capturable, differentiable, fused: see ``Adam``.

    Source: Loshchilov and Hutter, https://arxiv.org/abs/1711.05101;
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.AdamW.html

    >>> import tocha
    >>> w = tocha.tensor([1.0], requires_grad=True)
    >>> tocha.optim.AdamW([w]).defaults["weight_decay"]
    0.01
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
