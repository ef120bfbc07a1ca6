"""Measuring where a run spends its time."""

from tocha_lightning.profilers.advanced import AdvancedProfiler
from tocha_lightning.profilers.profiler import PassThroughProfiler, Profiler
from tocha_lightning.profilers.simple import SimpleProfiler
from tocha_lightning.profilers.trace import TochaProfiler

__all__ = ["AdvancedProfiler", "PassThroughProfiler", "Profiler", "SimpleProfiler", "TochaProfiler"]
