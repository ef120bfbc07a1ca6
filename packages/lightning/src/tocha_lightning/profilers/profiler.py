"""The base of every profiler, and the one that measures nothing."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from tocha_lightning.utilities.rank_zero import log


class Profiler(ABC):
    """Measures the named actions of a run.

    Args:
        dirpath: where the report is written; by default the directory of the logger.
        filename: the file's name without its extension; without it the report goes to the log.
    """

    # False lets the Trainer skip the bookkeeping
    active = True

    def __init__(self, dirpath: str | os.PathLike[str] | None = None, filename: str | None = None) -> None:
        self.dirpath = None if dirpath is None else os.fspath(dirpath)
        self.filename = filename
        self._stage: str | None = None
        self._local_rank: int | None = None

    @abstractmethod
    def start(self, action_name: str) -> None:
        """An action begins."""

    @abstractmethod
    def stop(self, action_name: str) -> None:
        """An action ends."""

    @contextlib.contextmanager
    def profile(self, action_name: str) -> Iterator[None]:
        """Measure a ``with`` block."""
        self.start(action_name)
        try:
            yield
        finally:
            self.stop(action_name)

    def wrap(self, action_name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that measures `function`."""

        def measured(*args: Any, **kwargs: Any) -> Any:
            self.start(action_name)
            try:
                return function(*args, **kwargs)
            finally:
                self.stop(action_name)

        return measured

    def setup(self, stage: str, local_rank: int | None = None, log_dir: str | None = None) -> None:
        """A run begins."""
        self._stage = stage
        self._local_rank = local_rank
        self.dirpath = self.dirpath or log_dir

    def summary(self) -> str:
        """The report."""
        return ""

    def path(self, extension: str) -> str | None:
        """The file of the report, or None."""
        if self.filename is None:
            return None
        parts = [part for part in (self._stage, self.filename) if part]
        if self._local_rank:
            parts.append(str(self._local_rank))
        return os.path.join(self.dirpath or "", "-".join(parts) + extension)

    def describe(self) -> None:
        """Write the report to its file, or to the log."""
        text = self.summary()
        if not text:
            return
        path = self.path(".txt")
        if path is None:
            log.info(text)
            return
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)


class PassThroughProfiler(Profiler):
    """Measures nothing and costs nothing."""

    active = False
    _nothing = contextlib.nullcontext()

    def start(self, action_name: str) -> None:
        """Nothing."""

    def stop(self, action_name: str) -> None:
        """Nothing."""

    def profile(self, action_name: str) -> Any:
        """Nothing."""
        return self._nothing
