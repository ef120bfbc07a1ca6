"""The kind of device that a run uses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import tocha


class Accelerator(ABC):
    """One kind of device: whether it is there, how many of them, how to prepare them."""

    @staticmethod
    @abstractmethod
    def name() -> str:
        """The name that ``Trainer(accelerator=...)`` takes."""

    @staticmethod
    @abstractmethod
    def is_available() -> bool:
        """Whether this machine has one."""

    @staticmethod
    @abstractmethod
    def auto_device_count() -> int:
        """How many devices ``devices="auto"`` means."""

    @staticmethod
    @abstractmethod
    def parse_devices(devices: int | str | list[int]) -> list[tocha.device]:
        """The devices that ``Trainer(devices=...)`` means."""

    def setup_device(self, device: tocha.device) -> None:
        """Prepare `device` for a run."""
        return None

    def get_device_stats(self, device: tocha.device) -> dict[str, Any]:
        """Figures about `device` for `DeviceStatsMonitor`."""
        return {}

    def teardown(self) -> None:
        """The run is over."""
        return None
