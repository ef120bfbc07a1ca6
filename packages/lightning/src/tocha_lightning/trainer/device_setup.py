"""From ``accelerator``, ``devices``, ``strategy``, ``precision`` and ``plugins`` to one strategy."""

from __future__ import annotations

from typing import Any

import tocha
from tocha_lightning.accelerators import Accelerator, CPUAccelerator, CUDAAccelerator
from tocha_lightning.plugins.io import CheckpointIO
from tocha_lightning.plugins.precision import DoublePrecision, HalfPrecision, MixedPrecision, Precision
from tocha_lightning.strategies import SingleDeviceStrategy, Strategy
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.rank_zero import rank_zero_info

_PRECISIONS = {
    "64": "64-true",
    "32": "32-true",
    "16": "16-mixed",
    "bf16": "bf16-mixed",
    **{name: name for name in ("64-true", "32-true", "16-true", "bf16-true", "16-mixed", "bf16-mixed")},
}
_ACCELERATORS: dict[str, type[Accelerator]] = {"cpu": CPUAccelerator, "cuda": CUDAAccelerator, "gpu": CUDAAccelerator}


def make_strategy(
    accelerator: Any,
    strategy: Any,
    devices: Any,
    num_nodes: int,
    precision: Any,
    plugins: Any,
    sync_batchnorm: bool,
) -> Strategy:
    """The strategy that the arguments mean.

    Raises:
        ValueError: an unknown name, or a precision that is chosen twice.
        MisconfigurationException: devices that are not there, or plugins of the same kind.
    """
    if not isinstance(num_nodes, int) or num_nodes < 1:
        raise ValueError(f"`num_nodes` must be a positive integer, but got {num_nodes}.")
    precision_plugin, checkpoint_io = _sort_plugins(plugins)
    if precision is not None and precision_plugin is not None:
        raise ValueError(f"Received both `precision={precision}` and `plugins={precision_plugin}`. Choose one.")
    if isinstance(strategy, Strategy):
        if precision_plugin is not None or precision is not None:
            strategy.precision_plugin = precision_plugin or _precision(precision, strategy.root_device)
        strategy.checkpoint_io = checkpoint_io or strategy.checkpoint_io
        if isinstance(accelerator, Accelerator):
            strategy.accelerator = accelerator
        return strategy
    chosen = _accelerator(accelerator)
    if devices == "auto":
        # several GPUs need a strategy of several processes, which has to be asked for
        devices = 1
    parsed = chosen.parse_devices(devices)
    device = parsed[0]
    precision_plugin = precision_plugin or _precision(precision, device)
    if strategy in ("auto", "single_device"):
        if len(parsed) * num_nodes > 1:
            raise MisconfigurationException(
                f"`Trainer(devices={devices!r}, num_nodes={num_nodes})` asks for {len(parsed) * num_nodes} processes,"
                " which `strategy='single_device'` cannot run. Choose a strategy of several processes; `tocha plugins`"
                " lists those that are installed."
            )
        if sync_batchnorm:
            rank_zero_info("`sync_batchnorm=True` has no effect with a single device.")
        return SingleDeviceStrategy(device, chosen, checkpoint_io, precision_plugin)
    cls = _registered_strategy(strategy)
    return cls(
        accelerator=chosen,
        checkpoint_io=checkpoint_io,
        precision_plugin=precision_plugin,
        devices=parsed,
        num_nodes=num_nodes,
    )


def _sort_plugins(plugins: Any) -> tuple[Precision | None, CheckpointIO | None]:
    precision: Precision | None = None
    checkpoint_io: CheckpointIO | None = None
    for plugin in [] if plugins is None else plugins if isinstance(plugins, list) else [plugins]:
        if isinstance(plugin, Precision):
            twice, precision = precision, plugin
        elif isinstance(plugin, CheckpointIO):
            twice, checkpoint_io = checkpoint_io, plugin  # type: ignore[assignment]
        else:
            raise MisconfigurationException(
                f"Found invalid type for plugin {plugin}. Expected one of: Precision, CheckpointIO."
            )
        if twice is not None:
            raise MisconfigurationException(f"Received multiple values for {type(plugin).__name__} flags in `plugins`.")
    return precision, checkpoint_io


def _accelerator(accelerator: Any) -> Accelerator:
    if isinstance(accelerator, Accelerator):
        return accelerator
    if accelerator == "auto":
        return CUDAAccelerator() if CUDAAccelerator.is_available() else CPUAccelerator()
    if accelerator not in _ACCELERATORS:
        raise ValueError(
            f"You selected an invalid accelerator name: `accelerator={accelerator!r}`."
            f" Available names are: auto, {', '.join(_ACCELERATORS)}."
        )
    cls = _ACCELERATORS[accelerator]
    if not cls.is_available():
        raise MisconfigurationException(
            f"`{cls.__name__}` can not run on your system since the accelerator is not available. `tocha doctor` says"
            " what is missing."
        )
    return cls()


def _precision(precision: Any, device: tocha.device) -> Precision:
    name = "32-true" if precision is None else str(precision)
    if name not in _PRECISIONS:
        raise ValueError(f"Precision {precision!r} is invalid. Allowed precision values: {list(_PRECISIONS)}")
    name = _PRECISIONS[name]
    if name.endswith("mixed"):
        rank_zero_info(f"Using {name.split('-')[0]}bit Automatic Mixed Precision (AMP)".replace("bf16bit", "bfloat16"))
        return MixedPrecision(name, device.type)
    if name == "64-true":
        return DoublePrecision()
    return Precision() if name == "32-true" else HalfPrecision(name)


def _registered_strategy(name: Any) -> Any:
    from tocha import plugins

    known = plugins.names("strategies")
    if name not in known:
        raise ValueError(
            f"You selected an invalid strategy name: `strategy={name!r}`. It must be either a string or an instance of"
            f" `tocha_lightning.strategies.Strategy`. Example choices: {', '.join(sorted({'auto', *known}))}."
        )
    return plugins.get("strategies", name)
