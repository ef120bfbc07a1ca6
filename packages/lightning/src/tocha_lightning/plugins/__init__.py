"""Parts of a Trainer that can be replaced through ``Trainer(plugins=...)``."""

from tocha_lightning.plugins.io import AsyncCheckpointIO, CheckpointIO, FileCheckpointIO
from tocha_lightning.plugins.precision import DoublePrecision, HalfPrecision, MixedPrecision, Precision

__all__ = [
    "AsyncCheckpointIO",
    "CheckpointIO",
    "DoublePrecision",
    "FileCheckpointIO",
    "HalfPrecision",
    "MixedPrecision",
    "Precision",
]
