"""The time of every action."""

from __future__ import annotations

import os
import statistics
import time
from collections import defaultdict

from tocha_lightning.profilers.profiler import Profiler
from tocha_lightning.utilities.tables import text_table


class SimpleProfiler(Profiler):
    """Measures how long every action takes, and reports mean, number, total and percentage.

    Args:
        dirpath: where the report is written.
        filename: the file's name; without it the report goes to the log.
        extended: also number of calls, total number and percentage.

    Raises:
        ValueError: an action is started twice, or stopped without a start.

    >>> profiler = SimpleProfiler()
    >>> with profiler.profile("load data"):
    ...     pass
    >>> len(profiler.recorded_durations["load data"])
    1
    """

    def __init__(
        self, dirpath: str | os.PathLike[str] | None = None, filename: str | None = None, extended: bool = True
    ) -> None:
        super().__init__(dirpath, filename)
        self.extended = extended
        self.current_actions: dict[str, float] = {}
        self.recorded_durations: dict[str, list[float]] = defaultdict(list)
        self.start_time = time.monotonic()

    def start(self, action_name: str) -> None:
        """An action begins."""
        if action_name in self.current_actions:
            raise ValueError(f"Attempted to start {action_name} which has already started.")
        self.current_actions[action_name] = time.monotonic()

    def stop(self, action_name: str) -> None:
        """An action ends."""
        end = time.monotonic()
        if action_name not in self.current_actions:
            raise ValueError(f"Attempting to stop recording an action ({action_name}) which was never started.")
        self.recorded_durations[action_name].append(end - self.current_actions.pop(action_name))

    def summary(self) -> str:
        """The report, longest total first."""
        elapsed = time.monotonic() - self.start_time
        totals = sorted(((sum(times), name, times) for name, times in self.recorded_durations.items()), reverse=True)
        if self.extended:
            calls = sum(len(times) for _, _, times in totals)
            rows = [["Total", "-", calls, f"{elapsed:.5}", "100 %"]]
            rows += [
                [name, f"{statistics.fmean(times):.5}", len(times), f"{total:.5}", f"{100 * total / elapsed:.5}"]
                for total, name, times in totals
            ]
            header = ["Action", "Mean duration (s)", "Num calls", "Total time (s)", "Percentage %"]
        else:
            rows = [[name, f"{statistics.fmean(times):.5}", f"{total:.5}"] for total, name, times in totals]
            header = ["Action", "Mean duration (s)", "Total time (s)"]
        table = text_table(header, rows, [False] + [True] * (len(header) - 1))
        return f"{self._stage.upper() + ' ' if self._stage else ''}Profiler Report\n\n{table}\n"
