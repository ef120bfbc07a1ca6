"""Sending the hyperparameters of a run to its loggers."""

from __future__ import annotations

from typing import Any

from tocha import Tensor
from tocha_lightning.utilities.exceptions import MisconfigurationException


def _differ(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return not (isinstance(a, Tensor) and isinstance(b, Tensor) and a.shape == b.shape and bool((a == b).all()))
    return bool(a != b)


def log_hyperparameters(trainer: Any) -> None:
    """Send the hyperparameters of the module and the data module.

    Raises:
        MisconfigurationException: both have one of the same name with different values.
    """
    if not trainer.loggers:
        return
    module, datamodule = trainer.lightning_module, trainer.datamodule
    hparams: dict[str, Any] | None = None
    for owner in (module, datamodule):
        if owner is None or not owner._log_hyperparams:
            continue
        own = dict(owner.hparams_initial)
        clashing = [key for key in own if hparams is not None and key in hparams and _differ(hparams[key], own[key])]
        if clashing:
            raise MisconfigurationException(
                f"Error while merging hparams: the keys {clashing} are present in both the LightningModule's and"
                " LightningDataModule's hparams but have different values."
            )
        hparams = {**(hparams or {}), **own}
    for logger in trainer._writing_loggers:
        if hparams is not None:
            logger.log_hyperparams({key: value for key, value in hparams.items() if key != "_class_path"})
        logger.log_graph(module)
        logger.save()
