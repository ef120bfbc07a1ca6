"""What this package adds to tocha's plugins: callbacks, loggers, strategies and commands, imported when asked for."""

from __future__ import annotations

from tocha.hookspecs import Register
from tocha.plugins import hookimpl

CALLBACKS = (
    "BackboneFinetuning", "BatchSizeFinder", "DeviceStatsMonitor", "EMAWeightAveraging", "EarlyStopping",
    "GradientAccumulationScheduler", "LambdaCallback", "LearningRateFinder", "LearningRateMonitor", "ModelCheckpoint",
    "ModelPruning", "ModelSummary", "OnExceptionCheckpoint", "RichModelSummary", "RichProgressBar", "SpikeDetection",
    "StochasticWeightAveraging", "TextProgressBar", "ThroughputMonitor", "Timer", "WeightAveraging",
)  # fmt: skip
LOGGERS = ("CSVLogger", "MLFlowLogger", "TensorBoardLogger", "WandbLogger")
COMMANDS = ("fit", "validate", "test", "predict")


@hookimpl
def tocha_register_callbacks(register: Register) -> None:
    for name in CALLBACKS:
        register(name, f"tocha_lightning.callbacks:{name}")


@hookimpl
def tocha_register_loggers(register: Register) -> None:
    for name in LOGGERS:
        register(name, f"tocha_lightning.loggers:{name}")


@hookimpl
def tocha_register_strategies(register: Register) -> None:
    register("single_device", "tocha_lightning.strategies:SingleDeviceStrategy")


@hookimpl
def tocha_register_commands(register: Register) -> None:
    for name in COMMANDS:
        register(name, f"tocha_lightning.cli.commands:{name}")
