"""Numerical precision of a run."""

from tocha_lightning.plugins.precision.mixed import MixedPrecision
from tocha_lightning.plugins.precision.precision import DoublePrecision, HalfPrecision, Precision

__all__ = ["DoublePrecision", "HalfPrecision", "MixedPrecision", "Precision"]
