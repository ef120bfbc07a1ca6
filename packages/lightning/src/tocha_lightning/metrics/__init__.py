"""Metrics that accumulate over batches."""

from tocha_lightning.metrics.metric import Metric

__all__ = ["Metric"]
