"""Finding learning rates and batch sizes."""

from tocha_lightning.tuner.lr_finder import LRFinder
from tocha_lightning.tuner.tuning import Tuner

__all__ = ["LRFinder", "Tuner"]
