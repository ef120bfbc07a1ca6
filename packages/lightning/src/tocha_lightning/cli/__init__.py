"""The command line: configuration files, overrides, and subcommands."""

from tocha_lightning.cli.cli import LightningCLI, instantiate_class
from tocha_lightning.cli.parser import LightningArgumentParser, ReduceLROnPlateau
from tocha_lightning.cli.save_config import SaveConfigCallback

__all__ = [
    "LightningArgumentParser",
    "LightningCLI",
    "ReduceLROnPlateau",
    "SaveConfigCallback",
    "instantiate_class",
]
