"""SIGTERM ends a run between two batches, not in the middle of one."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

from tocha_lightning.utilities.rank_zero import log


class SignalConnector:
    """Replaces the handler of SIGTERM for the length of a run."""

    def __init__(self) -> None:
        self.received_sigterm = False
        self._original: Any = None
        self._registered = False

    def register(self) -> None:
        """Begin to watch. Only the main thread may."""
        self.received_sigterm = False
        if threading.current_thread() is not threading.main_thread():
            return
        self._original = signal.getsignal(signal.SIGTERM)
        signal.signal(signal.SIGTERM, self._handle)
        self._registered = True

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        log.info(f"Received SIGTERM: {signum}")
        self.received_sigterm = True
        if callable(self._original):
            self._original(signum, frame)

    def teardown(self) -> None:
        """Give the original handler back."""
        if self._registered:
            signal.signal(signal.SIGTERM, self._original if self._original is not None else signal.SIG_DFL)
            self._registered = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_original": None, "_registered": False}
