"""How a model is run on devices and processes."""

from tocha_lightning.strategies.single_device import SingleDeviceStrategy
from tocha_lightning.strategies.strategy import Strategy

__all__ = ["SingleDeviceStrategy", "Strategy"]
