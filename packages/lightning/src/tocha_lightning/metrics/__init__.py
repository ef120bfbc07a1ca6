"""Metrics that accumulate over batches, log with ``self.log`` and keep their state in checkpoints."""

from tocha_lightning.metrics.classification import (
    Accuracy,
    DiceScore,
    F1Score,
    FBetaScore,
    Precision,
    Recall,
    Specificity,
    StatScores,
)
from tocha_lightning.metrics.collection import MetricCollection
from tocha_lightning.metrics.confusion import ConfusionMatrix, JaccardIndex
from tocha_lightning.metrics.detection import MeanAveragePrecision
from tocha_lightning.metrics.metric import Metric
from tocha_lightning.metrics.ranking import AUROC, AveragePrecision
from tocha_lightning.metrics.regression import MeanAbsoluteError, MeanMetric, MeanSquaredError, R2Score, SumMetric
from tocha_lightning.metrics.text import BLEUScore, Perplexity

__all__ = [
    "AUROC",
    "Accuracy",
    "AveragePrecision",
    "BLEUScore",
    "ConfusionMatrix",
    "DiceScore",
    "F1Score",
    "FBetaScore",
    "JaccardIndex",
    "MeanAbsoluteError",
    "MeanAveragePrecision",
    "MeanMetric",
    "MeanSquaredError",
    "Metric",
    "MetricCollection",
    "Perplexity",
    "Precision",
    "R2Score",
    "Recall",
    "Specificity",
    "StatScores",
    "SumMetric",
]
