"""Where metrics and hyperparameters go."""

from tocha_lightning.loggers.csv_logs import CSVLogger
from tocha_lightning.loggers.logger import DummyLogger, Logger
from tocha_lightning.loggers.mlflow import MLFlowLogger
from tocha_lightning.loggers.tensorboard import TensorBoardLogger
from tocha_lightning.loggers.wandb import WandbLogger

__all__ = ["CSVLogger", "DummyLogger", "Logger", "MLFlowLogger", "TensorBoardLogger", "WandbLogger"]
