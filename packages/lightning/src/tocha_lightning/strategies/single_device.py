"""One process on one device."""

from __future__ import annotations

from typing import Any

import tocha
from tocha_lightning.strategies.strategy import Strategy


class SingleDeviceStrategy(Strategy):
    """Runs on a single device.

    Args:
        device: the device.
        accelerator: by default the one of `device`.
        checkpoint_io: how checkpoints are kept.
        precision_plugin: the numerical precision.
    """

    strategy_name = "single_device"

    def __init__(
        self,
        device: str | tocha.device = "cpu",
        accelerator: Any = None,
        checkpoint_io: Any = None,
        precision_plugin: Any = None,
    ) -> None:
        super().__init__(accelerator, checkpoint_io, precision_plugin)
        self._root_device = tocha.device(device)

    @property
    def root_device(self) -> tocha.device:
        """The device."""
        return self._root_device
