"""The callbacks of a Trainer: defaults, order, and those that the model brings along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tocha_lightning.callbacks.callback import Callback
from tocha_lightning.utilities.exceptions import MisconfigurationException
from tocha_lightning.utilities.overrides import is_overridden
from tocha_lightning.utilities.rank_zero import rank_zero_info


def make_callbacks(
    callbacks: Any,
    enable_checkpointing: bool,
    enable_progress_bar: bool,
    enable_model_summary: bool,
    max_time: Any,
) -> list[Callback]:
    """The given callbacks together with the default ones, in the order in which they run.

    Raises:
        MisconfigurationException: a callback contradicts an ``enable_*`` argument, or there are two progress bars.
        RuntimeError: two callbacks would overwrite each other's state in checkpoints.
    """
    from tocha_lightning.callbacks import Checkpoint, ModelCheckpoint, ModelSummary, ProgressBar, TextProgressBar, Timer

    found: list[Callback] = [callbacks] if isinstance(callbacks, Callback) else list(callbacks or [])
    for callback in found:
        if not isinstance(callback, Callback):
            raise TypeError(f"Expected a `Callback`, got {type(callback).__name__} in `Trainer(callbacks=...)`.")
    if any(isinstance(c, Checkpoint) for c in found):
        if not enable_checkpointing:
            raise MisconfigurationException(
                "Trainer was configured with `enable_checkpointing=False` but found `ModelCheckpoint` in"
                " callbacks list."
            )
    elif enable_checkpointing:
        found.append(ModelCheckpoint())
    if max_time is not None:
        if any(isinstance(c, Timer) for c in found):
            rank_zero_info("Ignoring `Trainer(max_time=...)`, callbacks list already contains a Timer.")
        else:
            found.append(Timer(duration=max_time, interval="step"))
    bars = [c for c in found if isinstance(c, ProgressBar)]
    if len(bars) > 1:
        raise MisconfigurationException(
            "You added multiple progress bar callbacks to the Trainer, but currently only one progress bar is"
            " supported."
        )
    if bars and not enable_progress_bar:
        raise MisconfigurationException(
            "Trainer was configured with `enable_progress_bar=False`"
            f" but found `{type(bars[0]).__name__}` in callbacks list."
        )
    if not bars and enable_progress_bar:
        found.append(TextProgressBar())
    if enable_model_summary and not any(isinstance(c, ModelSummary) for c in found):
        found.append(ModelSummary())
    _check_state_keys(found)
    return in_order(found)


def in_order(callbacks: Sequence[Callback]) -> list[Callback]:
    """Tuners first, checkpoints last, everything else as given."""
    from tocha_lightning.callbacks import Checkpoint

    def rank(callback: Callback) -> int:
        if isinstance(callback, Checkpoint):
            return 2
        return 0 if callback.runs_first else 1

    return sorted(callbacks, key=rank)


def _check_state_keys(callbacks: list[Callback]) -> None:
    seen = set()
    for callback in callbacks:
        if not is_overridden("state_dict", callback, Callback):
            continue
        if callback.state_key in seen:
            raise RuntimeError(
                f"Found more than one stateful callback of type `{type(callback).__name__}`. In the current"
                " configuration, this callback does not support being saved alongside other instances of the same type."
                f" Please consult the documentation of `{type(callback).__name__}` regarding valid settings for the"
                " callback state to be checkpointable. HINT: The `callback.state_key` must be unique among all"
                " callbacks"
                " in the Trainer."
            )
        seen.add(callback.state_key)


def attach_model_callbacks(trainer: Any) -> None:
    """Add what `LightningModule.configure_callbacks` returns; it replaces callbacks of the same type."""
    returned = trainer._hooks.module("configure_callbacks")
    if returned:
        new = list(returned) if isinstance(returned, Sequence) else [returned]
        kinds = {type(callback) for callback in new}
        replaced = {
            type(old)
            for old in trainer.callbacks
            if type(old) is not Callback and any(issubclass(kind, type(old)) for kind in kinds)
        }
        if replaced:
            rank_zero_info(
                "The following callbacks returned in `LightningModule.configure_callbacks` will override existing"
                f" callbacks passed to Trainer: {', '.join(sorted(kind.__name__ for kind in replaced))}"
            )
        trainer.callbacks = in_order([c for c in trainer.callbacks if type(c) not in replaced] + new)
    module = trainer.lightning_module
    for callback in trainer.callbacks:
        # callbacks log as the module does
        callback.log = module.log
        callback.log_dict = module.log_dict
