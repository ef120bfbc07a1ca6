"""Optimizers whose update of a number depends on that number, its gradient and its state alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tocha
from tocha._core import arrays as array_modules
from tocha._core.tensor import Tensor, wrap
from tocha._core.views import bump_version

from ._blocks import BLOCK, update_in_blocks
from ._bucket import Bucket
from ._plan import Plan
from .optimizer import Optimizer, ParamsT, run_closure


def number(value: Any) -> Any:
    """Options may be tensors of one element."""
    return value.item() if isinstance(value, Tensor) else value


def nonzero(value: Any) -> bool:
    """Whether an option has an effect; one that is a tensor has a gradient to keep."""
    return isinstance(value, Tensor) or value != 0


def direction(p: Any, g: Any, weight_decay: Any, maximize: bool) -> Any:
    """The gradient to descend along: turned round to climb, with the L2 penalty's part."""
    if maximize:
        g = -g
    return g + p * weight_decay if nonzero(weight_decay) else g


class Elementwise(Optimizer):
    """Base of the optimizers that work number by number; a subclass says how in a few lines.

    It defines ``_rule``, the update in plain formulas, which runs on raw arrays and, with ``differentiable=True``, on
    tensors; and where speed matters ``_kernel``, the same update in place. The rest is here: groups, state, the flat
    buffer of small parameters, blocks of large ones, low precision and complex numbers.
    """

    # 0-d tensors of state on the CPU, in PyTorch's layout
    _scalar_names: tuple[str, ...] = ("step",)
    # _kernel(xp) -> update(p, g, arrays, u, w, numbers, constants), in place; u and w are scratch
    _kernel: Callable[[Any], Callable] | None = None

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        super().__init__(params, defaults)
        self._forget_plans()

    # ------------------------------------------------------------ what subclasses say

    def _array_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        """The state's arrays, in the order in which the rule takes them."""
        raise NotImplementedError

    def _first_scalars(self, group: dict[str, Any]) -> tuple[float, ...]:
        """The scalars before the first step."""
        return (0.0,)

    def _first_array(self, name: str, p: Any, g: Any, group: dict[str, Any]) -> Any:
        """A state array before the first step (raw)."""
        return array_modules.module_of(p).zeros_like(p)

    def _numbers(
        self, group: dict[str, Any], scalars: tuple[float, ...], number: Callable[[Any], Any]
    ) -> tuple[tuple, Any]:
        """The scalars after this step, and what the rule needs besides arrays, as numbers."""
        raise NotImplementedError

    @staticmethod
    def _rule(xp: Any, p: Any, g: Any, arrays: tuple, n: Any) -> tuple:
        """``(new p, new arrays…)``; ``xp`` is the array module, or ``tocha`` for tensors."""
        raise NotImplementedError

    @staticmethod
    def _constants(n: Any) -> tuple[float, ...]:
        """Numbers that the kernel wants as 0-d arrays, which are faster than Python's floats."""
        return ()

    # ------------------------------------------------------------ the step

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients.

        Args:
            closure: computes the loss and the gradients anew; called first.

        Returns:
            what the closure returned, or None.
        """
        loss = None if closure is None else run_closure(closure)
        for i, group in enumerate(self.param_groups):
            if group["differentiable"]:
                for p in group["params"]:
                    if p.grad is not None:
                        self._step_tensors(p, group)
                continue
            plan = self._plan_of(i, group)
            for bucket in plan.buckets:
                self._step_bucket(plan, bucket, group)
            for p in plan.rest:
                if p._grad is not None:
                    self._step_one(p, group)
        return loss

    def _step_bucket(self, plan: Plan, bucket: Bucket, group: dict[str, Any]) -> None:
        if bucket.ready(self.state):
            scalars, n = self._numbers(group, bucket.values, number)
            if bucket.tools is None:
                update, constants, (u, w) = self._tools(bucket.xp, bucket.dtype)
                bucket.tools = (update, constants, u[: bucket.flat.size], w[: bucket.flat.size])
            update, constants, u, w = bucket.tools
            values = constants(self._constants(n))
            if bucket.flat.size <= BLOCK:
                update(bucket.flat, bucket.gradient, bucket.arrays, u, w, n, values)
            else:
                update_in_blocks(update, (u, w), bucket.flat, bucket.gradient, bucket.arrays, n, values)
            bucket.written(scalars)
            return
        plan.broken = plan.broken or not bucket.waiting()
        for p in bucket.params:
            if p._grad is not None:
                self._step_one(p, group)

    def _step_one(self, p: Tensor, group: dict[str, Any]) -> None:
        g = p._grad
        if getattr(g, "is_sparse", False):
            self._step_sparse(p, group)
            return
        names = self._array_names(group)
        state = self._state_of(p, names, group)
        scalars, n = self._numbers(group, tuple([number(state[name]) for name in self._scalar_names]), number)
        self._update(p._data, g._data, tuple([state[name]._data for name in names]), n)
        for name, value in zip(self._scalar_names, scalars, strict=True):
            state[name]._data[...] = value
        bump_version(p)

    def _step_sparse(self, p: Tensor, group: dict[str, Any]) -> None:
        """Step a parameter whose gradient is sparse; most optimizers cannot."""
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def _state_of(self, p: Tensor, names: tuple[str, ...], group: dict[str, Any]) -> dict[str, Any]:
        if not names and not self._scalar_names:
            return {}  # and no entry, as PyTorch has none
        state = self.state[p]
        missing = [name for name in (*self._scalar_names, *names) if name not in state]
        if missing:
            firsts = dict(zip(self._scalar_names, self._first_scalars(group), strict=True))
            for name in missing:
                if name in firsts:
                    state[name] = tocha.tensor(firsts[name], dtype=scalar_dtype())
                else:
                    state[name] = wrap(self._first_array(name, p._data, p._grad._data, group))
        return state

    def _step_tensors(self, p: Tensor, group: dict[str, Any]) -> None:
        """The step as a differentiable function: of the gradient, and of options that are tensors."""
        names = self._array_names(group)
        state = self._state_of(p, names, group)
        scalars, n = self._numbers(
            group, tuple([number(state[name]) for name in self._scalar_names]), lambda value: value
        )
        with tocha.enable_grad():
            parts: Callable = tocha.view_as_real if p.is_complex() else lambda t: t
            whole = tocha.view_as_complex if p.is_complex() else lambda t: t
            values = self._rule(tocha, parts(p), parts(p.grad), tuple([parts(state[name]) for name in names]), n)
            for target, value in zip((p, *[state[name] for name in names]), values, strict=True):
                target.copy_(whole(value))
        for name, value in zip(self._scalar_names, scalars, strict=True):
            state[name].fill_(number(value))

    # ------------------------------------------------------------ raw arrays

    def _update(self, p: Any, g: Any, arrays: tuple, n: Any) -> None:
        """Update raw arrays of any layout and dtype in place."""
        xp = array_modules.module_of(p)
        whole = [xp.ascontiguousarray(a) for a in (p, g, *arrays)]
        if p.dtype.kind == "c":
            parts = [a.view(a.real.dtype) for a in whole]
        elif p.dtype.itemsize < 4:
            parts = whole = [a.astype(np.float32) for a in whole]
        else:
            parts = whole
        flat_p, flat_g, *flat_arrays = [a.reshape(-1) for a in parts]
        update, constants, scratch = self._tools(xp, flat_p.dtype)
        update_in_blocks(update, scratch, flat_p, flat_g, tuple(flat_arrays), n, constants(self._constants(n)))
        for target, done in zip((p, *arrays), (whole[0], *whole[2:]), strict=True):
            if done is not target:
                target[...] = done.reshape(target.shape)

    def _tools(self, xp: Any, dtype: Any) -> tuple:
        """The update for an array module, what makes its constants for a dtype, and scratch arrays."""
        tools = self._tool_cache.get((xp, dtype))
        if tools is None:
            kernel = type(self)._kernel
            update = self._by_rule(xp) if kernel is None else kernel(xp)
            constants = _as_constants(dtype) if xp is np else tuple
            tools = (update, constants, (xp.empty(BLOCK, dtype), xp.empty(BLOCK, dtype)))
            self._tool_cache[xp, dtype] = tools
        return tools

    def _by_rule(self, xp: Any) -> Callable:
        rule = self._rule

        def update(p: Any, g: Any, arrays: Any, u: Any, w: Any, n: Any, constants: Any) -> None:
            for target, value in zip((p, *arrays), rule(xp, p, g, tuple(arrays), n), strict=True):
                target[...] = value

        return update

    # ------------------------------------------------------------ plans

    def _forget_plans(self) -> None:
        self._plans: dict[int, Plan] = {}
        self._tool_cache: dict[tuple, tuple] = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._forget_plans()
        for p_state in self.state.values():
            for name in self._scalar_names:
                # PyTorch before 1.12 kept numbers here.
                if name in p_state and not isinstance(p_state[name], Tensor):
                    p_state[name] = tocha.tensor(float(p_state[name]), dtype=scalar_dtype())

    def _plan_of(self, index: int, group: dict[str, Any]) -> Plan:
        plan = self._plans.get(index)
        if plan is not None and plan.fits(group["params"], self.state):
            return plan
        names = self._array_names(group)

        def state_of(p: Tensor) -> dict[str, Any]:
            return self._state_of(p, names, group)

        plan = self._plans[index] = Plan(group["params"], self.state, state_of, names, self._scalar_names, plan)
        return plan


def scalar_dtype() -> Any:
    return tocha.float64 if tocha.get_default_dtype() == tocha.float64 else tocha.float32


def rounded(value: float) -> float:
    """A number as a scalar of the state holds it."""
    return float(np.float32(value)) if scalar_dtype() == tocha.float32 else value


def _as_constants(dtype: Any) -> Callable[[tuple[float, ...]], list]:
    """Numbers to 0-d arrays; those of the previous step are used again where a number has not changed."""
    last: dict[int, tuple[float, np.ndarray]] = {}

    def constants(values: tuple[float, ...]) -> list:
        out = []
        for i, value in enumerate(values):
            kept = last.get(i)
            if kept is None or kept[0] != value:
                kept = last[i] = (value, np.array(value, dtype))
            out.append(kept[1])
        return out

    return constants
