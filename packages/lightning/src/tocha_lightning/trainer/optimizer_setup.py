"""From what `configure_optimizers` returns to optimizers and scheduler configurations."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from tocha.optim import Optimizer
from tocha.optim.lr_scheduler import LRScheduler, OneCycleLR, ReduceLROnPlateau
from tocha_lightning.core.optimizer import LightningOptimizer, NoOptimizer
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.overrides import is_overridden, takes_param
from tocha_lightning.utilities.rank_zero import rank_zero_warn
from tocha_lightning.utilities.types import LRSchedulerConfig

_KEYS = {field.name for field in fields(LRSchedulerConfig)}


def configure(module: Any) -> tuple[list[Optimizer], list[LRSchedulerConfig]]:
    """Call `configure_optimizers` and check and sort what it returns."""
    returned = module.trainer._hooks.module("configure_optimizers")
    if returned is None:
        rank_zero_warn("`LightningModule.configure_optimizers` returned `None`, this fit will run with no optimizer")
        returned = NoOptimizer()
    optimizers, schedulers, monitor = _sort(returned)
    if module.automatic_optimization:
        configs = [_automatic(scheduler, monitor) for scheduler in schedulers]
    else:
        configs = [_manual(scheduler) for scheduler in schedulers]
    _check(module, optimizers, configs)
    return optimizers, configs


def _is_optimizer(value: Any) -> bool:
    return isinstance(value, (Optimizer, LightningOptimizer))


def _sort(returned: Any) -> tuple[list[Any], list[Any], str | None]:
    """Optimizers, schedulers and the monitored metric of every accepted form."""
    if _is_optimizer(returned):
        return [returned], [], None
    if isinstance(returned, dict):
        _check_keys(returned)
        schedulers = [returned["lr_scheduler"]] if "lr_scheduler" in returned else []
        return [returned["optimizer"]], schedulers, returned.get("monitor")
    if isinstance(returned, (list, tuple)):
        if len(returned) == 2 and isinstance(returned[0], list) and all(map(_is_optimizer, returned[0])):
            schedulers = returned[1] if isinstance(returned[1], list) else [returned[1]]
            return list(returned[0]), schedulers, None
        if all(isinstance(item, dict) for item in returned):
            schedulers = []
            for item in returned:
                _check_keys(item)
                if "lr_scheduler" in item:
                    scheduler = item["lr_scheduler"]
                    schedulers.append(dict(scheduler) if isinstance(scheduler, dict) else {"scheduler": scheduler})
            return [item["optimizer"] for item in returned], schedulers, None
        if all(map(_is_optimizer, returned)):
            return list(returned), [], None
    raise MisconfigurationException(
        "Unknown configuration for model optimizers. Output from `model.configure_optimizers()` should be one of:\n"
        " * `Optimizer`\n * [`Optimizer`]\n * ([`Optimizer`], [`LRScheduler`])\n"
        ' * {"optimizer": `Optimizer`, (optional) "lr_scheduler": `LRScheduler`}\n'
        f"Found {type(returned).__name__}."
    )


def _check_keys(config: dict[str, Any]) -> None:
    unknown = config.keys() - {"optimizer", "lr_scheduler", "monitor"}
    if unknown:
        rank_zero_warn(f"Found unsupported keys in the optimizer configuration: {unknown}", category=RuntimeWarning)
    if "optimizer" not in config:
        raise MisconfigurationException('The dictionary from `configure_optimizers` must have the key "optimizer".')


def _automatic(scheduler: Any, monitor: str | None) -> LRSchedulerConfig:
    if not isinstance(scheduler, dict):
        if not isinstance(scheduler, ReduceLROnPlateau):
            return LRSchedulerConfig(scheduler)
        if monitor is None:
            raise MisconfigurationException(
                "`configure_optimizers` must include a monitor when a `ReduceLROnPlateau` scheduler is used. For"
                ' example: {"optimizer": optimizer, "lr_scheduler": scheduler, "monitor": "metric_to_track"}'
            )
        return LRSchedulerConfig(scheduler, reduce_on_plateau=True, monitor=monitor)
    unknown = scheduler.keys() - _KEYS
    if unknown:
        rank_zero_warn(
            f"Found unsupported keys in the lr scheduler dict: {unknown}."
            " HINT: remove them from the output of `configure_optimizers`.",
            category=RuntimeWarning,
        )
    known = {key: value for key, value in scheduler.items() if key in _KEYS}
    if "scheduler" not in known:
        raise MisconfigurationException(
            'The lr scheduler dict must have the key "scheduler" with its item being an lr scheduler'
        )
    interval = known.get("interval", "epoch")
    if interval not in ("step", "epoch"):
        raise MisconfigurationException(
            f'The "interval" key in lr scheduler dict must be "step" or "epoch" but is "{interval}"'
        )
    known.setdefault("reduce_on_plateau", isinstance(known["scheduler"], ReduceLROnPlateau))
    if known["reduce_on_plateau"] and known.get("monitor") is None:
        raise MisconfigurationException(
            "The lr scheduler dict must include a monitor when a `ReduceLROnPlateau` scheduler is used. For example:"
            ' {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "monitor": "your_loss"}}'
        )
    if isinstance(known["scheduler"], OneCycleLR) and interval == "epoch":
        rank_zero_warn(
            "A `OneCycleLR` scheduler is using 'interval': 'epoch'. Are you sure you didn't mean 'interval': 'step'?",
            category=RuntimeWarning,
        )
    return LRSchedulerConfig(**known)


def _manual(scheduler: Any) -> LRSchedulerConfig:
    if not isinstance(scheduler, dict):
        return LRSchedulerConfig(scheduler)
    ignored = [key for key in scheduler if key in ("reduce_on_plateau", "monitor", "strict")]
    if ignored:
        rank_zero_warn(
            f"The lr scheduler dict contains the key(s) {ignored}, but the keys will be ignored."
            " You need to call `lr_scheduler.step()` manually in manual optimization.",
            category=RuntimeWarning,
        )
    return LRSchedulerConfig(**{key: value for key, value in scheduler.items() if key not in ignored})


def _check(module: Any, optimizers: list[Any], configs: list[LRSchedulerConfig]) -> None:
    several = (
        "Training with multiple optimizers is only supported with manual optimization. {} `self.automatic_optimization"
        " = False`, then access your optimizers in `training_step` with `opt1, opt2, ... = self.optimizers()`."
    )
    if takes_param(module.training_step, "optimizer_idx", explicit=True):
        raise RuntimeError(several.format("Remove the `optimizer_idx` argument from `training_step`, set"))
    if module.automatic_optimization and len(optimizers) > 1:
        raise RuntimeError(several.format("Set"))
    for config in configs:
        scheduler = config.scheduler
        if scheduler.optimizer not in optimizers:
            raise MisconfigurationException(
                "Some schedulers are attached with an optimizer that wasn't returned from `configure_optimizers`."
            )
        if not (hasattr(scheduler, "state_dict") and hasattr(scheduler, "load_state_dict")):
            raise TypeError(
                f"The provided lr scheduler `{type(scheduler).__name__}` is invalid."
                " It should have `state_dict` and `load_state_dict` methods defined."
            )
        known = isinstance(scheduler, (LRScheduler, ReduceLROnPlateau))
        if not known and module.automatic_optimization and not is_overridden("lr_scheduler_step", module):
            raise MisconfigurationException(
                f"The provided lr scheduler `{type(scheduler).__name__}` doesn't follow PyTorch's LRScheduler API. You"
                " should override the `LightningModule.lr_scheduler_step` hook with your own logic if you are using a"
                " custom LR scheduler."
            )
