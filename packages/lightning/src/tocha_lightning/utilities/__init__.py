"""Helpers that user code and extensions may use."""

from tocha_lightning.utilities.collections import apply_to_collection, move_data_to_device
from tocha_lightning.utilities.combined_loader import CombinedLoader
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.overrides import is_overridden
from tocha_lightning.utilities.rank_zero import rank_zero_debug, rank_zero_info, rank_zero_only, rank_zero_warn

__all__ = [
    "CombinedLoader",
    "MisconfigurationException",
    "apply_to_collection",
    "is_overridden",
    "move_data_to_device",
    "rank_zero_debug",
    "rank_zero_info",
    "rank_zero_only",
    "rank_zero_warn",
]
