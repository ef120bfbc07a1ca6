"""A checkpoint of the state in which a run failed."""

from __future__ import annotations

import os
from typing import Any

from tocha_lightning.callbacks.checkpoint import Checkpoint


class OnExceptionCheckpoint(Checkpoint):
    """Saves a checkpoint when a run ends with an exception.

    Args:
        dirpath: where to.
        filename: the file's name without its extension.

    Raises:
        ValueError: an empty `filename`.
    """

    FILE_EXTENSION = ".ckpt"

    def __init__(self, dirpath: str | os.PathLike[str], filename: str = "on_exception") -> None:
        if not filename:
            raise ValueError("The filename cannot be empty")
        self.dirpath = os.fspath(dirpath)
        self.filename = filename

    @property
    def ckpt_path(self) -> str:
        """The file."""
        return os.path.join(self.dirpath, self.filename + self.FILE_EXTENSION)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Save."""
        trainer.save_checkpoint(self.ckpt_path)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """A run that went well needs no such file."""
        trainer.strategy.remove_checkpoint(self.ckpt_path)
