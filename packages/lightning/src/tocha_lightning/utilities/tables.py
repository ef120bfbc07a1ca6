"""Plain text tables."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any


def text_table(
    header: Sequence[str], rows: Sequence[Sequence[Any]], numeric: Sequence[bool] | None = None, rule: str = "-"
) -> str:
    """A table with a header, columns as wide as their widest cell; `numeric` columns are set to the right.

    >>> print(text_table(["name", "n"], [["a", 1], ["bc", 20]], [False, True]))
    name |  n
    ---------
    a    |  1
    bc   | 20
    """
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    right = numeric or [False] * len(header)
    lines = [
        " | ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join([lines[0], rule * max(map(len, lines)), *lines[1:]])


def results_table(results: list[dict[str, Any]], stage: str) -> str:
    """The metrics of an evaluation: a row for each metric, a column for each loader; empty without metrics."""
    names: list[str] = []
    stripped = [{key.split("/dataloader_idx_")[0]: value for key, value in result.items()} for result in results]
    for result in stripped:
        names.extend(key for key in result if key not in names)
    if not names:
        return ""
    several = len(stripped) > 1
    header = [f"{stage} metric", *(f"DataLoader {i}" for i in range(len(stripped)))]
    rows = [[name, *(_number(result.get(name, "")) for result in stripped)] for name in names]
    table = text_table(header, rows, [False] + [True] * len(stripped))
    width = min(max(map(len, table.splitlines())), shutil.get_terminal_size().columns)
    line = "=" * width
    return f"{line}\n{table}\n{line}" if several or table else ""


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
