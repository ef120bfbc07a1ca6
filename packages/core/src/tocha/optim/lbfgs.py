"""L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tocha
from tocha._core.tensor import Tensor

from . import _validate
from ._elementwise import number
from ._line_search import Point, strong_wolfe
from .optimizer import Optimizer, ParamsT

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """A quasi-Newton method that remembers the last steps and changes of the gradient; for full batches.

    Args:
        params: tensors (one group only).
        lr: length of the steps, or with a line search of its first try.
        max_iter: steps of the method in one call of ``step``.
        max_eval: evaluations of the closure in one call; ``max_iter * 1.25`` where None.
        tolerance_grad: stop where no entry of the gradient is larger.
        tolerance_change: stop where neither the parameters nor the loss change by more.
        history_size: how many steps are remembered; each needs twice the memory of the parameters.
        line_search_fn: ``"strong_wolfe"`` or None.

    Raises:
        ValueError: an option is out of range, or there are several groups.

    Source: Nocedal and Wright, Numerical Optimization, algorithm 7.4;
    https://docs.pytorch.org/docs/2.13/generated/torch.optim.LBFGS.html

    >>> import tocha
    >>> w = tocha.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = tocha.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> tocha.allclose(w, tocha.ones(2))
    True
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        _validate.learning_rate(lr)
        defaults = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    # ------------------------------------------------------------ all parameters as one vector of real numbers

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    def _gradient(self) -> Tensor:
        parts = []
        for p in self._params:
            g: Any = tocha.zeros_like(p) if p.grad is None else p.grad
            if getattr(g, "is_sparse", False):
                g = g.to_dense()
            parts.append((tocha.view_as_real(g) if p.is_complex() else g).reshape(-1))
        return tocha.cat(parts)

    def _move(self, length: Any, direction: Tensor) -> None:
        start = 0
        for p in self._params:
            target = tocha.view_as_real(p) if p.is_complex() else p
            stop = start + target.numel()
            target.add_(direction[start:stop].view(target.shape), alpha=float(length))
            start = stop

    # ------------------------------------------------------------ the step

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Run up to ``max_iter`` steps of the method.

        Args:
            closure: clears the gradients, computes the loss, calls ``backward`` and returns the loss.

        Returns:
            the loss before the first step.
        """
        with tocha.no_grad():
            return self._step(tocha.enable_grad()(closure))

    def _step(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        lr, max_iter, max_eval = number(group["lr"]), group["max_iter"], group["max_eval"]
        search = group["line_search_fn"]
        if search not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        gradient = self._gradient()
        if gradient.abs().max() <= group["tolerance_grad"]:
            return first_loss
        for n in range(1, max_iter + 1):
            state["n_iter"] += 1
            direction = self._direction(state, gradient, group["history_size"])
            previous_loss = loss
            state["prev_flat_grad"], state["prev_loss"] = gradient.clone(), loss
            length = lr
            if state["n_iter"] == 1:
                length = min(1.0, 1.0 / float(gradient.abs().sum())) * lr
            state["d"], state["t"] = direction, length
            slope = float(gradient.dot(direction))
            if slope > -group["tolerance_change"]:
                break
            used, small = 0, False
            if search is not None:
                start = Point(0.0, loss, gradient, slope)
                point, used = self._search(closure, start, length, direction, max_eval - evaluations)
                length, loss, gradient = point.t, point.loss, point.gradient
                state["t"] = length
                self._move(length, direction)
                small = bool(gradient.abs().max() <= group["tolerance_grad"])
            else:
                self._move(length, direction)
                if n != max_iter:  # the last evaluation would be for nothing
                    loss, gradient, used = float(closure()), self._gradient(), 1
                    small = bool(gradient.abs().max() <= group["tolerance_grad"])
            evaluations += used
            state["func_evals"] += used
            moved = float((direction * length).abs().max())
            if evaluations >= max_eval or small or moved <= group["tolerance_change"]:
                break
            if abs(loss - previous_loss) < group["tolerance_change"]:
                break
        return first_loss

    def _direction(self, state: dict[str, Any], gradient: Tensor, history_size: int) -> Tensor:
        """Where to go from here: the gradient times the approximate inverse Hessian, downhill."""
        if state["n_iter"] == 1:
            state["old_dirs"], state["old_stps"], state["ro"], state["H_diag"] = [], [], [], 1
            return -gradient
        changes, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        change, step = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        along = change.dot(step)
        if along > 1e-10:
            if len(changes) == history_size:
                for kept in (changes, steps, ro):
                    kept.pop(0)
            changes.append(change)
            steps.append(step)
            ro.append(1.0 / along)
            state["H_diag"] = along / change.dot(change)
        # Two loops over the history, newest first and then oldest first.
        shares = state.setdefault("al", [None] * history_size)
        q = -gradient
        for i in range(len(changes) - 1, -1, -1):
            shares[i] = steps[i].dot(q) * ro[i]
            q = q - changes[i] * shares[i]
        q = q * state["H_diag"]
        for i in range(len(changes)):
            q = q + steps[i] * (shares[i] - changes[i].dot(q) * ro[i])
        return q

    def _search(
        self, closure: Callable[[], Any], start: Point, length: float, direction: Tensor, max_evaluations: int
    ) -> tuple[Point, int]:
        origin = [p.clone() for p in self._params]

        def evaluate(t: float) -> Point:
            self._move(t, direction)
            loss = float(closure())
            gradient = self._gradient()
            for p, values in zip(self._params, origin, strict=True):
                p.copy_(values)
            return Point(t, loss, gradient, float(gradient.dot(direction)))

        return strong_wolfe(evaluate, start, length, float(direction.abs().max()), max_evaluations)
