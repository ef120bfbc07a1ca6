"""Kinds of devices."""

from tocha_lightning.accelerators.accelerator import Accelerator
from tocha_lightning.accelerators.cpu import CPUAccelerator
from tocha_lightning.accelerators.cuda import CUDAAccelerator

__all__ = ["Accelerator", "CPUAccelerator", "CUDAAccelerator"]
