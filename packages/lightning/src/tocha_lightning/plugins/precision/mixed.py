"""Mixed precision: parameters in float32, operators in half precision where that is safe."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import tocha
from tocha import Tensor
from tocha.optim import Optimizer
from tocha_lightning.plugins.precision.precision import Precision
from tocha_lightning.utilities.exceptions import MisconfigurationException


class MixedPrecision(Precision):
    """Automatic mixed precision, with loss scaling for float16.

    Args:
        precision: ``"16-mixed"`` or ``"bf16-mixed"``.
        device: the type of the device, ``"cpu"`` or ``"cuda"``.
        scaler: the gradient scaler of ``"16-mixed"``; by default a new `tocha.amp.GradScaler`.

    Raises:
        ValueError: another precision, or a scaler for bfloat16.
    """

    plain = False

    def __init__(self, precision: str, device: str, scaler: Any = None) -> None:
        if precision not in ("16-mixed", "bf16-mixed"):
            raise ValueError(f"`precision` must be '16-mixed' or 'bf16-mixed', got {precision!r}.")
        if precision == "bf16-mixed" and scaler is not None:
            raise ValueError("`precision='bf16-mixed'` does not use a scaler, found one.")
        if not hasattr(tocha, "amp"):
            raise MisconfigurationException(
                f"`precision={precision!r}` needs automatic mixed precision (tocha.amp), which this version of tocha"
                " does not have. Use '32-true', '16-true' or 'bf16-true'."
            )
        self.precision = precision
        self.device = device
        self.scaler = tocha.amp.GradScaler(device=device) if precision == "16-mixed" and scaler is None else scaler

    def forward_context(self) -> AbstractContextManager[Any]:
        """Autocast."""
        dtype = tocha.bfloat16 if self.precision == "bf16-mixed" else tocha.float16
        # cached casts would outlive the gradients of manual optimization
        return tocha.amp.autocast(self.device, dtype=dtype, cache_enabled=False)

    def pre_backward(self, loss: Tensor, module: Any) -> Tensor:
        """Scale the loss, then run the hooks."""
        if self.scaler is not None:
            loss = self.scaler.scale(loss)
        return super().pre_backward(loss, module)

    def optimizer_step(self, optimizer: Optimizer, module: Any, closure: Callable[[], Any], **kwargs: Any) -> Any:
        """Run the closure, unscale and clip the gradients, step unless they overflowed, update the scale."""
        if self.scaler is None:
            return super().optimizer_step(optimizer, module, closure, **kwargs)
        loss = closure()
        if not module.automatic_optimization or loss is not None:
            self.scaler.unscale_(optimizer)
        self.after_closure(module, optimizer)
        if module.automatic_optimization and loss is None:
            return loss
        output = self.scaler.step(optimizer, **kwargs)
        self.scaler.update()
        return output

    def state_dict(self) -> dict[str, Any]:
        """The scaler's state."""
        return self.scaler.state_dict() if self.scaler is not None else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the scaler's state."""
        if self.scaler is not None:
            self.scaler.load_state_dict(state_dict)
