"""The functions within every action, through cProfile."""

from __future__ import annotations

import cProfile
import io
import os
import pstats
import re
from collections import defaultdict

from tocha_lightning.profilers.profiler import Profiler


class AdvancedProfiler(Profiler):
    """Measures the functions called in every action.

    Args:
        dirpath: where the report is written.
        filename: the file's name; without it the report goes to the log.
        line_count_restriction: how much of each table is shown: a fraction, or a number of lines.
        dump_stats: also write the raw profiles, as ``.prof`` files.

    Raises:
        ValueError: an action is stopped without a start.
    """

    def __init__(
        self,
        dirpath: str | os.PathLike[str] | None = None,
        filename: str | None = None,
        line_count_restriction: float = 1.0,
        dump_stats: bool = False,
    ) -> None:
        super().__init__(dirpath, filename)
        self.line_count_restriction = line_count_restriction
        self.dump_stats = dump_stats
        self.profiled_actions: dict[str, cProfile.Profile] = defaultdict(cProfile.Profile)
        self._running: list[str] = []

    def start(self, action_name: str) -> None:
        """An action begins. Actions within another one are part of its profile: there can be one profile at a time."""
        if not self._running:
            self.profiled_actions[action_name].enable()
        self._running.append(action_name)

    def stop(self, action_name: str) -> None:
        """An action ends."""
        if action_name not in self._running:
            raise ValueError(f"Attempting to stop recording an action ({action_name}) which was never started.")
        self._running.remove(action_name)
        if not self._running:
            self.profiled_actions[action_name].disable()

    def summary(self) -> str:
        """The report: a table for each action."""
        parts = []
        for name, profile in self.profiled_actions.items():
            if self.dump_stats:
                parts_of_name = [self._stage, self.filename, re.sub(r"[^\w.-]", "_", name)]
                file = "-".join(part for part in parts_of_name if part) + ".prof"
                profile.dump_stats(os.path.join(self.dirpath or "", file))
            text = io.StringIO()
            pstats.Stats(profile, stream=text).strip_dirs().sort_stats("cumulative").print_stats(
                self.line_count_restriction
            )
            parts.append(f"\nProfile stats for: {name}\n{text.getvalue()}")
        return f"{self._stage.upper() + ' ' if self._stage else ''}Profiler Report\n{''.join(parts)}" if parts else ""
