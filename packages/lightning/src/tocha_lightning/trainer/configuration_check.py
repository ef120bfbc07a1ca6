"""Whether a module has what the called method of the Trainer needs."""

from __future__ import annotations

from typing import Any

from tocha_lightning.trainer.states import TrainerFn
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.overrides import is_overridden
from tocha_lightning.utilities.rank_zero import PossibleUserWarning, rank_zero_warn


def check_module(trainer: Any) -> None:
    """Raise or warn about missing methods and about combinations that cannot work."""
    module = trainer.lightning_module
    fn = trainer.state.fn
    if fn is TrainerFn.FITTING:
        _check_fit(trainer, module)
    elif fn is TrainerFn.PREDICTING:
        if not is_overridden("predict_step", module) and not is_overridden("forward", module):
            raise MisconfigurationException("`Trainer.predict` requires `forward` method to run.")
    else:
        step = "validation_step" if fn is TrainerFn.VALIDATING else "test_step"
        if not is_overridden(step, module):
            raise MisconfigurationException(f"No `{step}()` method defined to run `Trainer.{fn.value}`.")
        _refuse_removed(module, "validation_epoch_end" if fn is TrainerFn.VALIDATING else "test_epoch_end")


def _check_fit(trainer: Any, module: Any) -> None:
    for method in ("training_step", "configure_optimizers"):
        if not is_overridden(method, module):
            raise MisconfigurationException(
                f"No `{method}()` method defined. Lightning `Trainer` expects as minimum a `training_step()`,"
                " `train_dataloader()` and `configure_optimizers()` to be defined."
            )
    has_loader = trainer.fit_loop.epoch_loop.val_loop.source.is_defined()
    has_step = is_overridden("validation_step", module)
    if has_loader and not has_step:
        rank_zero_warn("You passed in a `val_dataloader` but have no `validation_step`. Skipping val loop.")
    if has_step and not has_loader:
        rank_zero_warn(
            "You defined a `validation_step` but have no `val_dataloader`. Skipping val loop.",
            category=PossibleUserWarning,
        )
    _refuse_removed(module, "training_epoch_end")
    _refuse_removed(module, "validation_epoch_end")
    if module.automatic_optimization:
        return
    if trainer.gradient_clip_val is not None and trainer.gradient_clip_val > 0:
        raise MisconfigurationException(
            "Automatic gradient clipping is not supported for manual optimization."
            f" Remove `Trainer(gradient_clip_val={trainer.gradient_clip_val})` or switch to automatic optimization."
        )
    if trainer.accumulate_grad_batches != 1:
        raise MisconfigurationException(
            "Automatic gradient accumulation is not supported for manual optimization. Remove"
            f" `Trainer(accumulate_grad_batches={trainer.accumulate_grad_batches})` or switch to automatic"
            " optimization."
        )


def _refuse_removed(module: Any, name: str) -> None:
    if callable(getattr(module, name, None)):
        new = f"on_{'train' if name.startswith('training') else name.split('_')[0]}_epoch_end"
        raise NotImplementedError(
            f"Support for `{name}` has been removed in v2.0.0. `{type(module).__name__}` implements this method."
            " You can"
            f" use the `{new}` hook instead. To access outputs, save them in-memory as instance attributes."
        )
