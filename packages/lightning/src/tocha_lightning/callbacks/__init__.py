"""Callbacks: reusable code around the steps of a run."""

from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.callbacks.checkpoint import Checkpoint
from tocha_lightning.callbacks.early_stopping import EarlyStopping
from tocha_lightning.callbacks.gradient_accumulation_scheduler import GradientAccumulationScheduler
from tocha_lightning.callbacks.lambda_function import LambdaCallback
from tocha_lightning.callbacks.lr_monitor import LearningRateMonitor
from tocha_lightning.callbacks.model_checkpoint import ModelCheckpoint
from tocha_lightning.callbacks.model_summary import ModelSummary, RichModelSummary
from tocha_lightning.callbacks.on_exception_checkpoint import OnExceptionCheckpoint
from tocha_lightning.callbacks.prediction_writer import BasePredictionWriter
from tocha_lightning.callbacks.progress import ProgressBar, TextProgressBar
from tocha_lightning.callbacks.timer import Timer

# Lightning's name for the bar of plain text
TQDMProgressBar = TextProgressBar

__all__ = [
    "BasePredictionWriter",
    "Callback",
    "Checkpoint",
    "EarlyStopping",
    "GradientAccumulationScheduler",
    "LambdaCallback",
    "LearningRateMonitor",
    "ModelCheckpoint",
    "ModelSummary",
    "OnExceptionCheckpoint",
    "ProgressBar",
    "RichModelSummary",
    "TQDMProgressBar",
    "TextProgressBar",
    "Timer",
]
