"""CUDA devices."""

from __future__ import annotations

from typing import Any

import tocha
from tocha_lightning.accelerators.accelerator import Accelerator
from tocha_lightning.utilities.exceptions import MisconfigurationException


class CUDAAccelerator(Accelerator):
    """Runs on NVIDIA GPUs, through CuPy."""

    @staticmethod
    def name() -> str:
        """``"cuda"``."""
        return "cuda"

    @staticmethod
    def is_available() -> bool:
        """Whether CuPy, a driver and a GPU are there."""
        return bool(tocha.cuda.is_available())

    @staticmethod
    def auto_device_count() -> int:
        """The number of GPUs."""
        return int(tocha.cuda.device_count())

    @staticmethod
    def parse_devices(devices: int | str | list[int]) -> list[tocha.device]:
        """``2`` means the first two, ``[1]`` or ``"1,"`` the GPU of index 1, ``-1`` all of them."""
        count = CUDAAccelerator.auto_device_count()
        if isinstance(devices, str):
            text = devices.strip()
            devices = [int(part) for part in text.split(",") if part.strip()] if "," in text else int(text)
        if isinstance(devices, int) and not isinstance(devices, bool):
            indices = list(range(count if devices == -1 else devices))
        else:
            indices = list(devices)  # type: ignore[arg-type]
        if not indices or any(not 0 <= index < count for index in indices) or len(set(indices)) != len(indices):
            raise MisconfigurationException(
                f"You requested gpu: {indices}\n But your machine only has: {list(range(count))}"
            )
        return [tocha.device("cuda", index) for index in indices]

    def setup_device(self, device: tocha.device) -> None:
        """Make `device` the current one."""
        tocha.cuda.set_device(device)

    def get_device_stats(self, device: tocha.device) -> dict[str, Any]:
        """Allocated and reserved memory in bytes."""
        return {
            "allocated_bytes.all.current": tocha.cuda.memory_allocated(device),
            "reserved_bytes.all.current": tocha.cuda.memory_reserved(device),
        }

    def teardown(self) -> None:
        """Give unused memory back."""
        tocha.cuda.empty_cache()
