"""Text files, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes UTF-8 to a temporary name beside ``path``, then renames it."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
