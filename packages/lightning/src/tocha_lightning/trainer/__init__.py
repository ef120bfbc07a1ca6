"""The Trainer."""

from tocha_lightning.trainer.trainer import Trainer
from tocha_lightning.utilities.seed import seed_everything

__all__ = ["Trainer", "seed_everything"]
