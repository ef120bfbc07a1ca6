"""Precision plugins: what happens around forward, backward and the optimizer's step."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import tocha
from tocha import Tensor
from tocha.nn.utils import clip_grad_norm_, clip_grad_value_
from tocha.optim import Optimizer
from tocha_lightning.utilities.collections import apply_to_collection


def cast_floats(data: Any, dtype: tocha.dtype) -> Any:
    """The floating-point tensors of a nested batch in another type."""
    return apply_to_collection(data, Tensor, lambda t: t.to(dtype) if t.is_floating_point() else t)


class Precision:
    """Single precision, and the base of the others."""

    precision: str = "32-true"
    # lets the Trainer skip `convert_input` and the contexts where they do nothing
    plain = True

    def convert_module(self, module: Any) -> Any:
        """Change the type of the module's parameters."""
        return module

    def convert_input(self, data: Any) -> Any:
        """Change the type of a batch, before it goes to the device."""
        return data

    def forward_context(self) -> AbstractContextManager[Any]:
        """Around every step."""
        return contextlib.nullcontext()

    def module_init_context(self) -> AbstractContextManager[Any]:
        """Around `configure_model`."""
        return contextlib.nullcontext()

    def pre_backward(self, loss: Tensor, module: Any) -> Tensor:
        """Before backward: runs the hooks, may scale the loss."""
        calls = module.trainer._hooks
        calls.callbacks("on_before_backward", loss)
        calls.module("on_before_backward", loss)
        return loss

    def backward(self, loss: Tensor, module: Any, optimizer: Optimizer | None, *args: Any, **kwargs: Any) -> None:
        """Compute the gradients through `LightningModule.backward`."""
        module.trainer._hooks.module("backward", loss, *args) if not kwargs else module.backward(loss, *args, **kwargs)

    def post_backward(self, module: Any) -> None:
        """After backward: runs the hooks."""
        calls = module.trainer._hooks
        calls.callbacks("on_after_backward")
        calls.module("on_after_backward")

    def after_closure(self, module: Any, optimizer: Optimizer) -> None:
        """Between the closure and the update: runs the hooks and clips the gradients."""
        trainer = module.trainer
        calls = trainer._hooks
        calls.callbacks("on_before_optimizer_step", optimizer)
        calls.module("on_before_optimizer_step", optimizer)
        if module.automatic_optimization and trainer._clips_gradients:
            calls.module(
                "configure_gradient_clipping", optimizer, trainer.gradient_clip_val, trainer.gradient_clip_algorithm
            )

    def optimizer_step(self, optimizer: Optimizer, module: Any, closure: Callable[[], Any], **kwargs: Any) -> Any:
        """Step the optimizer with the closure."""

        def closure_and_hooks() -> Any:
            loss = closure()
            self.after_closure(module, optimizer)
            return loss

        return optimizer.step(closure=closure_and_hooks, **kwargs)

    def clip_gradients(self, optimizer: Optimizer, clip_val: float = 0.0, algorithm: str = "norm") -> None:
        """Clip the gradients of the optimizer's parameters; nothing at a `clip_val` of 0."""
        if clip_val <= 0:
            return
        parameters = self.main_params(optimizer)
        if algorithm == "value":
            clip_grad_value_(parameters, clip_value=clip_val)
        else:
            clip_grad_norm_(parameters, clip_val)

    def main_params(self, optimizer: Optimizer) -> list[Any]:
        """The parameters of the optimizer."""
        return [parameter for group in optimizer.param_groups for parameter in group["params"]]

    def state_dict(self) -> dict[str, Any]:
        """State to keep in checkpoints."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""

    def teardown(self) -> None:
        """The run is over."""


@contextlib.contextmanager
def default_dtype(dtype: tocha.dtype) -> Any:
    """New floating-point tensors have this type within."""
    previous = tocha.get_default_dtype()
    tocha.set_default_dtype(dtype)
    try:
        yield
    finally:
        tocha.set_default_dtype(previous)


class DoublePrecision(Precision):
    """Double precision everywhere: parameters, batches and new tensors."""

    precision = "64-true"
    plain = False

    def convert_module(self, module: Any) -> Any:
        """To float64."""
        return module.double()

    def convert_input(self, data: Any) -> Any:
        """To float64."""
        return cast_floats(data, tocha.float64)

    def forward_context(self) -> AbstractContextManager[Any]:
        """New tensors are float64."""
        return default_dtype(tocha.float64)

    module_init_context = forward_context


class HalfPrecision(Precision):
    """Half precision everywhere.

    Args:
        precision: ``"bf16-true"`` or ``"16-true"``.
    """

    plain = False

    def __init__(self, precision: str = "16-true") -> None:
        self.precision = precision
        self._dtype = tocha.bfloat16 if precision == "bf16-true" else tocha.float16

    def convert_module(self, module: Any) -> Any:
        """To the half-precision type."""
        return module.to(dtype=self._dtype)

    def convert_input(self, data: Any) -> Any:
        """To the half-precision type."""
        return cast_floats(data, self._dtype)

    def forward_context(self) -> AbstractContextManager[Any]:
        """New tensors have the half-precision type."""
        return default_dtype(self._dtype)

    module_init_context = forward_context
