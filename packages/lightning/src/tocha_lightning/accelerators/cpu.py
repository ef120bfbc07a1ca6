"""The CPU."""

from __future__ import annotations

from typing import Any

import tocha
from tocha_lightning.accelerators.accelerator import Accelerator
from tocha_lightning.utilities.exceptions import MisconfigurationException


class CPUAccelerator(Accelerator):
    """Runs on the CPU; ``devices`` counts processes."""

    @staticmethod
    def name() -> str:
        """``"cpu"``."""
        return "cpu"

    @staticmethod
    def is_available() -> bool:
        """True."""
        return True

    @staticmethod
    def auto_device_count() -> int:
        """1."""
        return 1

    @staticmethod
    def parse_devices(devices: int | str | list[int]) -> list[tocha.device]:
        """As many CPU devices as processes are asked for."""
        if isinstance(devices, str) and devices.strip().isdigit():
            devices = int(devices)
        if not isinstance(devices, int) or isinstance(devices, bool) or devices < 1:
            raise MisconfigurationException(
                f"`devices` selected with `CPUAccelerator` should be an int > 0, got {devices!r}."
            )
        return [tocha.device("cpu")] * devices

    def get_device_stats(self, device: tocha.device) -> dict[str, Any]:
        """Use of CPU, memory and swap in percent, through psutil.

        Raises:
            ModuleNotFoundError: psutil is not installed.
        """
        try:
            import psutil
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("Figures about the CPU need psutil: `pip install psutil`.") from error
        return {
            "cpu_percent": psutil.cpu_percent(),
            "cpu_vm_percent": psutil.virtual_memory().percent,
            "cpu_swap_percent": psutil.swap_memory().percent,
        }
