"""The loggers that ``Trainer(logger=...)`` means."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tocha_lightning.loggers.csv_logs import CSVLogger
from tocha_lightning.loggers.logger import DummyLogger, Logger
from tocha_lightning.loggers.tensorboard import TensorBoardLogger, tensorboard_installed


def loggers_of(logger: Any, default_root_dir: str, fast_dev_run: bool) -> list[Any]:
    """None and True are the default logger, False none; under `fast_dev_run` nothing is kept.

    Raises:
        TypeError: something that is no logger.
    """
    if logger is False:
        return []
    if logger is None or logger is True:
        if fast_dev_run:
            return [DummyLogger()]
        return [(TensorBoardLogger if tensorboard_installed() else CSVLogger)(default_root_dir)]
    given = [logger] if isinstance(logger, Logger) or not isinstance(logger, Iterable) else list(logger)
    for item in given:
        if not isinstance(item, Logger):
            raise TypeError(f"Expected a `Logger` in `Trainer(logger=...)`, got {type(item).__name__}.")
    return [DummyLogger()] if fast_dev_run and given else given
