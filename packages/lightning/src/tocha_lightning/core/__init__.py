"""LightningModule and LightningDataModule."""

from tocha_lightning.core.datamodule import LightningDataModule
from tocha_lightning.core.module import LightningModule
from tocha_lightning.core.optimizer import LightningOptimizer

__all__ = ["LightningDataModule", "LightningModule", "LightningOptimizer"]
