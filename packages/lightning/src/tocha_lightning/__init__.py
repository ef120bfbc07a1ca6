"""The Trainer for tocha: names, arguments, hooks and checkpoints follow ``lightning.pytorch``.

>>> import tocha_lightning as L
>>> L.Trainer, L.LightningModule, L.LightningDataModule, L.Callback  # doctest: +ELLIPSIS
(<class 'tocha_lightning...
"""

from tocha_lightning.callbacks import Callback
from tocha_lightning.core import LightningDataModule, LightningModule
from tocha_lightning.trainer import Trainer
from tocha_lightning.utilities.seed import seed_everything

__version__ = "0.1.0"

__all__ = ["Callback", "LightningDataModule", "LightningModule", "Trainer", "seed_everything"]
