"""Callbacks: reusable code around the steps of a run."""

from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.callbacks.checkpoint import Checkpoint
from tocha_lightning.callbacks.device_stats_monitor import DeviceStatsMonitor
from tocha_lightning.callbacks.early_stopping import EarlyStopping
from tocha_lightning.callbacks.finders import BatchSizeFinder, LearningRateFinder
from tocha_lightning.callbacks.finetuning import BackboneFinetuning, BaseFinetuning
from tocha_lightning.callbacks.gradient_accumulation_scheduler import GradientAccumulationScheduler
from tocha_lightning.callbacks.lambda_function import LambdaCallback
from tocha_lightning.callbacks.lr_monitor import LearningRateMonitor
from tocha_lightning.callbacks.model_checkpoint import ModelCheckpoint
from tocha_lightning.callbacks.model_summary import ModelSummary, RichModelSummary
from tocha_lightning.callbacks.on_exception_checkpoint import OnExceptionCheckpoint
from tocha_lightning.callbacks.prediction_writer import BasePredictionWriter
from tocha_lightning.callbacks.progress import ProgressBar, RichProgressBar, TextProgressBar, TQDMProgressBar
from tocha_lightning.callbacks.pruning import ModelPruning
from tocha_lightning.callbacks.spike import SpikeDetection
from tocha_lightning.callbacks.stochastic_weight_avg import StochasticWeightAveraging
from tocha_lightning.callbacks.throughput_monitor import ThroughputMonitor
from tocha_lightning.callbacks.timer import Timer
from tocha_lightning.callbacks.weight_averaging import EMAWeightAveraging, WeightAveraging

__all__ = [
    "BackboneFinetuning",
    "BaseFinetuning",
    "BasePredictionWriter",
    "BatchSizeFinder",
    "Callback",
    "Checkpoint",
    "DeviceStatsMonitor",
    "EMAWeightAveraging",
    "EarlyStopping",
    "GradientAccumulationScheduler",
    "LambdaCallback",
    "LearningRateFinder",
    "LearningRateMonitor",
    "ModelCheckpoint",
    "ModelPruning",
    "ModelSummary",
    "OnExceptionCheckpoint",
    "ProgressBar",
    "RichModelSummary",
    "RichProgressBar",
    "SpikeDetection",
    "StochasticWeightAveraging",
    "TQDMProgressBar",
    "TextProgressBar",
    "ThroughputMonitor",
    "Timer",
    "WeightAveraging",
]
