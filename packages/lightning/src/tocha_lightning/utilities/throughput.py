"""How many batches, samples and operations a run does in a second."""

from __future__ import annotations

from collections import deque
from typing import Any


class Throughput:
    """Rates over a moving window of batches.

    Args:
        available_flops: the floating-point operations that one device can do in a second: gives the utilization.
        world_size: the number of devices.
        window_size: over how many batches.
        separator: between ``device`` and the name of a rate.

    Raises:
        ValueError: a window of less than two batches.

    >>> throughput = Throughput(window_size=2)
    >>> throughput.update(time=1.0, batches=1, samples=8)
    >>> throughput.update(time=3.0, batches=2, samples=16)
    >>> throughput.compute()["device/samples_per_sec"]
    4.0
    """

    def __init__(
        self, available_flops: float | None = None, world_size: int = 1, window_size: int = 100, separator: str = "/"
    ) -> None:
        if window_size < 2:
            raise ValueError(f"`window_size` has to be at least 2, got {window_size}.")
        self.available_flops = available_flops
        self.world_size = world_size
        self.separator = separator
        self.window_size = window_size
        self._totals: deque[tuple[float, int, int, int | None]] = deque(maxlen=window_size)
        self._flops: deque[int] = deque(maxlen=window_size)

    def update(
        self, *, time: float, batches: int, samples: int, lengths: int | None = None, flops: int | None = None
    ) -> None:
        """Take the totals so far.

        Args:
            time: elapsed seconds.
            batches: batches seen.
            samples: samples seen.
            lengths: items of samples seen, tokens for example.
            flops: operations of this batch alone.

        Raises:
            ValueError: a total is smaller than before, or there are fewer samples than batches.
        """
        if samples < batches:
            raise ValueError(f"Expected samples ({samples}) to be greater or equal than batches ({batches})")
        if lengths is not None and lengths < samples:
            raise ValueError(f"Expected lengths ({lengths}) to be greater or equal than samples ({samples})")
        if self._totals and (time < self._totals[-1][0] or batches < self._totals[-1][1]):
            raise ValueError("Expected the totals to increase from one update to the next.")
        self._totals.append((time, batches, samples, lengths))
        if flops is not None:
            self._flops.append(flops * self.world_size)

    @property
    def elapsed(self) -> float:
        """The seconds of the last update."""
        return self._totals[-1][0] if self._totals else 0.0

    def compute(self) -> dict[str, float]:
        """The totals, and the rates once the window is full."""
        if not self._totals:
            return {}
        time, batches, samples, lengths = self._totals[-1]
        metrics: dict[str, Any] = {"time": time, "batches": batches, "samples": samples}
        if lengths is not None:
            metrics["lengths"] = lengths
        first = self._totals[0]
        seconds = time - first[0]
        if len(self._totals) < self.window_size or seconds <= 0:
            return metrics
        rates = {"batches_per_sec": (batches - first[1]) / seconds, "samples_per_sec": (samples - first[2]) / seconds}
        if lengths is not None and first[3] is not None:
            rates["items_per_sec"] = (lengths - first[3]) / seconds
        if len(self._flops) == self.window_size:
            rates["flops_per_sec"] = (sum(self._flops) - self._flops[0]) / seconds / self.world_size
            if self.available_flops:
                metrics[f"device{self.separator}mfu"] = rates["flops_per_sec"] / self.available_flops
        for name, rate in rates.items():
            metrics[f"device{self.separator}{name}"] = rate
            if self.world_size > 1:
                metrics[name] = rate * self.world_size
        return metrics

    def reset(self) -> None:
        """Forget everything."""
        self._totals.clear()
        self._flops.clear()
