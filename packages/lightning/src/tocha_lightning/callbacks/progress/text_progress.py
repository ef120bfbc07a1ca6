"""A progress bar of plain text: one line that is rewritten in a terminal, a line now and then in a log file."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import Any, TextIO

from tocha_lightning.callbacks.progress.progress_bar import ProgressBar

_BLOCKS = " ▏▎▍▌▋▊▉█"
# seconds between two updates of a line, and between two lines of a log file
_REDRAW, _LOG = 0.1, 10.0


def clock(seconds: float) -> str:
    """A duration.

    >>> clock(5), clock(3725)
    ('00:05', '1:02:05')
    """
    minutes, secs = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{secs:02d}" if hours else f"{minutes:02d}:{secs:02d}"


def shown(value: Any) -> str:
    """A metric in a few characters."""
    if isinstance(value, float):
        return f"{value:.3f}" if 1e-3 <= abs(value) < 1e5 or value == 0 else f"{value:.2e}"
    return str(value)


def bar_text(fraction: float, width: int, unicode: bool) -> str:
    """A bar of `width` characters."""
    fraction = min(max(fraction, 0.0), 1.0)
    if not unicode:
        filled = int(fraction * width)
        return "#" * filled + "." * (width - filled)
    eighths = int(fraction * width * 8)
    full, part = divmod(eighths, 8)
    return ("█" * full + (_BLOCKS[part] if part else "")).ljust(width)


class Line:
    """The text of one loop: how far, how fast, how long still."""

    def __init__(self, title: str, total: int | float, initial: int = 0) -> None:
        self.title = title
        self.total = total
        self.done = self._initial = initial
        self.start = time.monotonic()

    def rate(self) -> float:
        """Batches a second."""
        elapsed = time.monotonic() - self.start
        return (self.done - self._initial) / elapsed if elapsed > 0 else 0.0

    def text(self, metrics: dict[str, Any], width: int | None, unicode: bool) -> str:
        """The line; without a `width` there is no bar."""
        elapsed = time.monotonic() - self.start
        rate = self.rate()
        speed = f"{rate:.2f} it/s" if rate >= 1 or rate == 0 else f"{1 / rate:.2f} s/it"
        tail = "".join(f", {key}={shown(value)}" for key, value in metrics.items())
        if self.total in (float("inf"), 0, None):
            return f"{self.title}: {self.done} [{clock(elapsed)}, {speed}{tail}]"
        fraction = self.done / self.total
        left = clock((self.total - self.done) / rate) if rate else "?"
        counts = f"{self.done}/{int(self.total)} [{clock(elapsed)}<{left}, {speed}{tail}]"
        head = f"{self.title}: {fraction:4.0%}"
        if width is None:
            return f"{head} {counts}"
        room = max(5, min(30, width - len(head) - len(counts) - 5))
        return f"{head}|{bar_text(fraction, room, unicode)}| {counts}"


class TextProgressBar(ProgressBar):
    """Shows epoch, batches, rate, remaining time and metrics.

    In a terminal or a notebook one line is rewritten. Where the output is a file or a pipe, lines are written at the
    end of epochs and every few seconds, without control characters.

    Args:
        refresh_rate: look at the clock every so many batches; 0 shows nothing.
        process_position: accepted for Lightning's sake: there is one line.
        leave: keep the line of every epoch.
        stream: where to; by default the standard output.
    """

    def __init__(
        self, refresh_rate: int = 1, process_position: int = 0, leave: bool = False, stream: TextIO | None = None
    ) -> None:
        super().__init__()
        self._refresh_rate = refresh_rate
        self._process_position = process_position
        self._leave = leave
        self._stream = stream
        self._main: Line | None = None
        self._evaluation: Line | None = None
        self._next_draw = 0.0
        self._next_log = 0.0
        self._drawn = 0  # characters of the line that is in the terminal now
        self._evaluated = 0
        self._pending: str | None = None  # of an epoch whose line was not written to the log file

    @property
    def refresh_rate(self) -> int:
        """Look at the clock every so many batches."""
        return self._refresh_rate

    @property
    def process_position(self) -> int:
        """As given."""
        return self._process_position

    @property
    def is_enabled(self) -> bool:
        """Whether anything is shown."""
        return self._enabled and self._refresh_rate > 0

    @property
    def is_disabled(self) -> bool:
        """Whether nothing is shown."""
        return not self.is_enabled

    # --- writing --------------------------------------------------------------------------------------------------

    def _out(self) -> TextIO:
        return self._stream if self._stream is not None else sys.stdout

    def _rewrites(self) -> bool:
        """Whether a line can be rewritten: in terminals and notebooks."""
        out = self._out()
        if type(out).__module__.startswith("ipykernel"):
            return True
        return bool(getattr(out, "isatty", lambda: False)()) and os.environ.get("TERM") != "dumb"

    def _draw(self, line: Line, metrics: dict[str, Any]) -> None:
        out = self._out()
        width = shutil.get_terminal_size().columns - 1
        unicode = "utf" in (getattr(out, "encoding", None) or "").lower()
        text = line.text(metrics, width, unicode)
        if len(text) > width:
            text = text[: width - 1] + ("…" if unicode else ">")
        out.write("\r" + text + " " * max(0, self._drawn - len(text)))
        out.flush()
        self._drawn = len(text)

    def _write(self, text: str) -> None:
        out = self._out()
        out.write(text + "\n")
        out.flush()

    def _finish_line(self) -> None:
        if self._drawn:
            self._out().write("\n")
            self._out().flush()
            self._drawn = 0

    def _clear(self) -> None:
        if self._drawn:
            self._out().write("\r" + " " * self._drawn + "\r")
            self._drawn = 0

    def print(self, *args: Any, sep: str = " ", end: str = "\n", **kwargs: Any) -> None:
        """Print above the line."""
        self._clear()
        kwargs.setdefault("file", self._out())
        print(*args, sep=sep, end=end, **kwargs)

    def _update(self, line: Line) -> None:
        now = time.monotonic()
        if now < self._next_draw:
            return
        self._next_draw = now + _REDRAW
        if self._rewrites():
            self._draw(line, self.get_metrics(self.trainer, self.trainer.lightning_module))
        elif now >= self._next_log:
            self._next_log = now + _LOG
            self._write(line.text(self.get_metrics(self.trainer, self.trainer.lightning_module), None, False))

    # --- training ------------------------------------------------------------------------------------------------

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Take the Trainer, start the clock of log lines."""
        super().setup(trainer, pl_module, stage)
        self._next_log = time.monotonic() + _LOG
        self._pending = None

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """A new line."""
        self._begin_epoch(trainer)

    def _begin_epoch(self, trainer: Any, initial: int = 0) -> Line:
        if self._leave:
            self._finish_line()
        of = f"/{trainer.max_epochs - 1}" if trainer.max_epochs not in (None, -1) else ""
        line = self._main = Line(f"Epoch {trainer.current_epoch}{of}", self.total_train_batches, initial)
        self._next_draw = 0.0
        return line

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Update the line."""
        if not self._enabled or not self._refresh_rate:
            return
        line = self._main
        if line is None:  # resumed within an epoch
            line = self._begin_epoch(trainer, batch_idx)
        line.done = batch_idx + 1
        if line.done % self._refresh_rate == 0:
            self._update(line)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Show the metrics of the epoch."""
        line, self._main = self._main, None
        if line is None or self.is_disabled:
            return
        metrics = self.get_metrics(trainer, pl_module)
        if self._rewrites():
            self._draw(line, metrics)
            return
        text = line.text(metrics, None, False)
        now = time.monotonic()
        # a thousand short epochs are not worth a thousand lines
        if now < self._next_log - _LOG + 1.0 and trainer.current_epoch > 0:
            self._pending = text
            return
        self._pending = None
        self._next_log = now + _LOG
        self._write(text)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Leave the last line."""
        if self._pending is not None and self.is_enabled:
            self._write(self._pending)
        self._pending = None
        self._finish_line()

    # --- evaluation -----------------------------------------------------------------------------------------------

    def _begin_evaluation(self, title: str, total: int | float) -> None:
        self._evaluation = Line(title, total) if self.is_enabled else None
        self._evaluated = 0
        self._next_draw = 0.0

    def _evaluate_batch(self) -> None:
        line = self._evaluation
        if line is None:
            return
        self._evaluated += 1
        line.done = self._evaluated
        if self._evaluated % self._refresh_rate == 0:
            self._update(line)

    def _end_evaluation(self) -> None:
        line, self._evaluation = self._evaluation, None
        if line is None:
            return
        within_fit = self.trainer.state.fn == "fit"
        if within_fit and self._rewrites():
            self._clear()
        elif not within_fit:
            if self._rewrites():
                self._draw(line, {})
                self._finish_line()
            else:
                self._write(line.text({}, None, False))

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """A line for validation."""
        title = self.sanity_check_description if trainer.sanity_checking else self.validation_description
        self._begin_evaluation(title, self.total_val_batches)

    def on_validation_batch_end(self, trainer: Any, pl_module: Any, *args: Any, **kwargs: Any) -> None:
        """Update the line."""
        self._evaluate_batch()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Back to the line of training."""
        self._end_evaluation()

    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        """A line for test."""
        self._begin_evaluation(self.test_description, sum(trainer.num_test_batches))

    def on_test_batch_end(self, trainer: Any, pl_module: Any, *args: Any, **kwargs: Any) -> None:
        """Update the line."""
        self._evaluate_batch()

    def on_test_end(self, trainer: Any, pl_module: Any) -> None:
        """Leave the line."""
        self._end_evaluation()

    def on_predict_start(self, trainer: Any, pl_module: Any) -> None:
        """A line for prediction."""
        self._begin_evaluation(self.predict_description, sum(trainer.num_predict_batches))

    def on_predict_batch_end(self, trainer: Any, pl_module: Any, *args: Any, **kwargs: Any) -> None:
        """Update the line."""
        self._evaluate_batch()

    def on_predict_end(self, trainer: Any, pl_module: Any) -> None:
        """Leave the line."""
        self._end_evaluation()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Let the traceback begin on a line of its own."""
        self._main = self._evaluation = None
        self._finish_line()
