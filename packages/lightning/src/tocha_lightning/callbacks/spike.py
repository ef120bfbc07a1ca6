"""Stopping at a spike of the loss."""

from __future__ import annotations

import json
import math
import os
from collections import deque
from typing import Any

from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.utilities.files import write_atomically


class TrainingSpikeException(RuntimeError):
    """The loss has spiked. `batch_idx` is the batch."""

    def __init__(self, batch_idx: int) -> None:
        super().__init__(f"Training spike detected in batch {batch_idx}")
        self.batch_idx = batch_idx


class SpikeDetection(Callback):
    """Raises `TrainingSpikeException` when the loss jumps away from its running mean.

    The numbers of the batch and of the one before it, which may have spoiled the weights, are written to
    ``skip_batches.json``.

    Args:
        mode: whether the loss is to be small (``"min"``) or large (``"max"``).
        window: over how many batches the mean runs.
        warmup: how many batches to wait.
        atol: a spike is at least so far from the mean.
        rtol: a spike is at least so many times the mean away from it.
        exclude_batches_path: where the numbers are written; by default in `Trainer.default_root_dir`.
        finite_only: a loss that is not finite is a spike.

    Raises:
        ValueError: an unknown mode.
    """

    def __init__(
        self,
        mode: str = "min",
        window: int = 10,
        warmup: int = 1,
        atol: float | None = None,
        rtol: float | None = 2.0,
        exclude_batches_path: str | os.PathLike[str] | None = None,
        finite_only: bool = True,
    ) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"Invalid mode. Has to be min or max, found {mode}")
        self.mode = mode
        self.window = window
        self.warmup = warmup
        self.atol = atol
        self.rtol = rtol
        self.exclude_batches_path = None if exclude_batches_path is None else os.fspath(exclude_batches_path)
        self.finite_only = finite_only
        self.last_val = 0.0
        self.bad_batches: list[int] = []
        self._values: deque[float] = deque(maxlen=window)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Look at the loss."""
        if not outputs or "loss" not in outputs:
            return
        loss = float(outputs["loss"])
        spike = batch_idx >= self.warmup and self._is_spike(loss)
        if trainer.strategy.reduce_boolean_decision(spike, all=False):
            # the batch before may have spoiled the weights
            self.bad_batches += [batch_idx - 1, batch_idx]
            path = self.exclude_batches_path or trainer.default_root_dir
            if not path.endswith(".json"):
                path = os.path.join(path, "skip_batches.json")
            if trainer.is_global_zero:
                write_atomically(path, lambda file: file.write(json.dumps(self.bad_batches, indent=4).encode()))
            raise TrainingSpikeException(batch_idx)
        if math.isfinite(loss):
            self._values.append(loss)
            self.last_val = loss

    def _is_spike(self, loss: float) -> bool:
        if not math.isfinite(loss):
            return self.finite_only
        better = loss <= self.last_val if self.mode == "min" else loss >= self.last_val
        if better or not self._values:
            return False
        mean = sum(self._values) / len(self._values)
        far = abs(loss - mean)
        return (self.atol is None or far >= abs(self.atol)) and (self.rtol is None or far >= abs(self.rtol * mean))

    def state_dict(self) -> dict[str, Any]:
        """The last losses and the batches to leave out."""
        return {"last_val": self.last_val, "bad_batches": self.bad_batches, "values": list(self._values)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore them."""
        self.last_val = state_dict["last_val"]
        self.bad_batches = list(state_dict["bad_batches"])
        self._values = deque(state_dict["values"], maxlen=self.window)
