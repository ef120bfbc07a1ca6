"""A progress bar drawn by rich."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from tocha_lightning.callbacks.progress.progress_bar import ProgressBar
from tocha_lightning.callbacks.progress.text_progress import shown


@dataclass
class RichProgressBarTheme:
    """Styles of the parts of a `RichProgressBar`, as rich names them."""

    description: str = ""
    progress_bar: str = "#6206E0"
    progress_bar_finished: str = "#6206E0"
    progress_bar_pulse: str = "#6206E0"
    batch_progress: str = ""
    time: str = "dim"
    processing_speed: str = "dim underline"
    metrics: str = "italic"
    metrics_text_delimiter: str = " "
    metrics_format: str = ".3f"


class RichProgressBar(ProgressBar):
    """Shows progress with rich, with a line of its own for validation.

    Args:
        refresh_rate: update every so many batches; 0 shows nothing.
        leave: keep the line of every epoch.
        theme: the styles.
        console_kwargs: arguments of rich's console.

    Raises:
        ModuleNotFoundError: rich is not installed.
    """

    def __init__(
        self,
        refresh_rate: int = 1,
        leave: bool = False,
        theme: RichProgressBarTheme | None = None,
        console_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if find_spec("rich") is None:
            raise ModuleNotFoundError("`RichProgressBar` needs rich: `pip install tocha-lightning[rich]`.")
        super().__init__()
        self._refresh_rate = refresh_rate
        self._leave = leave
        self.theme = theme or RichProgressBarTheme()
        self._console_kwargs = console_kwargs or {}
        self._progress: Any = None
        self._main: Any = None
        self._evaluation: Any = None

    @property
    def refresh_rate(self) -> int:
        """Update every so many batches."""
        return self._refresh_rate

    @property
    def is_enabled(self) -> bool:
        """Whether anything is shown."""
        return self._enabled and self._refresh_rate > 0

    @property
    def is_disabled(self) -> bool:
        """Whether nothing is shown."""
        return not self.is_enabled

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_progress": None}

    def _start(self) -> Any:
        if self._progress is not None:
            return self._progress
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        theme = self.theme

        def styled(text: str, style: str) -> str:
            return f"[{style}]{text}[/]" if style else text

        self._progress = Progress(
            TextColumn(styled("{task.description}", theme.description)),
            BarColumn(
                style="bar.back",
                complete_style=theme.progress_bar,
                finished_style=theme.progress_bar_finished,
                pulse_style=theme.progress_bar_pulse,
            ),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn(styled("{task.fields[speed]}", theme.processing_speed)),
            TextColumn(styled("{task.fields[metrics]}", theme.metrics)),
            console=Console(**self._console_kwargs),
        )
        self._progress.start()
        return self._progress

    def _stop(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = self._main = self._evaluation = None

    def _add(self, title: str, total: int | float) -> Any:
        known = None if total == float("inf") else total
        return self._start().add_task(title, total=known, speed="", metrics="")

    def _metrics(self) -> str:
        found = self.get_metrics(self.trainer, self.trainer.lightning_module)
        texts = [
            f"{key}: {format(value, self.theme.metrics_format) if isinstance(value, float) else shown(value)}"
            for key, value in found.items()
        ]
        return self.theme.metrics_text_delimiter.join(texts)

    def _update(self, task: Any, done: int, metrics: bool = True) -> None:
        speed = self._progress.tasks[self._progress.task_ids.index(task)].speed
        fields = {"metrics": self._metrics()} if metrics else {}
        self._progress.update(task, completed=done, speed=f"{speed:.2f}it/s" if speed else "", **fields)

    def print(self, *args: Any, **kwargs: Any) -> None:
        """Print above the bars."""
        if self._progress is not None:
            self._progress.console.print(*args, **kwargs)
        else:
            print(*args, **kwargs)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """A new bar."""
        if self.is_disabled:
            return
        if self._main is not None and not self._leave:
            self._progress.remove_task(self._main)
        of = f"/{trainer.max_epochs - 1}" if trainer.max_epochs not in (None, -1) else ""
        self._main = self._add(f"Epoch {trainer.current_epoch}{of}", self.total_train_batches)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Update the bar."""
        if self.is_disabled:
            return
        if self._main is None:  # resumed within an epoch
            self.on_train_epoch_start(trainer, pl_module)
        if (batch_idx + 1) % self._refresh_rate == 0 or trainer.is_last_batch:
            self._update(self._main, batch_idx + 1)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Show the metrics of the epoch."""
        if self._main is not None:
            self._progress.update(self._main, metrics=self._metrics())

    def _begin(self, title: str, total: int | float) -> None:
        if self.is_enabled:
            self._evaluation = self._add(title, total)
            self._done = 0

    def _evaluate(self) -> None:
        if self._evaluation is None:
            return
        self._done += 1
        if self._done % self._refresh_rate == 0:
            self._update(self._evaluation, self._done, metrics=False)

    def _end(self, keep: bool) -> None:
        if self._evaluation is None:
            return
        self._update(self._evaluation, self._done, metrics=False)
        if not keep:
            self._progress.remove_task(self._evaluation)
        self._evaluation = None

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """A bar for validation."""
        title = self.sanity_check_description if trainer.sanity_checking else self.validation_description
        self._begin(title, self.total_val_batches)

    def on_validation_batch_end(self, trainer: Any, pl_module: Any, *args: Any, **kwargs: Any) -> None:
        """Update the bar."""
        self._evaluate()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Remove the bar during fit."""
        self._end(trainer.state.fn != "fit")

    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        """A bar for test."""
        self._begin(self.test_description, sum(trainer.num_test_batches))

    def on_test_batch_end(self, trainer: Any, pl_module: Any, *args: Any, **kwargs: Any) -> None:
        """Update the bar."""
        self._evaluate()

    def on_test_end(self, trainer: Any, pl_module: Any) -> None:
        """Leave the bar."""
        self._end(True)

    def on_predict_start(self, trainer: Any, pl_module: Any) -> None:
        """A bar for prediction."""
        self._begin(self.predict_description, sum(trainer.num_predict_batches))

    def on_predict_batch_end(self, trainer: Any, pl_module: Any, *args: Any, **kwargs: Any) -> None:
        """Update the bar."""
        self._evaluate()

    def on_predict_end(self, trainer: Any, pl_module: Any) -> None:
        """Leave the bar."""
        self._end(True)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Stop drawing."""
        self._stop()

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Stop drawing."""
        self._stop()
