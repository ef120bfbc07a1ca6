"""A trace of all actions, to be opened in a browser."""

from __future__ import annotations

import json
import os
import threading
import time

from tocha_lightning.profilers.simple import SimpleProfiler
from tocha_lightning.utilities.files import write_atomically
from tocha_lightning.utilities.rank_zero import rank_zero_info


class TochaProfiler(SimpleProfiler):
    """Measures as `SimpleProfiler` does, and writes a Chrome trace: open it in ``chrome://tracing`` or Perfetto.

    Args:
        dirpath: where report and trace are written.
        filename: the files' name; without it the report goes to the log, and the trace to ``trace.json``.
        export_to_chrome: write the trace.
        max_events: stop recording the trace after so many actions.
    """

    def __init__(
        self,
        dirpath: str | os.PathLike[str] | None = None,
        filename: str | None = None,
        export_to_chrome: bool = True,
        max_events: int = 1_000_000,
    ) -> None:
        super().__init__(dirpath, filename)
        self.export_to_chrome = export_to_chrome
        self.max_events = max_events
        self._events: list[tuple[str, float, float]] = []

    def stop(self, action_name: str) -> None:
        """An action ends."""
        begin = self.current_actions.get(action_name)
        super().stop(action_name)
        if begin is not None and len(self._events) < self.max_events:
            self._events.append((action_name, begin, time.monotonic()))

    def trace(self) -> dict[str, object]:
        """The trace in Chrome's format, times in microseconds."""
        events = [
            {
                "name": name,
                "ph": "X",
                "ts": (begin - self.start_time) * 1e6,
                "dur": (end - begin) * 1e6,
                "pid": os.getpid(),
                "tid": threading.get_native_id(),
            }
            for name, begin, end in self._events
        ]
        return {"traceEvents": events, "displayTimeUnit": "ms"}

    def describe(self) -> None:
        """Write the report and the trace."""
        super().describe()
        if not self.export_to_chrome or not self._events:
            return
        path = self.path(".json") or os.path.join(self.dirpath or "", "trace.json")
        write_atomically(path, lambda file: file.write(json.dumps(self.trace()).encode()))
        rank_zero_info(f"Chrome trace written to {path}")
