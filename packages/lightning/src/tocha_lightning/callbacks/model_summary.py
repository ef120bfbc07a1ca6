"""The model's layers, printed when a run begins."""

from __future__ import annotations

from typing import Any

from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.utilities.model_summary import ModelSummary as Summary
from tocha_lightning.utilities.rank_zero import log


class ModelSummary(Callback):
    """Logs the table of `tocha_lightning.utilities.model_summary.ModelSummary` at the beginning of fit.

    Args:
        max_depth: how deep to go into the model; 0: totals only; -1: everything.
    """

    def __init__(self, max_depth: int = 1) -> None:
        self._max_depth = max_depth

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Summarize."""
        if self._max_depth and trainer.is_global_zero:
            self.summarize(Summary(pl_module, max_depth=self._max_depth))

    def summarize(self, summary: Summary) -> None:
        """Show the summary; override it to show it elsewhere."""
        log.info("\n" + str(summary))


class RichModelSummary(ModelSummary):
    """Prints the table with rich.

    Raises:
        ModuleNotFoundError: rich is not installed.
    """

    def __init__(self, max_depth: int = 1) -> None:
        from importlib.util import find_spec

        if find_spec("rich") is None:
            raise ModuleNotFoundError("`RichModelSummary` needs rich: `pip install tocha-lightning[rich]`.")
        super().__init__(max_depth)

    def summarize(self, summary: Summary) -> None:
        """Print."""
        from rich import get_console
        from rich.table import Table

        table = Table(header_style="bold magenta")
        columns = summary.columns()
        for heading, _ in columns:
            table.add_column(heading or " ", justify="right" if heading in ("Params", "FLOPs") else "left")
        for row in zip(*[cells for _, cells in columns], strict=True):
            table.add_row(*row)
        console = get_console()
        console.print(table)
        grid = Table.grid(padding=(0, 1))
        for number, text in summary.totals():
            grid.add_row(f"[bold]{text}[/]:", number)
        console.print(grid)
