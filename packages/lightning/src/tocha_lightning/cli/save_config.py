"""Keeping the configuration of a run beside its logs."""

from __future__ import annotations

import os
from typing import Any

from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.utilities.overrides import is_overridden


class SaveConfigCallback(Callback):
    """Writes the configuration to the directory of the logger when a run begins.

    Args:
        parser: the parser.
        config: what it parsed.
        config_filename: the file.
        overwrite: replace a file of an earlier run.
        multifile: write several files, as they were read.
        save_to_log_dir: False writes nothing: for subclasses with their own `save_config`.

    Raises:
        RuntimeError: there is a file already.
        ValueError: `save_to_log_dir` is False and `save_config` is not overridden.
    """

    def __init__(
        self,
        parser: Any,
        config: Any,
        config_filename: str = "config.yaml",
        overwrite: bool = False,
        multifile: bool = False,
        save_to_log_dir: bool = True,
    ) -> None:
        if not save_to_log_dir and not is_overridden("save_config", self, SaveConfigCallback):
            raise ValueError(
                "`save_to_log_dir=False` only makes sense when subclassing SaveConfigCallback to implement"
                " `save_config` and it is desired to disable the standard behavior of saving to log_dir."
            )
        self.parser = parser
        self.config = config
        self.config_filename = config_filename
        self.overwrite = overwrite
        self.multifile = multifile
        self.save_to_log_dir = save_to_log_dir
        self.already_saved = False

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Write, the first time."""
        if self.already_saved:
            return
        if self.save_to_log_dir:
            folder = trainer.log_dir
            path = os.path.join(folder, self.config_filename)
            there = os.path.isfile(path) if trainer.is_global_zero and not self.overwrite else False
            if trainer.strategy.broadcast(there):
                raise RuntimeError(
                    f"{type(self).__name__} expected {path} to NOT exist. Aborting to avoid overwriting results of a"
                    " previous run. You can delete the previous config file, set"
                    " `LightningCLI(save_config_callback=None)` to disable config saving, or set"
                    ' `LightningCLI(save_config_kwargs={"overwrite": True})` to overwrite the config file.'
                )
            if trainer.is_global_zero:
                os.makedirs(folder, exist_ok=True)
                self.parser.save(
                    self.config, path, skip_unset=False, overwrite=self.overwrite, multifile=self.multifile
                )
        if trainer.is_global_zero:
            self.save_config(trainer, pl_module, stage)
        self.already_saved = True

    def save_config(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Override to keep the configuration elsewhere too; called on rank zero only."""
