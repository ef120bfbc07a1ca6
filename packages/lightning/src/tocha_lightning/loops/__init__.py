"""The loops of a Trainer."""

from tocha_lightning.loops.evaluation import EvaluationLoop
from tocha_lightning.loops.fit import FitLoop
from tocha_lightning.loops.prediction import PredictionLoop
from tocha_lightning.loops.training_epoch import TrainingEpochLoop

__all__ = ["EvaluationLoop", "FitLoop", "PredictionLoop", "TrainingEpochLoop"]
