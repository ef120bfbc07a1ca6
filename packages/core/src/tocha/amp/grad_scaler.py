"""Scaling of losses, so that small gradients do not vanish in float16."""

from __future__ import annotations

import warnings
from typing import Any

import tocha

__all__ = ["GradScaler"]

_READY, _UNSCALED, _STEPPED = range(3)


class GradScaler:
    """Multiplies losses by a scale that it adapts.

    The scale falls when gradients overflow, whose step is skipped, and grows when they have not for a while.

    Args:
        device: "cuda" (disabled, with a warning, where there is none) or "cpu".
        init_scale: the first scale.
        growth_factor, backoff_factor: by which it grows after ``growth_interval`` steps without overflow, and shrinks.
        enabled: False makes all methods do what training without a scaler does.

    Example:
        >>> import tocha
        >>> w = tocha.nn.Parameter(tocha.ones(1))
        >>> scaler, optimizer = tocha.GradScaler("cpu", init_scale=8.0), tocha.optim.SGD([w], lr=0.5)
        >>> scaler.scale((w * 2).sum()).backward()
        >>> _ = scaler.step(optimizer)
        >>> scaler.update()
        >>> w.detach(), scaler.get_scale()
        (tensor([0.]), 8.0)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda" and not tocha.cuda.is_available():
            warnings.warn("tocha.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if self._enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
        self._scale, self._growth_factor, self._backoff_factor = float(init_scale), growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker = growth_interval, 0
        self._optimizers: dict[int, tuple[int, bool]] = {}  # optimizer -> its stage, did a gradient overflow

    def scale(self, outputs: Any) -> Any:
        """``outputs`` (a tensor, or containers of them) times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, tocha.Tensor):
            return outputs * tocha.tensor(self._scale, dtype=tocha.float32, device=outputs.device)
        if isinstance(outputs, (list, tuple)):
            scaled = [self.scale(o) for o in outputs]
            return type(outputs)(*scaled) if hasattr(outputs, "_fields") else type(outputs)(scaled)
        if hasattr(outputs, "__iter__"):
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _stage(self, optimizer: Any) -> tuple[int, bool | None]:
        return self._optimizers.get(id(optimizer), (_READY, None))

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of ``optimizer`` by the scale, for instance to clip them before :meth:`step`.

        Raises:
            RuntimeError: it has been called since the last ``update``, or ``step`` has.
            ValueError: a gradient is float16, which could not hold it.
        """
        if not self._enabled:
            return
        stage, _ = self._stage(optimizer)
        if stage == _UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if stage == _STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        self._optimizers[id(optimizer)] = _UNSCALED, self._divide(grads)

    def _divide(self, grads: list) -> Any:
        """None where there are no gradients, otherwise whether one is not finite."""
        overflow = None
        with tocha.no_grad():
            for grad in grads:
                if grad.dtype is tocha.float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                grad.mul_(1.0 / self._scale)
                overflow = bool(overflow) or not bool(tocha.isfinite(grad).all())
        return overflow

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(*args, **kwargs)`` with unscaled gradients; nothing (None) where one is not finite.

        Raises:
            RuntimeError: it has been called since the last ``update``, or a closure is given.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        stage, _ = self._stage(optimizer)
        if stage == _STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if stage == _READY:
            self.unscale_(optimizer)
        _, overflow = self._stage(optimizer)
        if overflow is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None if overflow else optimizer.step(*args, **kwargs)
        self._optimizers[id(optimizer)] = _STEPPED, overflow
        return result

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale after the steps of an iteration, or set it."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            found = [overflow for _, overflow in self._optimizers.values() if overflow is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            if any(found):
                self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    self._scale, self._growth_tracker = self._scale * self._growth_factor, 0
        self._optimizers = {}

    def is_enabled(self) -> bool:
        """Does it scale?"""
        return self._enabled

    def get_scale(self) -> float:
        """The scale; 1 where it is disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """The factor that the scale grows by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor that the scale grows by."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor that the scale shrinks by."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor that the scale shrinks by."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps without overflow the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many steps without overflow the scale grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The scale, its factors and its count, in PyTorch's layout; empty where it is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` gave.

        Raises:
            RuntimeError: it is empty: from a scaler that was disabled.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of "
                "GradScaler."
            )
        self._scale = float(state_dict["scale"])
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._growth_tracker = state_dict["growth_interval"], state_dict["_growth_tracker"]

    def __getstate__(self) -> dict[str, Any]:
        if self._optimizers:
            raise AssertionError("A GradScaler instance may only be pickled at the beginning of an iteration, "
                                 "or at the end after scaler.update().")  # fmt: skip
        return dict(self.__dict__)
