"""How checkpoints get to a disk and back."""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from typing import Any

import tocha
from tocha_lightning.core.saving import read_checkpoint
from tocha_lightning.utilities.files import write_atomically


class CheckpointIO(ABC):
    """Derive from it to keep checkpoints elsewhere, and pass it to ``Trainer(plugins=...)``."""

    @abstractmethod
    def save_checkpoint(self, checkpoint: dict[str, Any], path: str, storage_options: Any = None) -> None:
        """Write `checkpoint` to `path`."""

    @abstractmethod
    def load_checkpoint(self, path: str, map_location: Any = None, weights_only: bool | None = None) -> dict[str, Any]:
        """Read the checkpoint at `path`."""

    @abstractmethod
    def remove_checkpoint(self, path: str) -> None:
        """Delete the checkpoint at `path`."""

    def teardown(self) -> None:
        """The run is over: finish what was begun."""
        return None


class FileCheckpointIO(CheckpointIO):
    """Checkpoints as files in PyTorch's format, written under another name and then renamed."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str, storage_options: Any = None) -> None:
        """Write the file; an older one at `path` stays whole until the new one is complete.

        Raises:
            TypeError: `storage_options` was given.
        """
        if storage_options is not None:
            raise TypeError(
                "`Trainer.save_checkpoint(..., storage_options=...)` with `storage_options` arg is not supported for"
                f" `{type(self).__name__}`. Please implement your custom `CheckpointIO` to define how you'd like to use"
                " `storage_options`."
            )
        write_atomically(path, lambda file: tocha.save(checkpoint, file))

    def load_checkpoint(self, path: str, map_location: Any = None, weights_only: bool | None = None) -> dict[str, Any]:
        """Read the file; by default only data, no code."""
        return read_checkpoint(path, map_location, weights_only)

    def remove_checkpoint(self, path: str) -> None:
        """Delete the file, or the folder."""
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.remove(path)


class AsyncCheckpointIO(CheckpointIO):
    """Writes with another `CheckpointIO` in a thread, so that training goes on meanwhile.

    Args:
        checkpoint_io: does the writing; by default `FileCheckpointIO`.
    """

    def __init__(self, checkpoint_io: CheckpointIO | None = None) -> None:
        self.checkpoint_io = checkpoint_io or FileCheckpointIO()
        self._executor: Any = None
        self._pending: list[Any] = []

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str, storage_options: Any = None) -> None:
        """Copy the tensors, then write in the thread. An error shows at the next call."""
        import copy
        from concurrent.futures import ThreadPoolExecutor

        if self._executor is None:
            self._executor = ThreadPoolExecutor(max_workers=1)
        self._raise_errors()
        frozen = copy.deepcopy(checkpoint)
        self._pending.append(self._executor.submit(self.checkpoint_io.save_checkpoint, frozen, path, storage_options))

    def _raise_errors(self, wait: bool = False) -> None:
        waiting, self._pending = self._pending, []
        for future in waiting:
            if wait or future.done():
                future.result()
            else:
                self._pending.append(future)

    def load_checkpoint(self, path: str, map_location: Any = None, weights_only: bool | None = None) -> dict[str, Any]:
        """Wait for what is being written, then read."""
        self._raise_errors(wait=True)
        return self.checkpoint_io.load_checkpoint(path, map_location, weights_only)

    def remove_checkpoint(self, path: str) -> None:
        """Wait for what is being written, then delete."""
        self._raise_errors(wait=True)
        self.checkpoint_io.remove_checkpoint(path)

    def teardown(self) -> None:
        """Wait for what is being written."""
        self._raise_errors(wait=True)
        if self._executor is not None:
            self._executor.shutdown()
            self._executor = None
        self.checkpoint_io.teardown()
